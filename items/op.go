package items

import (
	"errors"
	"fmt"
	"slices"
)

// Op is something an agent does to the items of its turn.
type Op interface{ op() }

// Create makes an item. The agent makes ItemID with NewID. Status "" is
// in_progress; an item that is created with a final status has ended at once.
// Step is the path of the item's step, which must have been started; "" is the
// turn itself.
type Create struct {
	ItemID  string
	Step    string
	Status  Status
	Content Content
}

// Append adds text to an open item of a kind that Streams.
type Append struct {
	ItemID string
	Text   string
}

// Update changes an open item. Status "" keeps the status. A nil Content keeps
// the content with all text appended so far; any other Content replaces both. A
// final status ends the item.
type Update struct {
	ItemID  string
	Status  Status
	Content Content
}

// Delete withdraws an item of the running turn, open or ended.
type Delete struct{ ItemID string }

// StepStart begins a try of a step, a path such as "setup/clone", and of the
// steps above it that have not begun. A try of the step that runs or has ended
// is superseded with all tries below it, for the Reason. StepStart makes no
// item.
type StepStart struct {
	Step   string
	Reason string
}

// StepEnd ends the running try of a step and the running tries below it. Status
// is completed, failed or interrupted; "" is completed. It does not change
// items.
type StepEnd struct {
	Step   string
	Status Status
}

// Progress says in a few words what the agent is doing. It makes no item.
// State is "starting" while the agent itself starts and "running" once it runs;
// "" keeps the state.
type Progress struct {
	Message string
	State   string
}

// SetThread sets what has become known about the thread: its title, the agent's
// settings (the whole JSON object), the agent's own id of the session. Zero
// members change nothing. It makes no item.
type SetThread struct {
	Title          string
	Config         Raw
	AgentSessionID string
}

// SetUsage replaces what the turn has used so far. It makes no item.
type SetUsage struct{ Usage Usage }

func (Create) op()    {}
func (Append) op()    {}
func (Update) op()    {}
func (Delete) op()    {}
func (StepStart) op() {}
func (StepEnd) op()   {}
func (Progress) op()  {}
func (SetUsage) op()  {}
func (SetThread) op() {}

// Answer is how a question ended. Answer is set for a Question that was
// answered.
type Answer struct {
	Status  Status
	Outcome Outcome
	Answer  Raw
}

// Verb is what happens to an item: an input of Next.
type Verb string

// The verbs. VerbResolve answers a question. VerbClose ends an item because its
// turn ends. VerbReopen opens a user message that ended undelivered, for the
// next attempt of its turn.
const (
	VerbCreate  Verb = "create"
	VerbAppend  Verb = "append"
	VerbUpdate  Verb = "update"
	VerbDelete  Verb = "delete"
	VerbResolve Verb = "resolve"
	VerbClose   Verb = "close"
	VerbReopen  Verb = "reopen"
)

// Verbs lists all verbs.
var Verbs = []Verb{VerbCreate, VerbAppend, VerbUpdate, VerbDelete, VerbResolve, VerbClose, VerbReopen}

// Absent is the status of an item that does not exist.
const Absent Status = ""

// ErrRefused is wrapped by the errors of Next: the item's status or kind does
// not allow the verb.
var ErrRefused = errors.New("the item does not allow it")

// Next checks that an item of this kind and status allows the verb, and returns
// the status that follows. For create, status is Absent. want is the status that
// a create or update asks for ("" = in_progress for create, unchanged for
// update).
func Next(status Status, kind Kind, verb Verb, want Status) (Status, error) {
	refuse := func(why string) (Status, error) {
		return status, fmt.Errorf("%s of %s item: %s: %w", verb, kind, why, ErrRefused)
	}
	if (status == Absent) != (verb == VerbCreate) {
		if status == Absent {
			return refuse("it does not exist")
		}
		return refuse("it exists already")
	}
	if verb == VerbDelete {
		if status == StatusDeleted {
			return refuse("it is deleted")
		}
		return StatusDeleted, nil
	}
	if verb == VerbReopen {
		if kind != KindUserMessage || status != StatusInterrupted {
			return refuse("it is no user message that was not delivered")
		}
		return StatusInProgress, nil
	}
	if verb != VerbCreate && !status.Open() {
		return refuse("it has ended as " + string(status))
	}
	switch verb {
	case VerbCreate:
		return nextCreated(kind, want, refuse)
	case VerbAppend:
		if !kind.Streams() {
			return refuse("it has no text that grows")
		}
		return status, nil
	case VerbUpdate:
		switch {
		case kind.IsQuestion():
			return refuse("only an answer changes a question")
		case want == "":
			return status, nil
		case !want.known() || want == StatusPending || want == StatusDeleted:
			return refuse(fmt.Sprintf("status %q cannot be set", want))
		}
		return want, nil
	case VerbResolve:
		if !kind.IsQuestion() || status != StatusPending {
			return refuse("it is no question that waits")
		}
		return want, nil
	case VerbClose:
		if kind.IsQuestion() {
			return StatusCancelled, nil
		}
		return want, nil
	}
	return refuse("unknown verb")
}

func nextCreated(kind Kind, want Status, refuse func(string) (Status, error)) (Status, error) {
	switch {
	case kind == KindUserMessage:
		return refuse("only clients make user messages")
	case kind.IsQuestion():
		if want != "" && want != StatusPending {
			return refuse("a question begins pending")
		}
		return StatusPending, nil
	case want == "":
		return StatusInProgress, nil
	case !want.known() || want == StatusPending || want == StatusDeleted:
		return refuse(fmt.Sprintf("status %q cannot be set", want))
	}
	return want, nil
}

func (s Status) known() bool { return slices.Contains(Statuses, s) }
