package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// service is an agent whose Serve the test controls.
type service struct {
	agentFunc
	info  turns.AgentInfo
	serve func(context.Context, turns.Host) error
}

func (s *service) Info() turns.AgentInfo {
	i := s.info
	i.Name, i.Kind = s.name, "service"
	return i
}

func (s *service) Serve(ctx context.Context, host turns.Host) error { return s.serve(ctx, host) }

func TestServiceLivesLongerThanEveryTurn(t *testing.T) {
	var host turns.Host
	served, ended := make(chan struct{}), make(chan struct{})
	s := &service{agentFunc: agentFunc{"served", func(ctx context.Context, _ *turns.Prompt) turns.Outcome {
		<-ctx.Done()
		time.Sleep(time.Second) // its process is still needed
		select {
		case <-ended:
			t.Error("the service ended before the turn")
		default:
		}
		return turns.Outcome{State: turns.Interrupted}
	}}}
	s.serve = func(ctx context.Context, h turns.Host) error {
		host = h
		close(served)
		<-ctx.Done()
		close(ended)
		return nil
	}
	bubble(t, setup{agents: []turns.Agent{s}}, func(h *harness) {
		<-served
		h.thread("a", "served")
		h.start("a")
		one := said("outside")
		if err := host.Emit(bg, "a", []items.Op{one}); err != nil {
			t.Fatal(err)
		}
		h.event(notify.ItemCreated, ofItem(one.ItemID))
		list, err := host.Transcript(bg, "a", 1<<20)
		if err != nil || len(list) != 2 || list[0].Type != items.KindUserMessage || list[1].ItemID != one.ItemID {
			t.Errorf("transcript: %+v, %v", list, err)
		}
		if i := h.engine.Agents(); i[len(i)-1].Name != "served" || i[len(i)-1].State != turns.AgentReady || i[0].State != turns.AgentReady {
			t.Errorf("agents: %+v", i)
		}
		h.stopEngine()
		<-ended
	})
}

func TestServiceThatFailsIsShownAndNothingElseEnds(t *testing.T) {
	for name, serve := range map[string]func(context.Context, turns.Host) error{
		"error": func(context.Context, turns.Host) error { return errors.New("no such command") },
		"panic": func(context.Context, turns.Host) error { panic("no such command") },
	} {
		t.Run(name, func(t *testing.T) {
			s := &service{agentFunc: agentFunc{"served", func(context.Context, *turns.Prompt) turns.Outcome { return turns.Outcome{} }}, serve: serve}
			bubble(t, setup{agents: []turns.Agent{s}}, func(h *harness) {
				synctest.Wait()
				if i := h.engine.Agents()[len(h.engine.Agents())-1]; i.State != turns.AgentFailed || i.LastError == "" {
					t.Errorf("agent: %+v", i)
				}
				h.thread("a", "served")
				if e := h.ended(h.start("a").TurnID); e.Method != notify.TurnCompleted {
					t.Errorf("ended: %s", e)
				}
			})
		})
	}
}

func TestServiceThatDoesNotEndIsLeftAlone(t *testing.T) {
	s := &service{agentFunc: agentFunc{"served", nil}, serve: func(context.Context, turns.Host) error {
		time.Sleep(time.Hour)
		return nil
	}}
	bubble(t, setup{agents: []turns.Agent{s}}, func(h *harness) {
		began := time.Now()
		h.stopEngine()
		if d := time.Since(began); d != engine.StopServicesWithin {
			t.Errorf("the engine ended after %v", d)
		}
		time.Sleep(time.Hour) // a bubble's time ends with its test
	})
}
