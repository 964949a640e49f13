package agenttest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// Subject is an agent and what the suite must know about it.
type Subject struct {
	Agent turns.Agent
	Kind  string // Info().Kind
	Speak string // input that makes it emit text and complete
	Hold  string // input that makes it emit something and then stay busy
	Stop  time.Duration
}

// Exercise runs the suite that every agent must pass. s.Stop is how long the
// agent may take to return after it was cancelled.
func Exercise(t *testing.T, s Subject) {
	t.Run("InfoSaysWhatItIs", func(t *testing.T) {
		if info := s.Agent.Info(); info.Kind != s.Kind || info.Name == "" {
			t.Errorf("Info() = %+v, want kind %q and a name", info, s.Kind)
		}
	})
	t.Run("SpeaksAndFinishesWhatItBegan", func(t *testing.T) {
		sink := NewSink(t)
		out := sink.Run(t.Context(), s.Agent, turns.Prompt{}, s.Speak)
		completed(t, sink, out)
	})
	t.Run("AnswersSteeredTextLikeAnyPrompt", func(t *testing.T) {
		sink := NewSink(t)
		out := sink.Run(t.Context(), s.Agent, turns.Prompt{ThreadID: "thread_a", TurnID: "turn_a", Attempt: 1, Index: 3}, s.Speak)
		completed(t, sink, out)
	})
	t.Run("StopsWhenCancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sink := NewSink(t)
		go func() {
			sink.Wait(t.Context(), func() bool { return len(sink.Items()) > 0 })
			cancel()
		}()
		out := s.within(t, cancel, func() turns.Outcome { return sink.Run(ctx, s.Agent, turns.Prompt{}, s.Hold) })
		interrupted(t, out)
		if out.Unread {
			t.Errorf("outcome %+v, although it has spoken", out)
		}
	})
	t.Run("StopsWhenCancelledBeforeItBegan", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		sink := NewSink(t)
		out := s.within(t, cancel, func() turns.Outcome { return sink.Run(ctx, s.Agent, turns.Prompt{}, s.Speak) })
		interrupted(t, out)
		if n := len(sink.Items()); n > 0 {
			t.Errorf("made %d items although it was cancelled before", n)
		}
		if !out.Unread { // a turn that goes on would go on without its input
			t.Errorf("outcome %+v, want unread", out)
		}
	})
	t.Run("StopsWhileItsSinkIsFull", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sink := NewSink(t)
		sink.Hold = make(chan struct{})
		timer := time.AfterFunc(100*time.Millisecond, cancel)
		defer timer.Stop()
		out := s.within(t, cancel, func() turns.Outcome { return sink.Run(ctx, s.Agent, turns.Prompt{}, s.Hold) })
		interrupted(t, out)
	})
	t.Run("StopsWhenThePromptIsOver", func(t *testing.T) {
		sink := NewSink(t)
		sink.Over()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out := s.within(t, cancel, func() turns.Outcome { return sink.Run(ctx, s.Agent, turns.Prompt{}, s.Hold) })
		if out.State != turns.Interrupted {
			t.Errorf("outcome %+v, want interrupted", out)
		}
	})
	t.Run("RunsManyTurnsAtOnce", func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				sink := NewSink(t)
				id := fmt.Sprintf("turn_%d", i)
				completed(t, sink, sink.Run(t.Context(), s.Agent, turns.Prompt{ThreadID: "thread_b", TurnID: id, Attempt: 1}, s.Speak))
			})
		}
		wg.Wait()
	})
	t.Run("SurvivesAnyText", func(t *testing.T) {
		for _, text := range hostile {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			NewSink(t).Run(ctx, s.Agent, turns.Prompt{}, text)
			cancel()
		}
		NewSink(t).Run(t.Context(), s.Agent, turns.Prompt{}) // no input at all
	})
}

var hostile = []string{
	"", " ", "\n", "\r\n", "\x00", "/", "//", "/ /", "/\n/\n/", "\u2028", "\ufeff/say x", "/say\x00",
	strings.Repeat("a", 1<<20), strings.Repeat("é ", 1<<12), strings.Repeat("/x\n", 100), "$(exit 3)", "`kill $$`", "'\"\\",
	"-e", "{", `{"event":"result","state":"failed"}`, "[[[[", "\x1b[2J", "%s%n%d",
}

// within fails the test when run takes longer than Stop plus two seconds.
func (s Subject) within(t *testing.T, cancel func(), run func() turns.Outcome) turns.Outcome {
	t.Helper()
	done := make(chan turns.Outcome, 1)
	go func() { done <- run() }()
	limit := time.NewTimer(s.Stop + 2*time.Second)
	defer limit.Stop()
	select {
	case out := <-done:
		return out
	case <-limit.C:
		t.Errorf("still running %v after it should have stopped", s.Stop)
	}
	cancel()
	return <-done
}

func completed(t *testing.T, sink *Sink, out turns.Outcome) {
	t.Helper()
	if out.State != "" && out.State != turns.Completed {
		t.Errorf("outcome %+v (%+v), want completed", out, out.Failure)
	}
	if len(sink.Items()) == 0 {
		t.Error("said nothing")
	}
	if open := sink.Open(); len(open) > 0 {
		t.Errorf("left open: %+v", open)
	}
}

func interrupted(t *testing.T, out turns.Outcome) {
	t.Helper()
	if out.State != turns.Interrupted {
		t.Errorf("outcome %+v (%+v), want interrupted", out, out.Failure)
	}
}
