package rpc

import "time"

// holdFor is how long the stream of a connection waits for an answer. An answer follows its
// commit within a millisecond, on a machine that is very busy within tens.
const holdFor = 100 * time.Millisecond

// hold keeps the stream of a connection from passing the commit of a command before the
// command's answer: otherwise the client may read that a turn has ended, and then the answer
// that it has started.
//
// The requests of a connection run one after the other, so one command at most is between its
// commit and its answer. So no event waits for more than one hold. Requests that are answered
// later, members of batches, and notifications hold nothing.
//
// All is under the duplex's queueMu.
type hold struct {
	of    *duplex
	seq   int64     // the last of the command's first unit; 0 = it has committed nothing
	until time.Time // then the stream goes on
}

// Committed implements ledger.Caller.
func (h *hold) Committed(last int64) {
	h.of.queueMu.Lock()
	defer h.of.queueMu.Unlock()
	if h.of.running == h && h.seq == 0 {
		h.seq, h.until = last, time.Now().Add(holdFor)
	}
}

// begin lets a command that begins hold the stream.
func (h *hold) begin(d *duplex) {
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	h.of, d.running = d, h
}

// release ends a hold: the answer is there, or comes later. h may be nil.
func (h *hold) release() {
	if h == nil {
		return
	}
	h.of.queueMu.Lock()
	defer h.of.queueMu.Unlock()
	h.lift()
}

// lift works like release, under queueMu.
func (h *hold) lift() {
	if h == nil || h.of.running != h {
		return
	}
	d := h.of
	d.running = nil
	if d.blocked {
		d.blocked = false
		d.timer.Stop()
		d.nudge()
	}
}

// mayReach returns the seq up to which the stream may go: the head, or before it the commit
// of a command whose answer is not written. Answers in the queue count, because the writer
// may be between taking the queue and reading events.
func mayReach(o *outlet) int64 {
	// The head comes first: what is published is held by then.
	head := o.server.cfg.Tail.Head()
	d := o.duplex
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	for i := range d.queue {
		if h := d.queue[i].hold; h != nil && h.seq > 0 {
			return min(h.seq, head)
		}
	}
	h := d.running
	if h == nil || h.seq == 0 || h.seq >= head {
		return head
	}
	if !time.Now().Before(h.until) {
		o.server.metrics.AnswerOvertaken()
		h.lift()
		return head
	}
	return h.seq
}

// mayWrite returns a channel that is closed once there may be events to write; nil while the
// stream is held, whose end wakes the writer.
func mayWrite(o *outlet) <-chan struct{} {
	if o.cursor == nil {
		return nil
	}
	ready := o.cursor.Wait()
	if o.duplex != nil && block(o, o.server.cfg.Tail.Head()) {
		return nil
	}
	return ready
}

// block reports whether events wait for an answer, and has the writer woken when they have
// waited for long enough. There is no timer before.
func block(o *outlet, head int64) bool {
	d := o.duplex
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	h := d.running
	if h == nil || h.seq == 0 || h.seq >= head || o.cursor.After() < h.seq {
		return false
	}
	if left := time.Until(h.until); d.timer == nil {
		d.timer = time.AfterFunc(left, d.nudge)
	} else {
		d.timer.Reset(left)
	}
	d.blocked = true
	return true
}
