package client

import (
	"context"

	"github.com/seed82539d15/holon/notify/fold"
)

// Fold reads the event as a fold.View takes it. The error is of params of
// another shape than this protocol's; what the head says is there even then.
func (e Event) Fold() (fold.Event, error) { return fold.Parse(e.Method, e.Params) }

// Follow is Run with the events folded into view: each is handed over with
// what it did to the view. A marker (fold.Rewound) says in TakenBack which of
// the events that were handed over stand no longer; what joins nothing
// (fold.Superseded, fold.Late) comes too, so that it can be shown apart. An
// event that the fold cannot read comes with the zero Change.
//
// The view belongs to the caller, who may look at it in handle and after
// Follow has returned. After a restart of the program go on with the same
// view, or read anew from a place before the turns that matter: a view knows
// only of what it has read.
func (s *Subscription) Follow(ctx context.Context, view *fold.View, handle func(Event, fold.Change) error) error {
	return s.Run(ctx, func(event Event) error {
		e, err := event.Fold()
		if err != nil {
			return handle(event, fold.Change{})
		}
		return handle(event, view.Apply(&e))
	})
}
