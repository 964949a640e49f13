package inbox

import (
	"slices"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// The bounds of wakes.
const (
	maxSilent = 5  // wakes in a row without output of the agent
	MaxChain  = 16 // wakes that were caused by wakes: the chain of a turn is below it
)

// WakeVerdict says whether an inbox wakes its thread now.
type WakeVerdict struct {
	OK    bool
	At    time.Time // when to judge again, if nothing else happens; zero = not by time
	Stall Stall     // a bound that was reached just now, and is not in the log yet; "" = none
}

// MayWake judges whether new entries wake the thread. It looks at the inbox and
// the thread only: the caller knows whether a turn is active or queued. chain is
// that of the wake: see Chain.
func MayWake(box *Inbox, th *threads.Thread, s Settings, now time.Time, chain int) WakeVerdict {
	switch {
	case box == nil || box.NewEntries == 0 || s.Wake != WakeIdle || th.State != threads.Running || th.Held:
		return WakeVerdict{}
	case box.Stalled == StallSilent || box.Stalled == StallChain:
		return WakeVerdict{}
	}
	// A time further away than any pause comes from before the clock was set back.
	if at := time.UnixMilli(box.WakeAt); at.After(now) && (box.Stalled == StallRate || !at.After(now.Add(silentPause(maxSilent)))) {
		return WakeVerdict{At: at}
	}
	if chain >= MaxChain {
		return WakeVerdict{Stall: StallChain}
	}
	if len(box.Wakes) == MaxWakesAnHour {
		if until := time.UnixMilli(box.Wakes[0]).Add(time.Hour); until.After(now) && !until.After(now.Add(time.Hour)) {
			return WakeVerdict{Stall: StallRate, At: until}
		}
	}
	return WakeVerdict{OK: true}
}

// EntriesWait judges whether what is fresh in the inbox of a thread waits for more, so that one
// wake tells it all.
//
// Ends of background child turns wait for each other: with WhenSettled an end is due once no
// background child turn of the same turn is unended, or once the oldest of them has waited for
// WakeMaxWait. With WhenEach it is due at once.
//
// Everything else, and an end of a child turn that has worked for no turn, waits until nothing
// was posted for WakeWindow, at most maxWindows of these. It waits no longer when a prompt could
// tell no more.
//
// An end that is due, an item that does not wait (FlushImmediate), a turn that a client has
// started since, and a client who has asked to wake the thread end all waiting: a wake tells
// everything. reserved says which ends an answer under way tells: they neither wake nor wait.
//
// The verdict is from rows alone, so that a restart changes nothing. With an error it is zero.
func EntriesWait(r ledger.Reader, box *Inbox, s Settings, now time.Time, reserved func(turnID string) bool) (v WakeVerdict, err error) {
	w := waiting{r: r, box: box, s: s, now: now}
	if s.WakeWhen == WhenSettled {
		if w.unended, err = turns.ParentsOfUnended(r, box.ThreadID); err != nil {
			return v, err
		}
	}
	if s.WakeWindow == 0 && len(w.unended) == 0 {
		return WakeVerdict{OK: true}, nil
	}
	over := false
	err = r.Scan(ledger.Range{Index: EntryNew, Prefix: []any{box.ThreadID}}, func(c ledger.Values) error {
		e := ReadEntry(c)
		turnID, parent, err := endOf(r, e)
		if err != nil || turnID != "" && reserved(turnID) {
			return err
		}
		if over, err = w.add(e, parent); err == nil && over {
			return ledger.ErrEnough
		}
		return err
	})
	if err == nil && !over && w.n > 0 {
		over, err = askedSince(r, box.ThreadID, w.first)
	}
	switch {
	case err != nil:
		return WakeVerdict{}, err
	case over:
		return WakeVerdict{OK: true}, nil
	}
	return w.verdict(), nil
}

// maxWindows is how many windows the oldest of what waits for more does wait at most.
const maxWindows = 5

// waiting is what waits for more in an inbox.
type waiting struct {
	r       ledger.Reader
	box     *Inbox
	s       Settings
	now     time.Time
	unended map[string]bool // turns with background child turns that have not ended

	end            time.Time // the oldest end that waits for its siblings
	oldest, newest time.Time // of the others
	first          int64     // seq of the first of these
	n              int
}

// add adds a fresh entry; parent is the turn for which a child turn has worked whose end it is. It
// reports whether waiting is over.
func (w *waiting) add(e *Entry, parent string) (over bool, err error) {
	switch {
	case e.LastRaw <= w.box.Woken || e.AtOnce:
		return true, nil
	case w.unended[parent]:
		if w.end.IsZero() || e.PostedAt.Before(w.end) {
			w.end = e.PostedAt.Time
		}
		return false, nil
	case parent != "" || w.s.WakeWindow == 0:
		return true, nil
	}
	since, atOnce, err := w.sinceOf(e)
	if w.n++; w.n == 1 || since.Before(w.oldest) {
		w.oldest = since
	}
	if w.n == 1 {
		w.first = e.Seq
	}
	if e.PostedAt.After(w.newest) {
		w.newest = e.PostedAt.Time
	}
	// A time to come is one from before the clock was set back.
	return atOnce || w.newest.After(w.now) || w.oldest.After(w.now) || w.n == MaxToldEntries, err
}

// sinceOf returns since when what an entry shows waits: since the first of the snapshots up to
// this one of which the agent was told none. atOnce reports that an item is among it that does not
// wait.
func (w *waiting) sinceOf(e *Entry) (since time.Time, atOnce bool, err error) {
	since = e.PostedAt.Time
	if e.Revision < 2 {
		return since, false, nil
	}
	err = w.r.Scan(ledger.Range{Index: EntryOfDigest, Prefix: []any{e.Digest}, After: e.Seq, Newest: true}, func(v ledger.Values) error {
		old := ReadEntry(v)
		if old.ToldByTurnID != "" {
			return ledger.ErrEnough
		}
		if since, atOnce = old.PostedAt.Time, old.AtOnce; atOnce || !since.After(w.now.Add(-maxWindows*w.s.WakeWindow)) {
			return ledger.ErrEnough
		}
		return nil
	})
	return since, atOnce, err
}

// verdict reports when waiting is over by time.
func (w *waiting) verdict() (v WakeVerdict) {
	until := func(at, latest time.Time) {
		switch {
		case !at.After(w.now) || at.After(latest): // or it was posted before the clock was set back
			v.OK = true
		case v.At.IsZero() || at.Before(v.At):
			v.At = at
		}
	}
	if !w.end.IsZero() && w.s.WakeMaxWait != 0 {
		until(w.end.Add(w.s.WakeMaxWait), w.now.Add(w.s.WakeMaxWait+time.Minute))
	}
	if w.n > 0 {
		at := w.newest.Add(w.s.WakeWindow)
		if most := w.oldest.Add(maxWindows * w.s.WakeWindow); most.Before(at) {
			at = most
		}
		until(at, at)
	}
	if v.OK {
		v.At = time.Time{}
	}
	return v
}

// askedSince reports whether a client has asked for a turn of the thread after a seq.
func askedSince(r ledger.Reader, threadID string, seq int64) (asked bool, err error) {
	err = r.Scan(ledger.Range{Index: turns.OfThread, Prefix: []any{threadID}, Until: seq, Newest: true}, func(v ledger.Values) error {
		t, err := turns.Read(v)
		if err != nil {
			return err
		}
		if asked = !t.Wake && !t.IsChild() && t.Continues == ""; asked {
			return ledger.ErrEnough
		}
		return nil
	})
	return asked, err
}

// endOf reads which child turn's end an entry shows, and the turn for which that has worked;
// "" = it shows none, or the child turn has worked for no turn, or was outside work.
func endOf(r ledger.Reader, e *Entry) (turnID, parent string, err error) {
	if e.Source != SourceTurns {
		return "", "", nil
	}
	raw, err := r.Get(RawBySeq, e.LastRaw)
	if raw == nil || err != nil {
		return "", "", err
	}
	turnID, _, ok := EndOf(ReadRaw(raw).NativeID)
	if !ok {
		return "", "", nil
	}
	v, err := r.Get(turns.ByID, turnID)
	if v == nil || err != nil {
		return turnID, "", err
	}
	t, err := turns.Read(v)
	if err == nil && t.Parent != nil && !t.Outside {
		parent = t.Parent.TurnID
	}
	return turnID, parent, err
}

// Stall records that a bound keeps the thread from being woken.
func (b *Book) Stall(v WakeVerdict) {
	if b.rows.inbox().Stalled != v.Stall {
		b.add(notify.InboxStalled, &Stalled{Reason: v.Stall, Until: notify.TimeOf(v.At)})
	}
}

// Chain returns the chain of a wake that tells these entries: one more than the highest chain of
// the turns that they are about, 0 without any, and one more for each lease of the entry. Entries
// from before the bound was lifted count only their leases.
func Chain(b *Book, entries []*Entry) int {
	chain, lifted := 0, b.rows.inbox().Lifted
	for _, e := range entries {
		chain = max(chain, e.Leases)
		if e.Kind != KindItem || e.Source != SourceEvents && e.Source != SourceMessage && e.Source != SourceTurns {
			continue
		}
		if r, ok := b.rows.Row(RawTable, e.LastRaw).(*Raw); ok && r.Seq > lifted {
			chain = max(chain, r.Chain+e.Leases)
		}
	}
	return chain
}

// FoldTurn applies an event of a turn, or of the thread itself, to the rows of
// thread and inbox: what holds, bounds or lifts wakes.
func FoldTurn(s ledger.State, h *notify.Header, body any) {
	switch b := body.(type) {
	case *threads.Changed:
		if box, ok := s.Row(Table, h.ThreadID).(*Inbox); ok && b.State == threads.Closed {
			box = box.clone()
			box.AckedAt = h.Timestamp.Milli() // everything expires from now on
			put(s, box, h)
		}
	case *turns.QueuedEvent:
		if b.AttentionPolicy == "" && b.Continues == "" { // an agent that starts or rejects child turns lifts no bound
			asked(s, h)
		}
	case *turns.StartedEvent:
		if !b.Outside { // the thread is held by its own people
			hold(s, h, false)
		}
		switch {
		case b.Origin == turns.OriginWake:
			if box, ok := s.Row(Table, h.ThreadID).(*Inbox); ok && h.Attempt == 1 {
				box = box.clone()
				box.Wakes = append(box.Wakes, h.Timestamp.Milli())
				box.Wakes = slices.Clone(box.Wakes[max(0, len(box.Wakes)-MaxWakesAnHour):])
				if box.Stalled == StallRate {
					box.Stalled, box.StalledAt, box.WakeAt = "", 0, 0
				}
				put(s, box, h)
			}
		case b.Origin == turns.OriginClient && b.AttentionPolicy == "":
			asked(s, h)
		}
	case *turns.EndedEvent:
		// A turn that has not started was in the queue: it was not the active one.
		if b.State == turns.Interrupted && b.By.Client() && !b.StartedAt.IsZero() {
			hold(s, h, true)
		}
		box, ok := s.Row(Table, h.ThreadID).(*Inbox)
		if ok && box.ToldTurn == h.TurnID && !box.Untold && box.Silent > 0 {
			box = box.clone()
			box.Silent, box.WakeAt = 0, 0
			put(s, box, h)
		}
	}
}

// asked follows the start of a turn by a client: it ends what kept the thread from being
// woken.
func asked(s ledger.State, h *notify.Header) {
	hold(s, h, false)
	if box, ok := s.Row(Table, h.ThreadID).(*Inbox); ok && (box.Stalled != "" || box.Silent > 0 || len(box.Wakes) > 0) {
		box = box.clone()
		box.lift(h.Seq)
		put(s, box, h)
	}
}

func put(s ledger.State, box *Inbox, h *notify.Header) {
	box.UpdatedSeq = h.Seq
	s.Put(box)
}

func hold(s ledger.State, h *notify.Header, held bool) {
	if t, ok := s.Row(threads.Table, h.ThreadID).(*threads.Thread); ok && t.Held != held {
		next := *t
		next.Held = held
		s.Put(&next)
	}
}
