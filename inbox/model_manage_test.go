package inbox

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed82539d15/holon/notify"
)

func (h *history) configure() operation {
	c := Configure{}
	ms := func(n int64) *int64 { return &n }
	switch h.Int(10, "policy") {
	case 0, 1:
		off := h.Int(2, "enabled") == 1
		c.Policy.Enabled = &off
	case 2:
		c.Policy.WindowMs = ms([]int64{100, 5_000, 200_000}[h.Int(3, "window")])
	case 3:
		c.Policy.MaxDelayMs = ms([]int64{100, 10_000, 300_000}[h.Int(3, "delay")])
	case 4:
		c.Policy.MaxItems = ms(int64(1 + h.Int(4, "size")))
	case 5:
		c.Policy.MaxDigestAgeMs = ms([]int64{1000, 60_000}[h.Int(2, "age")])
	case 6:
		c.Policy.Ack = []AckBy{AckTurnEnd, AckExplicit}[h.Int(2, "by")]
	case 8:
		on := h.Int(2, "fallback") == 1
		c.Policy.Fallback = &on
	case 9:
		c.Policy.WakeWindowMs = ms([]int64{0, 1000, 20_000}[h.Int(3, "wake window")])
	case 7:
		c.Reset = []string{PolicyMembers[h.Int(len(PolicyMembers), "reset")]}
	}
	return func(b *Book, _ *memUnit) func(int64) error {
		_, err := b.Configure(c, h.w.inForce)
		settings := b.Settings
		h.note("configure %+v", settings)
		return func(int64) error {
			if err != nil {
				return err
			}
			if len(h.m.events) == 0 { // nothing changed
				return nil
			}
			if _, err := h.m.take(notify.InboxConfigured); err != nil {
				return err
			}
			was := h.m.settings.Enabled
			h.m.settings = settings
			if was && !settings.Enabled {
				_, err = h.m.flushDigests(ReasonLifecycle, func(*naiveDigest) bool { return true })
			}
			return err
		}
	}
}

func (h *history) timer() operation {
	id := "timer_" + strconv.Itoa(h.Int(4, "timer"))
	if h.focus == focusTimers {
		id = "timer_0"
	}
	c := CreateTimer{TimerID: id, Text: "look", EverySeconds: 60}
	if h.Int(2, "at") == 0 {
		in := time.Duration(1+h.Int(200, "in")) * time.Second
		switch soon := h.Int(2, "soon") == 0; {
		case h.focus == focusTimers: // before the clock is next looked at, mostly
			in = time.Millisecond + in/10_000
		case soon:
			in /= 1000
		}
		c.EverySeconds, c.At = 0, notify.TimeOf(h.w.now.Add(in))
	}
	return func(b *Book, _ *memUnit) func(int64) error {
		if h.m.timers[id] != nil && c.EverySeconds != 0 {
			h.note("delete %s", id)
			err := b.DeleteTimer(id)
			return func(int64) error {
				if err != nil {
					return err
				}
				delete(h.m.timers, id)
				_, err := h.m.take(notify.TimerDeleted)
				return err
			}
		}
		h.note("create %s %d %d", id, c.EverySeconds, c.At.Milli())
		row, created, err := b.CreateTimer(c)
		return func(int64) error {
			old := h.m.timers[id]
			switch {
			case old != nil:
				same := old.every == 0 && old.at.Equal(c.At.Time)
				if same == errors.Is(err, ErrConflict) || created {
					return fmt.Errorf("create another %s: %v, %v", id, created, err)
				}
				return nil
			case len(h.m.timers) == h.w.bounds.MaxTimers:
				if !errors.Is(err, ErrTooManyTimers) {
					return fmt.Errorf("create one timer too many: %v", err)
				}
				return nil
			}
			t := &naiveTimer{created: h.m.now, at: c.At.Time, next: c.At.Time, every: time.Duration(c.EverySeconds) * time.Second, text: c.Text}
			if t.every != 0 {
				t.next = h.m.now.Add(t.every)
			}
			h.m.timers[id] = t
			if err != nil || !created || !row.NextAt.Equal(t.next) {
				return fmt.Errorf("create %+v: %v", row, err)
			}
			_, err := h.m.take(notify.TimerCreated)
			return err
		}
	}
}

func (h *history) expire() operation {
	before := h.w.now.Add(-time.Duration(h.Int(100, "kept")) * time.Second)
	return func(b *Book, _ *memUnit) func(int64) error {
		h.note("remove what was acknowledged before %d", before.UnixMilli())
		more, err := b.Expire(before)
		return func(int64) error {
			if err != nil || more {
				return fmt.Errorf("expire: %v, %w", more, err)
			}
			if len(h.m.events) > 0 {
				h.seen["expired"]++
			}
			return h.m.expire(before)
		}
	}
}

// clock sets the clock forward. Usually what is due on the way is done in time;
// after a standstill it is done at once.
func (h *history) clock() error {
	advance := h.Int(9, "advance")
	if h.focus == focusTimers && advance > 3 {
		advance %= 2
	}
	by := []time.Duration{
		10 * time.Millisecond, 90 * time.Millisecond, time.Second, 4 * time.Second, 16 * time.Second, 31 * time.Second, 65 * time.Second, 121 * time.Second, 25 * time.Hour,
	}[advance]
	if h.focus == focusFallbacks && advance < 6 { // within the window, for as long as one may wait for more
		by = 900 * time.Millisecond
	}
	to := h.w.now.Add(by)
	standstill := h.Int(4, "standstill") == 0
	for range 1000 {
		due := int64(0)
		if box := h.w.box(); box != nil {
			due = box.DueAt()
		}
		if standstill || due == 0 || due > to.UnixMilli() || to.Sub(h.w.now.Time) > time.Hour {
			break
		}
		if due > h.w.now.Milli() {
			h.w.now = notify.TimeFromMilli(due)
		}
		if err := h.due(); err != nil {
			return err
		}
	}
	h.w.now = notify.TimeOf(to)
	h.note("the clock is %d", h.w.now.Milli())
	return h.due()
}

// due does what the inbox has to do by itself, until no unit is lost.
func (h *history) due() error {
	for range 1000 {
		box := h.w.box()
		if box == nil || box.DueAt() == 0 || box.DueAt() > h.w.now.Milli() {
			return nil
		}
		if err := h.unit(h.flushDue(), h.fire()); err != nil {
			return err
		}
	}
	return fmt.Errorf("at %d the inbox still has something to do since %d", h.w.now.Milli(), h.w.box().DueAt())
}

func (h *history) fire() operation {
	return func(b *Book, _ *memUnit) func(int64) error {
		err := b.FireDue()
		return func(int64) error {
			if err != nil {
				return err
			}
			if len(h.m.events) > 0 {
				h.seen["fired"]++
			}
			return h.m.fire()
		}
	}
}
