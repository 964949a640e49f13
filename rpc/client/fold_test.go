package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify/fold"
)

// retriedLine is the event of a seq in a log where a turn is tried twice.
func retriedLine(seq int) string {
	event := func(method, rest string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"seq":%d,"thread_seq":%d,"thread_id":"thread_a","turn_id":"turn_1",%s}}`, method, seq, seq, rest)
	}
	lineage := func(epoch int) string {
		return fmt.Sprintf(`"attempt":%d,"step":"","epoch":%d,"lineage":[{"step":"","epoch":%d}]`, epoch, epoch, epoch)
	}
	message := func(epoch int, text string) string {
		return lineage(epoch) + fmt.Sprintf(`,"item_id":"item_%d","type":"created","status":"completed","content":{"type":"agent_message","content":[{"type":"output_text","text":%q}]}`, seq, text)
	}
	switch seq {
	case 1:
		return event("turn/started", lineage(1)+`,"type":"started","origin":"client"`)
	case 2:
		return event("item/created", message(1, "half of"))
	case 3:
		return event("stream/rewind", `"type":"rewind","step":"","new_epoch":2,"superseded_after_seq":0,"reason":"agent_crash"`)
	case 4:
		return event("turn/started", lineage(2)+`,"type":"started","origin":"retry"`)
	case 5:
		return event("turn/late", `"attempt":1,"type":"late","step":"","epoch":1,"event":{"method":"item/delta","params":{}}`)
	case 6:
		return event("item/created", `"lineage":7`)
	case 7:
		return event("item/created", message(2, "all of it"))
	}
	return event("turn/completed", lineage(2)+`,"type":"completed"`)
}

func TestFollowKeepsTheLiveViewHoweverOftenItReconnects(t *testing.T) {
	kinds := []fold.Kind{fold.Joined, fold.Joined, fold.Rewound, fold.Joined, fold.Late, fold.Skipped, fold.Joined, fold.Joined}
	for cut := range 6 {
		log := &fakeLog{logID: "log", events: 8, heartbeat: 15, line: retriedLine, spoil: func(n int, s *fakeStream) {
			s.repeat = n%2 == 0
			if cut > 0 {
				s.cutAt = 450*cut + 70*n
			}
		}}
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		from := int64(0)
		view := fold.New(fold.Options{})
		subscription := log.start(t).Subscribe(Options{AfterSeq: &from, RetryFirst: true, Backoff: Backoff{First: time.Millisecond, Max: 2 * time.Millisecond}})
		var got []fold.Kind
		err := subscription.Follow(ctx, view, func(event Event, change fold.Change) error {
			got = append(got, change.Kind)
			if change.Kind == fold.Rewound && fmt.Sprint(change.Superseded) != "[{1 turn/started } {2 item/created item_2}]" {
				t.Errorf("superseded: %v", change.Superseded)
			}
			if event.Seq == 8 {
				return errDone
			}
			return nil
		})
		if !errors.Is(err, errDone) {
			t.Fatal(err)
		}
		if !slices.Equal(got, kinds) {
			t.Errorf("cut %d: %v, want %v", cut, got, kinds)
		}
		if cut == 1 && log.streams < 3 {
			t.Errorf("only %d streams: the connections were not cut", log.streams)
		}
		turn := view.Turn("turn_1")
		items := turn.Items()
		if turn.State != "completed" || turn.Origin != "retry" || turn.Attempt != 2 || len(items) != 1 || len(turn.Superseded()) != 1 {
			t.Fatalf("cut %d: %+v", cut, turn)
		}
		if text, _ := items[0].Text(); text != "all of it" {
			t.Errorf("cut %d: the text is %q", cut, text)
		}
	}
}

func TestCollapsedStreamsMayLeaveEventsOut(t *testing.T) {
	log := &fakeLog{logID: "log", events: 10, heartbeat: 15, spoil: func(n int, s *fakeStream) {
		s.skip, s.asOf = 4, 10
		if n == 1 {
			s.latest, s.closing = 4, `{"code":"draining","reconnect":true,"retry_after_ms":1,"seq":4}`
		}
	}}
	from := int64(0)
	var states []State
	seqs, err := collect(t, log.start(t), Options{AfterSeq: &from, Collapse: true, OnState: func(s State) { states = append(states, s) }}, 10)
	if !errors.Is(err, errDone) {
		t.Fatal(err)
	}
	if want := []int64{1, 2, 3, 5, 6, 7, 8, 9, 10}; !slices.Equal(seqs, want) {
		t.Errorf("seqs %v, want %v", seqs, want)
	}
	if got := fmt.Sprint(log.cursors, log.collapse); got != "[0 log:4] [superseded superseded]" {
		t.Errorf("asked for %s", got)
	}
	if states[0].AsOfSeq != 10 {
		t.Errorf("as of %d", states[0].AsOfSeq)
	}
}
