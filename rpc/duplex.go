package rpc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/notify"
)

// answer is one line that goes to the client of a two-way connection: a
// response, or the responses of a batch.
type answer struct {
	line []byte
	seq  int64         // events up to it go first, if the stream is caught up
	hold *hold         // ends once the answer is written; nil = none
	then func()        // called as soon as the line is written, under mu
	sent func(ok bool) // api.Reply.Sent; nil = nothing to call
}

// dropped records that the answer is not written.
func (a *answer) dropped() {
	if a.sent != nil {
		a.sent(false)
	}
}

// both returns a function that calls two functions, which may be nil, in their
// order.
func both(first, second func(ok bool)) func(ok bool) {
	if first == nil || second == nil {
		if first == nil {
			return second
		}
		return first
	}
	return func(ok bool) { first(ok); second(ok) }
}

// duplex is what a two-way connection has in addition to a one-way stream: a
// queue of answers, bounded in number and bytes, the channels that wake the
// writer, and the logs that the client follows (under the outlet's mu).
type duplex struct {
	slots chan struct{} // one per queued answer: respond waits while it is full
	wake  chan struct{}
	done  chan struct{} // closed when the writer has ended
	end   chan Closing  // ends this stream alone
	busy  atomic.Int64  // requests in flight

	finishing atomic.Bool // the writer waits for busy to become 0

	queueMu sync.Mutex
	queue   []answer
	queued  int           // bytes in queue
	room    chan struct{} // closed and replaced when the queue is emptied
	running *hold         // of the command that runs; nil = none, or it has ended
	blocked bool          // the writer waits for its end, or for timer
	timer   *time.Timer   // nil = it was never needed

	// Under the outlet's mu: the subscription and the number of followed logs
	// that begin once an answer is written.
	nextCursor    *notify.Cursor
	nextFollowers int
	followers     []follower
}

type follower struct {
	streamID string
	position int64
}

func newDuplex(queue int) *duplex {
	return &duplex{
		slots: make(chan struct{}, queue), wake: make(chan struct{}, 1),
		done: make(chan struct{}), end: make(chan Closing, 1), room: make(chan struct{}),
	}
}

// The three below are nil channels on a one-way stream and never ready.

func (o *outlet) woken() <-chan struct{} {
	if o.duplex == nil {
		return nil
	}
	return o.wake
}

func (o *outlet) ended() <-chan Closing {
	if o.duplex == nil {
		return nil
	}
	return o.end
}

func (o *outlet) logsReady() <-chan struct{} {
	if o.duplex == nil || len(o.followers) == 0 {
		return nil
	}
	return o.server.logs.Wait(o.followers[0].position) // all are at the same line
}

// idle reports whether no request is in flight.
func (o *outlet) idle() bool {
	return o.duplex == nil || o.busy.Load() == 0
}

func (d *duplex) nudge() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// respond sends an answer. If direct is set and the writer has nothing to do,
// the caller writes it at once; otherwise it is queued. It blocks while the
// queue is full, and drops the answer if the connection has ended.
func (o *outlet) respond(ctx context.Context, a answer, direct bool) {
	if direct && o.mu.TryLock() {
		if o.failed == nil && o.queueEmpty() {
			a.hold.release()
			o.put(ctx, a)
			o.flush()
			wake := a.then != nil || o.failed != nil
			o.mu.Unlock()
			if wake {
				o.nudge()
			}
			return
		}
		o.mu.Unlock()
	}
	select {
	case o.slots <- struct{}{}:
	case <-o.done:
		a.dropped()
		return
	}
	for {
		room, ok := o.enqueue(a)
		if ok {
			o.nudge()
			return
		}
		select {
		case <-room:
		case <-o.done:
			a.dropped()
			return
		}
	}
}

// maxQueuedBytes bounds the answers that wait for the writer: a few pages of a
// list. An empty queue takes any answer, however large.
const maxQueuedBytes = 8 << 20

func (d *duplex) enqueue(a answer) (room <-chan struct{}, ok bool) {
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	if d.queued > 0 && d.queued+len(a.line) > maxQueuedBytes {
		return d.room, false
	}
	a.hold.lift()
	d.queue = append(d.queue, a)
	d.queued += len(a.line)
	return nil, true
}

// take empties the queue.
func (d *duplex) take() []answer {
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	queue := d.queue
	if len(queue) > 0 {
		d.queue, d.queued = nil, 0
		close(d.room)
		d.room = make(chan struct{})
	}
	return queue
}

func (d *duplex) queueEmpty() bool {
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	return len(d.queue) == 0
}

// drain writes the queued answers and the followed log lines. It reports
// whether there were any.
func (o *outlet) drain(ctx context.Context) bool {
	if o.duplex == nil {
		return false
	}
	queue := o.take()
	late(queue)
	for _, a := range queue {
		o.put(ctx, a)
		<-o.slots
	}
	return o.logLines() || len(queue) > 0
}

// late moves answers back which come late anyway, behind those of commands whose commits are before
// theirs: the events that such an answer follows would pass those commits.
func late(queue []answer) {
	for i := len(queue) - 2; i >= 0; i-- {
		a := queue[i]
		if a.hold != nil || a.seq == 0 {
			continue
		}
		for j := len(queue) - 1; j > i; j-- {
			if h := queue[j].hold; h != nil && h.seq > 0 && h.seq < a.seq {
				copy(queue[i:], queue[i+1:j+1])
				queue[j] = a
				break
			}
		}
	}
}

// answerAll writes the queued answers with the normal write timeout: at the end
// of the stream it is shorter.
func (o *outlet) answerAll(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drain(ctx)
	o.flush()
}

// put writes one answer after the events that its request caused.
func (o *outlet) put(ctx context.Context, a answer) {
	if a.seq > 0 {
		o.advance(ctx, a.seq)
	}
	o.write(a.line)
	if a.then != nil {
		a.then()
	}
	if a.sent != nil {
		o.flush() // bytes in a buffer have not been written
		a.sent(o.failed == nil)
	}
}

// logLines writes new lines of the log to its followers. It reports whether
// there were any.
func (o *outlet) logLines() bool {
	wrote := false
	for i := range o.followers {
		f := &o.followers[i]
		lines, next := o.server.logs.From(f.position, maxFollowed)
		f.position = next
		for _, l := range lines {
			o.notify(notify.HolonLog, api.HolonLog{StreamID: f.streamID, Position: l.Position, Level: l.Level, Time: notify.TimeOf(l.Time), Message: l.Message})
			wrote = true
		}
	}
	return wrote
}

// maxFollowed is how many log lines are written before events are written
// again.
const maxFollowed = 256
