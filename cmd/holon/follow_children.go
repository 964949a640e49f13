package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// childFeed follows child turns of some owner, and theirs: it finds them by the first
// events of all turns, and follows only the threads in which they run. One goroutine
// uses it. A nil one follows nothing.
type childFeed struct {
	ctx    context.Context
	client *client.Client
	owns   func(parentThread, parentTurn string) bool // whether that owner is one of the first level

	apart   []string // threads whose events are shown anyway
	summary bool     // own brings summaries
	whole   []string // but of these threads not

	found *feed             // the first events of all turns
	own   *feed             // of the threads of child turns; nil if there are none
	names map[string]string // of child turns
	seen  map[string]int64  // the newest event that was taken, by thread of a child turn
}

var (
	foundEvents = []string{notify.TurnQueued, notify.TurnStarted}
	childEvents = []string{"turn/*", notify.ItemCreated, notify.ItemUpdated, notify.ItemDeleted}
)

// startChildFeed starts a childFeed after a seq; nil = from now on. The caller must
// call end.
func startChildFeed(ctx context.Context, c *client.Client, after *int64, owns func(parentThread, parentTurn string) bool) *childFeed {
	return &childFeed{
		ctx: ctx, client: c, owns: owns, names: map[string]string{}, seen: map[string]int64{},
		found: startFeed(ctx, c, client.Options{AfterSeq: after, Methods: foundEvents, RetryFirst: true}),
	}
}

// items returns the channels that bring events: of all turns, and of child turns.
func (f *childFeed) items() (found, own <-chan feedItem) {
	if f == nil {
		return nil, nil
	}
	if f.found != nil {
		found = f.found.items
	}
	if f.own != nil {
		own = f.own.items
	}
	return found, own
}

// end ends the feeds.
func (f *childFeed) end() {
	if f == nil {
		return
	}
	for _, feed := range []*feed{f.found, f.own} {
		if feed != nil {
			feed.end()
		}
	}
}

// ended follows the end of one of the channels: child turns are no longer shown, and the
// owner's turn is followed alone.
func (f *childFeed) ended(found bool) {
	if found {
		f.found = nil
	} else {
		f.own = nil
	}
}

// take returns the event if it is one of a child turn that has not been taken before.
func (f *childFeed) take(item feedItem, found bool) (event client.Event, ok bool) {
	e := item.event
	seen := f.seen[e.ThreadID]
	switch {
	case item.state != nil || e.TurnID == "":
		return e, false
	case found && (seen > 0 || slices.Contains(f.apart, e.ThreadID)):
		return e, false // the other feed brings all events of the thread, in their order
	case e.Seq <= seen:
		return e, false // from before a new start of the feed
	}
	if f.names[e.TurnID] == "" && !f.discover(e) {
		return e, false
	}
	if f.seen[e.ThreadID] = e.Seq; seen == 0 {
		f.follow()
	}
	return e, true
}

// discover reports whether the event is the first one of a child turn.
func (f *childFeed) discover(e client.Event) bool {
	if !slices.Contains(foundEvents, e.Method) {
		return false
	}
	var p struct {
		Parent struct {
			ThreadID string `json:"thread_id"`
			TurnID   string `json:"turn_id"`
		} `json:"parent"`
		Policy turns.AttentionPolicy `json:"attention_policy"`
		Title  string                `json:"title"`
	}
	if json.Unmarshal(e.Params, &p) != nil || p.Policy == "" || f.names[p.Parent.TurnID] == "" && !f.owns(p.Parent.ThreadID, p.Parent.TurnID) {
		return false
	}
	f.names[e.TurnID] = p.Title
	if p.Title == "" {
		f.names[e.TurnID] = e.ThreadID
	}
	return true
}

// follow starts the feed of child turns anew, because they run in another thread too.
func (f *childFeed) follow() {
	if f.own != nil {
		f.own.end()
	}
	after := slices.Min(slices.Collect(maps.Values(f.seen)))
	f.own = startFeed(f.ctx, f.client, client.Options{
		AfterSeq: &after, ThreadIDs: slices.Sorted(maps.Keys(f.seen)), Methods: childEvents, Summary: f.summary, WholeThreadIDs: f.whole, RetryFirst: true,
	})
}

// ends returns the positions of the ends that child turns of a turn, and theirs, have had by
// now, by thread. It asks the server: an event that is on its way is not known yet. after
// is where the feed began. What cannot be asked is left out.
func (f *childFeed) ends(threadID, turnID string, after int64) map[string]int64 {
	ctx, cancel := context.WithTimeout(f.ctx, lateChildren)
	defer cancel()
	ends, of := map[string]int64{}, map[string]bool{turnID: true}
	for asked, next := 0, []string{threadID}; len(next) > 0 && asked < turns.MaxUnendedBelow; asked++ {
		var list struct {
			Turns []turns.Turn `json:"turns"`
		}
		parent := next[0]
		next = next[1:]
		if f.client.Call(ctx, "turn/list", map[string]any{"parent_thread_id": parent, "order": "desc"}, &list) != nil {
			continue
		}
		for _, t := range list.Turns {
			if t.Parent == nil || !of[t.Parent.TurnID] {
				continue
			}
			of[t.TurnID] = true
			if !slices.Contains(next, t.ThreadID) {
				next = append(next, t.ThreadID)
			}
			if t.State.Ended() && t.CreatedSeq > after {
				ends[t.ThreadID] = max(ends[t.ThreadID], t.AcceptedSeq)
			}
		}
	}
	return ends
}

// reached reports whether the feed has brought these positions.
func (f *childFeed) reached(ends map[string]int64) bool {
	for threadID, seq := range ends {
		if f.seen[threadID] < seq {
			return false
		}
	}
	return true
}

// show shows an event of a child turn in the timeline of its owner.
func (f *childFeed) show(view viewer, item feedItem, open, found bool) error {
	if !open {
		f.ended(found)
		return nil
	}
	event, ok := f.take(item, found)
	v, drawn := view.(*timeline.Renderer)
	if !ok || !drawn {
		return nil
	}
	return v.Child(event)
}
