package acp_test

import (
	"fmt"
	"testing"

	"github.com/seed82539d15/holon/agents/acp"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// calls is a call of an owner's agent that waits for a child turn.
func (s *server) calls(owner, child string) <-chan turns.AwaitResult {
	out := make(chan turns.AwaitResult, 1)
	go func() {
		r, sent, err := s.engine.Children().Await(s.t.Context(), turns.Await{OwnerThreadID: owner, TurnIDs: []string{child}}, owner)
		if err != nil {
			s.t.Error(err)
		}
		if sent != nil {
			sent(true)
		}
		out <- r
	}()
	return out
}

// child starts a turn of a child thread.
func (s *server) child(owner, thread, text string) (turn string) {
	s.t.Helper()
	parent := &threads.Parent{ThreadID: owner}
	if _, err := s.engine.StartThread(s.t.Context(), turns.StartThread{ThreadID: thread, Agent: "agent", Parent: parent}); err != nil {
		s.t.Fatal(err)
	}
	r, err := s.engine.Start(s.t.Context(), turns.Start{ThreadID: thread, Parent: parent, Background: true, Input: input(text)})
	if err != nil {
		s.t.Fatal(err)
	}
	return r.TurnID
}

// Two slots, and two owners that wait for children which wait for children of their own.
func TestOwnersDoNotKeepTheirChildrenFromStarting(t *testing.T) {
	room := acp.NewRoom(2)
	s := serve(t, t.TempDir(), "state="+t.TempDir()+"/s", func(c *acp.Config) { c.ProcessPerThread, c.Room = true, room })
	const works = "say on\nwait"
	var tops, mids, lows []string
	var answers []<-chan turns.AwaitResult
	for i := range 2 {
		tops = append(tops, s.start(fmt.Sprint("top", i), works))
		s.item(tops[i], items.KindAgentMessage)
	}
	for i := range tops {
		mids = append(mids, s.child(fmt.Sprint("top", i), fmt.Sprint("mid", i), works))
		answers = append(answers, s.calls(fmt.Sprint("top", i), mids[i]))
	}
	for i := range mids {
		s.item(mids[i], items.KindAgentMessage)
		lows = append(lows, s.child(fmt.Sprint("mid", i), fmt.Sprint("low", i), "say done"))
		answers = append(answers, s.calls(fmt.Sprint("mid", i), lows[i]))
	}
	for _, turn := range lows {
		if end := s.end(turn); end.Method != notify.TurnCompleted {
			t.Errorf("%+v", end)
		}
	}
	for i, turn := range append(mids, tops...) {
		<-answers[(i+2)%4] // the lows' first: then their owners go on
		s.interrupt(turn)
		s.end(turn)
	}
	// Whatever happened, all is as before.
	for i := range 3 {
		s.end(s.start(fmt.Sprint("after", i), "say it"))
	}
	if n := s.processes(); n > 2 {
		t.Errorf("%d processes", n)
	}
}

// processes is how many the agent has.
func (s *server) processes() int {
	for _, a := range s.engine.Agents() {
		if a.Name == "agent" {
			return a.Processes
		}
	}
	return 0
}
