package client

import (
	"context"

	"github.com/seed82539d15/holon/notify/fold"
)

// Fold reads the event for a fold.View. The error says that the params do not
// have the form of this protocol; the members of the head are set even then.
func (e Event) Fold() (fold.Event, error) { return fold.Parse(e.Method, e.Params) }

// Follow works like Run, with the events folded into view: each is delivered with its
// change to the view. With a marker (fold.Rewound), Change.Superseded lists the
// delivered events that it supersedes. Events that do not change the view
// (fold.Superseded, fold.Late) are delivered too, so that they can be shown
// apart. An event that the fold cannot read comes with the zero Change.
//
// The view belongs to the caller, who may read it in handle and after Follow
// has returned. After a restart of the program, continue with the same view, or
// read again from a seq before the turns that matter: a view knows only the
// events it has read.
func (s *Subscription) Follow(ctx context.Context, view *fold.View, handle func(Event, fold.Change) error) error {
	return s.Run(ctx, func(event Event) error {
		e, err := event.Fold()
		if err != nil {
			return handle(event, fold.Change{})
		}
		return handle(event, view.Apply(&e))
	})
}
