package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/turns"
)

// stopped is the result of holon stop.
type stopped struct {
	Data   string    `json:"data"`
	PID    int       `json:"pid"`
	TookMs int64     `json:"took_ms"`
	Paused bool      `json:"paused"` // the next start stays paused
	Cut    []cutTurn `json:"cut"`

	until notify.Time // of the pause; zero = it has no end
}

// cutTurn is a turn that ran and could not end. State is interrupted or failed; or active,
// and then the next start retries it or ends it, as its policy says.
type cutTurn struct {
	TurnID   string      `json:"turn_id"`
	ThreadID string      `json:"thread_id"`
	Title    string      `json:"title,omitzero"`
	State    turns.State `json:"state"`
	retried  bool        // the stop has given its attempt up, and another one follows

	onCrash turns.OnCrash // its policy; "" = not known
}

// outcome describes what has become of the turn, or will.
func (t *cutTurn) outcome() string {
	switch {
	case t.retried:
		return "given up; the next start tries it again"
	case t.State == turns.Failed:
		return "failed"
	case t.State.Ended():
		return "interrupted"
	case t.onCrash == turns.CrashInterrupt:
		return "the next start ends it"
	case t.onCrash == turns.CrashRetry:
		return "the next start tries it again, if it has attempts left"
	}
	return "the next start ends it, or tries it again if the retry policy of its agent says so"
}

// onCrash returns the policy of a turn, as far as the turn and the configuration here say it; "" =
// its agent is not configured here. The built-in echo has none.
func onCrash(t *turns.Turn, agent string, agents map[string]config.Agent) turns.OnCrash {
	if t.Retry != nil && t.Retry.OnCrash != "" {
		return t.Retry.OnCrash
	}
	a, configured := agents[agent]
	switch {
	case configured:
		return cmp.Or(turns.OnCrash(a.Retry.OnCrash), turns.CrashInterrupt)
	case agent == config.KindEcho:
		return turns.CrashInterrupt
	}
	return ""
}

// report prints what the stop has cut. The log says it: no server can be asked any more.
func (s *stopping) report(took time.Duration) error {
	c := s.caller
	r := stopped{Data: s.server.Data, PID: s.server.PID, TookMs: took.Milliseconds(), Cut: []cutTurn{}}
	if err := r.read(s); err != nil {
		c.note("The server has ended, but its log cannot be read: %s", timeline.OneLine(err.Error()))
	}
	if c.format != "text" {
		return c.printJSON(r, c.format == "json")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "stopped: process %d on %s, after %s\n", r.PID, r.Data, timeline.Elapsed(took))
	for _, t := range r.Cut {
		fmt.Fprintf(&b, "cut short: %s: %s\n", s.name(t.TurnID, t.ThreadID, t.Title), t.outcome())
	}
	if err := c.printText(b.String(), nil); err != nil {
		return err
	}
	if r.Paused {
		how := "stays paused"
		if !r.until.IsZero() {
			how = "is paused until " + whenAt(r.until)
		}
		c.note("The next start %s. End the pause with: holon resume", how)
	}
	return nil
}

// read reads what became of the turns that ran, and of the pause.
func (r *stopped) read(s *stopping) error {
	reader, err := sqlite.OpenReader(r.Data)
	if err != nil {
		return err
	}
	defer reader.Close()
	ctx := s.caller.ctx
	runtime, err := reader.Runtime(ctx)
	if err != nil {
		return err
	}
	r.until = runtime.Until
	r.Paused = runtime.Paused && !runtime.ToStop() && (r.until.IsZero() || r.until.After(time.Now()))
	for _, seen := range slices.Concat(s.running, s.asking) {
		t, err := reader.Turn(ctx, seen.TurnID)
		if err != nil {
			return err
		}
		if t == nil || !cutShort(t) {
			continue
		}
		cut := cutTurn{TurnID: t.TurnID, ThreadID: t.ThreadID, Title: t.Title, State: t.State, retried: !t.RetryAt.IsZero()}
		if !t.State.Ended() {
			of, err := reader.ReadThread(ctx, t.ThreadID, 1)
			if err != nil {
				return err
			}
			cut.onCrash = onCrash(t, of.Thread.Agent, s.agents)
		}
		r.Cut = append(r.Cut, cut)
	}
	return nil
}

// cutShort reports whether a turn that ran, or whose agent cannot go on with its question,
// has ended by the stop, or has not ended. One that waits goes on after the next start.
func cutShort(t *turns.Turn) bool {
	if t.State.Ended() {
		return t.Reason == turns.ServerStopping
	}
	return !t.WaitsForChildren() && !(t.WaitsForPerson() && t.Resumable)
}
