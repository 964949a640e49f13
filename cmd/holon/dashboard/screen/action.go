package screen

import (
	"encoding/json"

	"github.com/seed82539d15/holon/cmd/holon/restarts"
	"github.com/seed82539d15/holon/rpc/client"
)

// Action is what a page asks of the program: a value, so that a page does no I/O
// itself. The program sends requests off the update loop, and answers with a
// Done.
type Action interface{ action() }

// Actions that become requests. Each Done of them carries the action itself.
type (
	// Respond answers a question with one of an option, an answer (JSON) or
	// Cancel.
	Respond struct {
		Item, Option string
		Answer       json.RawMessage
		Cancel       bool
	}
	// Review gives a verdict about the end of an attempt of a turn.
	Review struct {
		Turn          string
		Attempt       int
		Verdict, Note string
	}
	// Start starts a turn in a thread.
	Start struct{ Thread, Text string }
	// StartThread starts a thread and its first turn. An empty Agent is the
	// server's default.
	StartThread struct{ Agent, Cwd, Text string }
	// Steer adds a text to a turn that is at work.
	Steer     struct{ Turn, Text string }
	Interrupt struct{ Turn string }
	Retry     struct{ Turn string }
	Close     struct{ Thread string }
	// Wake has a thread told what is new in its inbox, whatever keeps that from it.
	Wake struct{ Thread string }
	// Rename gives a thread a title; an empty one gives it back to the agent.
	Rename struct{ Thread, Title string }
	// RetryLost retries the turns that ended with a restart. Its result is a Retried.
	RetryLost struct{ Lost restarts.Lost }
	// DismissLost says that the person knows of them.
	DismissLost struct{ Lost restarts.Lost }
	// Seen says that a thread was looked at up to a seq.
	Seen struct {
		Thread string
		Seq    int64
	}
	// Call is any other request. Name tells the Done of one from that of
	// another.
	Call struct {
		Name, Method string
		Params       any
	}
)

// Actions that the program carries out by itself.
type (
	// Open shows a thread.
	Open struct{ Thread string }
	// Back leaves the page.
	Back struct{}
	// Quit ends the dashboard.
	Quit struct{}
	// Copy puts a text on the clipboard.
	Copy struct{ Text string }
	// Next jumps to the next thread that waits for the person.
	Next struct{}
	// Follow has the events of a thread after a seq sent to the page, as
	// []client.Event, and a Below for each of the threads below it, until the page is
	// left.
	Follow struct {
		Thread string
		After  int64
	}
	// Work runs Do in a goroutine of its own and sends its value to the page:
	// for what takes longer than a frame, such as rendering Markdown.
	Work struct{ Do func() any }
	// Say shows a sentence in the status line.
	Say struct{ Text string }
)

func (Respond) action()     {}
func (Review) action()      {}
func (Start) action()       {}
func (StartThread) action() {}
func (Steer) action()       {}
func (Interrupt) action()   {}
func (Retry) action()       {}
func (Close) action()       {}
func (Wake) action()        {}
func (Rename) action()      {}
func (RetryLost) action()   {}
func (DismissLost) action() {}
func (Seen) action()        {}
func (Call) action()        {}
func (Open) action()        {}
func (Back) action()        {}
func (Quit) action()        {}
func (Copy) action()        {}
func (Next) action()        {}
func (Follow) action()      {}
func (Work) action()        {}
func (Say) action()         {}

// Messages that the program sends to a page, besides keys and pastes of bubbletea
// (tea.KeyPressMsg, tea.PasteMsg) and events (client.Event).
type (
	// Done is the end of an action that was a request. The program shows errors
	// in the status line, so a page only needs to put back what the person
	// typed.
	Done struct {
		Action Action
		Result json.RawMessage
		Err    error
	}
	// Retried is the result of RetryLost: how many turns are tried again, how many were
	// refused, and the first error.
	Retried struct {
		Again   int    `json:"again"`
		Refused int    `json:"refused"`
		Why     string `json:"why,omitzero"`
	}
	// Connection says that the connection to the server was lost or is back.
	Connection struct{ State client.State }
	// Below says that a thread below the one that is followed has begun, or its turn
	// has changed.
	Below struct{}
	// Tick says that time has passed: a page that shows durations is drawn
	// again.
	Tick struct{}
)
