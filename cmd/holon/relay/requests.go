package relay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/seed82539d15/holon/internal/lines"
	"github.com/seed82539d15/holon/rpc/frame"
)

// maxKept bounds the lines that wait to be sent or answered. Above it the client is not
// read, as a server does not read above max_in_flight. One line may always be kept.
const maxKept = 64 << 20

// requests are the lines of the client, in their order, that are not done: a request until
// it is answered, any other line until it is sent. All goroutines may use it.
type requests struct {
	changed chan struct{} // has an entry after something has changed that done looks at
	more    chan struct{} // has an entry after there may be a line to send

	most      int // maxKept, or less in tests
	mu        sync.Mutex
	room      *sync.Cond // signalled when there is more room, or at the end
	list      []*exchange
	sent      int  // how many of list are, on this connection: the first ones
	kept      int  // the bytes of list
	opened    bool // there was a connection
	ended     bool // the input has ended
	closed    bool // nobody sends any more
	untracked bool // a notification may have changed what the connection is subscribed to
	added     int  // the number of the newest line
	unsure    int  // that of the newest notification on this connection that may not be executed yet; 0 = none
	forgotten bool // there was one when a connection was cut
}

func newRequests() *requests {
	q := &requests{most: maxKept, changed: make(chan struct{}, 1), more: make(chan struct{}, 1)}
	q.room = sync.NewCond(&q.mu)
	return q
}

// read takes lines until in ends. Its error says which line is too long.
func (q *requests) read(in io.Reader) error {
	var parser frame.Parser
	for reader := linesOf(in, false); ; {
		line, err := reader.Next()
		switch {
		case errors.Is(err, lines.ErrTooLong):
			return fmt.Errorf("stdin: %w", err)
		case err != nil:
			q.change(func() { q.ended = true })
			return nil
		}
		q.add(newExchange(&parser, bytes.Clone(line)))
	}
}

// add waits for room.
func (q *requests) add(x *exchange) {
	q.mu.Lock()
	for len(q.list) > 0 && q.kept+x.size() > q.most && !q.closed {
		q.room.Wait()
	}
	q.mu.Unlock()
	q.change(func() {
		q.added++
		x.number = q.added
		q.list, q.kept = append(q.list, x), q.kept+x.size()
		q.untracked = q.untracked || x.subscribes()
	})
}

// change calls what under the lock and signals that there may be something new.
func (q *requests) change(what func()) {
	q.mu.Lock()
	what()
	q.mu.Unlock()
	notify(q.more)
	notify(q.changed)
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// next returns the next line to send, and whether there will be none.
func (q *requests) next() (x *exchange, ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.sent == len(q.list) {
		return nil, q.ended
	}
	q.sent++
	return q.list[q.sent-1], false
}

// wrote records how many bytes of a line were taken by the connection. Without its last byte
// the server cannot execute it.
func (q *requests) wrote(x *exchange, n int) {
	if n < len(x.line) {
		q.mu.Lock()
		defer q.mu.Unlock()
		x.begun = n > 0
		if q.sent > 0 && q.list[q.sent-1] == x { // else it is answered already
			q.sent--
		}
	} else if !x.answered() {
		if x.notifies() {
			q.mu.Lock()
			q.unsure = x.number
			q.mu.Unlock()
		}
		q.remove(x)
	}
}

// unconfirmed reports whether the connection has taken a notification of which no answer
// tells that it is executed.
func (q *requests) unconfirmed() bool { q.mu.Lock(); defer q.mu.Unlock(); return q.unsure > 0 }

// executed records that a request has an answer: what was sent before it is executed. The
// request itself is done when its client has got that.
func (q *requests) executed(x *exchange) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unsure < x.number {
		q.unsure = 0
	}
}

// confirm records that all that was sent is executed.
func (q *requests) confirm() { q.change(func() { q.unsure = 0 }) }

// outcome returns the error of a command that has answered all requests.
func (q *requests) outcome() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.forgotten {
		return errors.New("a connection was lost after a notification was sent: it may have taken effect or not")
	}
	return nil
}

// remove takes out what is done. It moves what is before it, which are few lines, and not
// the many that may wait.
func (q *requests) remove(x *exchange) {
	q.change(func() {
		i := slices.Index(q.list, x)
		if i < 0 {
			return
		}
		copy(q.list[1:], q.list[:i])
		q.list[0] = nil
		q.list, q.kept = q.list[1:], q.kept-x.size()
		if i < q.sent {
			q.sent--
		}
		q.room.Signal()
	})
}

// cut records that the connection has ended, whether it has answered any request, and whether
// it has lasted. It returns the lines that are not sent again; the others will be.
//
// Which line cuts connections is known if they end in the midst of it, however long they
// last. If they end soon, it may be the oldest one: what is before the line that cuts them
// is answered, or given up, in the end, as lines are sent in their order. So a connection
// that has answered anything counts for none.
func (q *requests) cut(answered, lasted bool, s *subscription) (unknown []*exchange) {
	var parser frame.Parser
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unsure > 0 {
		q.unsure, q.forgotten = 0, true
	}
	for i, x := range q.list {
		if i >= q.sent && !x.begun {
			break
		}
		if answered {
			x.cuts = 0
		} else if x.begun || i == 0 && !lasted {
			x.cuts++
		}
		q.kept -= x.size()
		if x.cuts == maxCuts || !x.begun && !(x.repeatable() && x.pin(&parser, s)) {
			unknown = append(unknown, x)
		}
		q.kept += x.size()
		x.begun = false
	}
	q.sent = 0
	return unknown
}

// answeredBy returns the request that an answer belongs to, nil if there is none.
func (q *requests) answeredBy(a *answer) *exchange {
	q.mu.Lock()
	defer q.mu.Unlock()
	var found, longest *exchange
	for _, x := range q.list[:q.sent] {
		if !x.answered() {
			continue
		}
		if longest == nil || len(x.line) > len(longest.line) {
			longest = x
		}
		if x.batch == a.batch && x.member(a.parts[0].key()) != nil {
			// The second of two requests with one id is the one that is refused.
			if found = x; a.parts[0].kind() != "duplicate_id" {
				return x
			}
		}
	}
	if found == nil && a.parts[0].key() == "" && a.parts[0].kind() == "frame_too_large" {
		return longest // a line of which the server has not read the id
	}
	return found
}

// connect records that there is a connection.
func (q *requests) connect() { q.change(func() { q.opened = true }) }

// close ends the waiting of read and add.
func (q *requests) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.room.Signal()
}

func (q *requests) connected() bool { q.mu.Lock(); defer q.mu.Unlock(); return q.opened }

// tracked reports whether answers have told all that the connection is subscribed to.
func (q *requests) tracked() bool { q.mu.Lock(); defer q.mu.Unlock(); return !q.untracked }

// done reports whether the input has ended, every request is answered and the rest is
// executed, once there was a connection.
func (q *requests) done() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.opened && q.ended && len(q.list) == 0 && q.unsure == 0
}

// exchangeBytes is about what a message takes besides the bytes of its line.
const exchangeBytes = 256

func (x *exchange) size() int { return len(x.line) + exchangeBytes*max(1, len(x.members)) }
