package restarts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// pages answers turn/list with pages of turns, and cursor/read with a position.
type pages struct {
	turns  [][]turns.Turn
	after  []any // what the lists asked for
	repeat bool  // each page names the same position of the next
}

func (p *pages) Call(_ context.Context, method string, params, result any) error {
	answer := map[string]any{"cursor": map[string]any{"last_sequence": 7}}
	if method == "turn/list" {
		asked := params.(map[string]any)
		p.after = append(p.after, asked["after_seq"])
		answer = map[string]any{"turns": p.turns[0]}
		if p.turns = p.turns[1:]; len(p.turns) > 0 {
			answer["next_cursor"] = fmt.Sprint(len(p.turns))
			if p.repeat {
				answer["next_cursor"] = "9"
			}
		}
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, result)
}

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func ended(id string, seq int64, at time.Time) turns.Turn {
	return turns.Turn{TurnID: id, CreatedSeq: seq, RestartSeq: 100 + seq, State: turns.Interrupted, CompletedAt: notify.TimeOf(at)}
}

func TestEveryPageIsRead(t *testing.T) {
	p := &pages{turns: [][]turns.Turn{{ended("a", 1, noon)}, {}, {ended("b", 2, noon)}}}
	lost, err := Read(context.Background(), p, "seen:owner")
	if err != nil || len(lost.Turns) != 2 || lost.More || !slices.Equal(p.after, []any{int64(7), int64(7), int64(7)}) {
		t.Errorf("%+v, %v, asked for %v", lost, err, p.after)
	}
	method, params := lost.Dismissal("seen:owner")
	if method != "cursor/advance" || fmt.Sprint(params) != "map[consumer_id:seen:owner last_sequence:102 stream_name:restarts]" {
		t.Errorf("%s %v", method, params)
	}
}

func TestAListThatRepeatsItsPositionEnds(t *testing.T) {
	p := &pages{turns: [][]turns.Turn{{ended("a", 1, noon)}, {}, {}, {}}, repeat: true}
	if _, err := Read(context.Background(), p, "seen:owner"); err == nil || len(p.after) != 2 {
		t.Errorf("%v after %d requests", err, len(p.after))
	}
}

// A server that does not know the filter lists all turns: none of them was lost, as far as
// is known, and none may be retried.
func TestAnOlderServerHasLostNothing(t *testing.T) {
	p := &pages{turns: [][]turns.Turn{{{TurnID: "a", State: turns.Completed}}, {}}}
	if lost, err := Read(context.Background(), p, "seen:owner"); err != nil || len(lost.Turns) != 0 || len(p.after) != 1 {
		t.Errorf("%+v, %v, %d lists", lost, err, len(p.after))
	}
}

func TestWhatWasLostIsSaidInALine(t *testing.T) {
	early, late := noon.Add(-3*time.Hour), noon.Add(-14*time.Hour)
	for want, l := range map[string]Lost{
		"":                                       {},
		"1 turn ended with the restart at 09:00": {Turns: []turns.Turn{ended("a", 1, early)}},
		"2 turns ended with the restart at 09:00":                  {Turns: []turns.Turn{ended("a", 1, late), ended("b", 2, early)}},
		"1 turn ended with the restart of 24 Nov 22:00":            {Turns: []turns.Turn{ended("a", 1, late)}},
		"more than 2 turns ended with the restart of 24 Nov 22:00": {Turns: []turns.Turn{ended("a", 1, late), ended("b", 2, late)}, More: true},
	} {
		if got := l.Says(noon); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Owners are retried before their children, which are left to them, and to those of their
// own. The child of an owner that is refused is retried itself.
func TestChildrenAreLeftToOwnersThatAreRetried(t *testing.T) {
	child := func(id, owner string, seq int64) turns.Turn {
		c := ended(id, seq, noon)
		c.Parent, c.AttentionPolicy = &threads.Parent{ThreadID: "t", TurnID: owner}, turns.Blocking
		return c
	}
	note := ended("note", 9, noon) // works for nobody, whatever its parent says
	note.Parent = &threads.Parent{ThreadID: "t", TurnID: "owner"}
	l := Lost{Turns: []turns.Turn{child("below", "child", 6), child("child", "owner", 5), ended("owner", 2, noon), ended("closed", 3, noon), child("orphan", "closed", 4), note}}
	var tried []string
	do := func(x *turns.Turn, params map[string]any) error {
		tried = append(tried, x.TurnID)
		if params["turn_id"] != x.TurnID || params["idempotency_key"] != fmt.Sprintf("restart-%s-%d", x.TurnID, x.RestartSeq) {
			t.Errorf("params of %s: %v", x.TurnID, params)
		}
		if x.TurnID == "closed" {
			return errors.New("refused")
		}
		return nil
	}
	var left []string
	for _, x := range l.Retry(context.Background(), do) {
		left = append(left, x.TurnID)
	}
	if !slices.Equal(tried, []string{"owner", "closed", "orphan", "note"}) || !slices.Equal(left, []string{"child", "below"}) {
		t.Errorf("tried %v, left %v", tried, left)
	}
	tried = nil
	ctx, cancel := context.WithCancel(context.Background())
	l.Retry(ctx, func(x *turns.Turn, params map[string]any) error { cancel(); return do(x, params) })
	if len(tried) != 1 {
		t.Errorf("after the end of the context %v were tried", tried)
	}
}
