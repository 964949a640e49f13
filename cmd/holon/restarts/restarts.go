// Package restarts is what a person is told of turns that ended with a restart of the
// server: how many there are, how they are all retried, and how one says that they are
// known. The command and the dashboard use it; its callers choose the goroutine.
package restarts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// Bounds of what is read: more turns than a server runs at once.
const (
	pageRows = 200
	maxTurns = 2000
)

// Caller calls a method of the server; *client.Client is one.
type Caller interface {
	Call(ctx context.Context, method string, params, result any) error
}

// None says that there is nothing to retry or to dismiss.
const None = "No turn that a restart cut off is left to retry or dismiss."

// Lost are the turns that ended with a restart, that nobody has gone on with, and that the
// person has not dismissed, in the order of their ends. More says that there are more.
type Lost struct {
	Turns []turns.Turn
	More  bool
}

// Read reads what the consumer, such as seen:owner, has not dismissed.
func Read(ctx context.Context, server Caller, consumer string) (lost Lost, err error) {
	var known struct {
		Cursor struct {
			LastSequence int64 `json:"last_sequence"`
		} `json:"cursor"`
	}
	if err := server.Call(ctx, "cursor/read", cursorOf(consumer), &known); err != nil {
		return lost, err
	}
	params := map[string]any{"ended_by": turns.EndedByRestart, "after_seq": known.Cursor.LastSequence, "limit": pageRows}
	for pages := (client.Pages{}); ; {
		var page struct {
			Turns []turns.Turn `json:"turns"`
			Next  string       `json:"next_cursor"`
		}
		if err := server.Call(ctx, "turn/list", params, &page); err != nil {
			return lost, err
		}
		for _, t := range page.Turns {
			if t.RestartSeq == 0 { // the server is older than the filter, and lists all turns
				return Lost{}, nil
			}
			lost.Turns = append(lost.Turns, t)
		}
		switch more, err := pages.Follow(page.Next); {
		case err != nil || !more:
			return lost, err
		case len(lost.Turns) >= maxTurns:
			lost.More = true
			return lost, nil
		}
		params["cursor"] = page.Next
	}
}

// Says describes in a few words what has ended; "" if nothing has.
func (l Lost) Says(now time.Time) string {
	if len(l.Turns) == 0 {
		return ""
	}
	count := fmt.Sprintf("%d turns", len(l.Turns))
	if len(l.Turns) == 1 {
		count = "1 turn"
	} else if l.More {
		count = "more than " + count
	}
	at := l.Turns[len(l.Turns)-1].CompletedAt.In(now.Location())
	when := "at " + at.Format("15:04")
	if at.Format(time.DateOnly) != now.Format(time.DateOnly) {
		when = "of " + at.Format("2 Jan 15:04")
	}
	return count + " ended with the restart " + when
}

// Dismissal returns the method and the params that say that the person knows of them.
func (l Lost) Dismissal(consumer string) (method string, params map[string]any) {
	params = cursorOf(consumer)
	params["last_sequence"] = l.Turns[len(l.Turns)-1].RestartSeq
	return "cursor/advance", params
}

// Known reports whether a dismissal was refused because more is known already.
func Known(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Reason == "not_monotonic"
}

func cursorOf(consumer string) map[string]any {
	return map[string]any{"consumer_id": consumer, "stream_name": cursors.StreamRestarts}
}

// Retry calls do with each turn that is to be retried, and the params of its turn/retry,
// one after the other; an error of do does not end it, but that of ctx does. The key is made
// of the end, so that it is retried once, whoever repeats the request. Owners come first. A
// child turn whose owner is retried is left to it: its agent starts what it needs.
func (l Lost) Retry(ctx context.Context, do func(t *turns.Turn, params map[string]any) error) (left []*turns.Turn) {
	list := make([]*turns.Turn, len(l.Turns))
	for i := range l.Turns {
		list[i] = &l.Turns[i]
	}
	slices.SortFunc(list, func(a, b *turns.Turn) int { return cmp.Compare(a.CreatedSeq, b.CreatedSeq) })
	again := make(map[string]bool)
	for _, t := range list {
		switch {
		case ctx.Err() != nil:
			return left
		case t.IsChild() && t.Parent != nil && again[t.Parent.TurnID]:
			left = append(left, t)
			again[t.TurnID] = true
		default:
			params := map[string]any{"turn_id": t.TurnID, "idempotency_key": fmt.Sprintf("restart-%s-%d", t.TurnID, t.RestartSeq)}
			again[t.TurnID] = do(t, params) == nil
		}
	}
	return left
}
