package engine

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// decision is the result of a command, of agent output or of a timer: the unit to
// commit, the state that it leaves, and the effects that follow the commit. It
// reads its rules and the log, and changes only its next state: a clone of the
// actor's (decide), or the actor's own (observe).
//
// A decision about a command may be refused by the log, so it works on a clone of
// the state. Agent output has been said and must become durable, so its decision
// works on the state itself: copying texts of 1 MiB for each delta would cost more
// than everything else.
type decision struct {
	rules   *rules
	change  *change
	effects []effect
	// unfinished says that further units belong to the command: the last one stores its key, so
	// that a repetition after a crash in between does the rest.
	unfinished bool
	saidBy     string      // the turn that ends
	said       *items.Said // all of the last message of its agent; nil = not known

	items itemWriter
	steps stepWriter
	turn  turnWriter
	late  lateWriter
	inbox inboxWriter
	child childWriter

	review reviewWriter
}

// rules are what decisions read in addition to the state of their thread. They
// are safe for use by many goroutines.
type rules struct {
	cfg      Config
	agents   agents
	log      logReader
	inboxes  InboxRows
	sources  *sources
	awaits   *awaits
	zap      *zap.Logger
	draining func() bool
}

// logReader is what decisions read of the log.
type logReader interface {
	Turn(ctx context.Context, turnID string) (*turns.Turn, error)
	Item(ctx context.Context, itemID string) (*items.Item, error)
	Input(ctx context.Context, turnID string) ([]*items.Item, error)
	Steps(ctx context.Context, turnID string) ([]*turns.Step, error)
	LastMessage(ctx context.Context, turnID string) (*items.Item, error)
}

func newDecision(r *rules, threadID string, next *state) *decision {
	d := &decision{rules: r, change: newChange(threadID, next, r.cfg.DefaultTimeout)}
	d.change.inbox.open, d.change.inbox.sources = d.inbox.newBook, r.sources
	d.items.d, d.steps.d, d.turn.d, d.late.d, d.inbox.d, d.child.d, d.review.d = d, d, d, d, d, d, d
	return d
}

// next returns the state as the decision leaves it so far.
func (d *decision) next() *state { return d.change.next }

// active returns the active turn as the decision leaves it so far.
func (d *decision) active() *activeTurn { return d.change.next.active }

// agent returns the agent of the thread.
func (d *decision) agent() *agent { return d.rules.agents.of(d.next().thread.Agent) }

// stopWithin returns how long the thread's agent may take to stop.
func (d *decision) stopWithin() time.Duration {
	return d.agent().stopWithin(d.rules.cfg.InterruptAfter)
}

// addEffect adds an effect that follows the commit.
func (d *decision) addEffect(e effect) { d.effects = append(d.effects, e) }

// turnScope returns the scope of events of the active turn itself.
func (d *decision) turnScope() scope {
	if root := d.change.root(); root != nil {
		return inTry(root)
	}
	return scope{attempt: d.active().turn.Attempt}
}

// mayStart returns an error unless a turn may be started or queued in the thread.
func (d *decision) mayStart() error {
	if err := d.mustBeOpen(); err != nil {
		return err
	}
	if d.rules.draining() {
		return turns.ErrDraining
	}
	return nil
}

// mustBeOpen returns an error unless the thread is open.
func (d *decision) mustBeOpen() error { return d.next().mustBeOpen() }
