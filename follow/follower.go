package follow

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Follower is what a user of the log declares.
type Follower struct {
	// Name is the identity of the follower: after a restart its position is
	// found by it. 1 to 256 bytes.
	Name string
	Interest
	// FromFirst makes a follower that has no position yet begin with the oldest
	// event that is kept. Otherwise it begins after the newest.
	FromFirst bool
	Held      bool // it begins as after Progress.Hold
	// Handle handles a batch: it does the work itself, or returns tasks for
	// actors of threads. After an error, also of a task, the same events
	// are delivered again after a pause. A panic ends the follower: it keeps its
	// position and continues at the next start of the server. Handle is called
	// by one goroutine at a time. ctx is done after Config.Timeout at the
	// latest; Handle must then return soon. It may keep the batch's events.
	Handle func(ctx context.Context, b *Batch) ([]Task, error)
}

// Interest is which events a follower wants. The zero value wants none.
type Interest struct {
	All     bool     // events of all threads and of none
	Threads []string // without All: events of these; Progress.Watch and Unwatch change them
	// Methods are names or kinds such as "item/*"; none means all. Markers
	// (stream/rewind) pass any choice of methods, as in streams: they say which
	// events that the follower has seen are superseded.
	Methods []string
	// MarkersLater says that, with Methods, no marker is wanted before
	// Progress.WantMarkers: the follower has done nothing yet that one could supersede.
	// Some may come all the same.
	MarkersLater bool
	// Collapse leaves out turn/late and what is superseded when it is read.
	Collapse bool
}

// Event is one event of the log.
type Event struct {
	Seq              int64
	ThreadID, Method string
	Params           []byte
}

// Lost says that the events from From to To are no longer in the log. The
// follower may have wanted some of them.
type Lost struct{ From, To int64 }

// Batch is what a follower handles at once. Lost and Restored come before
// Events, which may be empty.
type Batch struct {
	Lost *Lost // nil: none
	// Restored says that the log was restored from a backup after the position
	// was stored: the events that follow may have been handled in the original
	// log.
	Restored bool
	Events   []Event
	// Through is the seq up to which Events has all wanted events.
	Through int64

	name  string
	moved int64 // the position as a committed unit has moved it
	upTo  int64 // no event after it is known to be wanted
	bytes int
}

// Move moves the position of followers that own their effects: it puts the position into the
// unit with the effects. Once the unit is committed, the events up to through
// are handled, exactly once. The unit is refused with ledger.ErrStale if the
// position has been moved meanwhile. It must have no events of a thread. The
// positions of other followers are saved later: after a crash these followers
// see events again.
func (b *Batch) Move(u *ledger.Unit, through int64) {
	u.Base = b.moved
	u.Rows = append(u.Rows, &move{&row{name: b.name, position: through}, b})
}

// Task is work for the actor of a thread: only the actor
// may append to it.
type Task struct {
	ThreadID string
	// Unique is the identity of the task. The actor does nothing if it has done
	// a task of this identity before: followers may see events again.
	Unique string
	// Do makes the unit on the state of the actor, in its goroutine.
	Do func(actor any) (*ledger.Unit, error)
}

// Actors takes the tasks of followers. It may be called by many goroutines.
type Actors interface {
	// Take returns nil when each of the tasks is durable, by this call or an
	// earlier one. After an error some may be; all of them are delivered again.
	Take(ctx context.Context, tasks []Task) error
}

// Errors of Add.
var (
	ErrTaken   = errors.New("a follower has this name already")
	ErrTooMany = errors.New("there are too many followers")
)

const maxNameBytes = 256

func (f *Follower) validate() error {
	if f.Name == "" || len(f.Name) > maxNameBytes {
		return fmt.Errorf("the name of a follower has %d bytes, 1 to %d are allowed", len(f.Name), maxNameBytes)
	}
	for _, m := range f.Methods {
		if !notify.ValidMethod(m) {
			return fmt.Errorf("follower %s: %q is no method", f.Name, m)
		}
	}
	if f.All && len(f.Threads) > 0 || f.Handle == nil {
		return fmt.Errorf("follower %s wants all threads and some, or handles nothing", f.Name)
	}
	return nil
}
