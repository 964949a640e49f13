package api

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/tokens"
)

// Whoever can make further tokens, or start further agents, has one share with all of
// them: of idempotency keys, and of the requests that wait.
func TestRequestersShareWithWhatTheyCanMake(t *testing.T) {
	a, _, e := newFamily(t)
	a.Children = e
	token := func(c Token) context.Context {
		c.Role = operate
		return WithToken(context.Background(), c)
	}
	agent := func(thread string) context.Context {
		return WithAgent(context.Background(), tokens.Agent{ThreadID: thread})
	}
	for name, c := range map[string]struct {
		ctx    context.Context
		thread string
		want   ledger.Requester
	}{
		"the owner":                  {context.Background(), "own", ""},
		"a page of the owner":        {token(Token{Name: "owner.console-1", Parent: "owner"}), "own", ""},
		"a token":                    {token(Token{Name: "phone"}), "own", "token:phone"},
		"a page of the token":        {token(Token{Name: "phone.console-1", Parent: "phone"}), "own", "token:phone"},
		"an agent":                   {agent("own"), "own", "agent:root"},
		"an agent below it":          {agent("child"), "child", "agent:root"},
		"an agent at the root":       {agent("root"), "root", "agent:root"},
		"an agent of no child":       {agent("stranger"), "stranger", "agent:stranger"},
		"an agent from before trees": {agent("legacy"), "legacy", "agent:legacy"},
	} {
		e.requesters = nil
		below := map[string]string{"own": "child", "child": "grandchild", "root": "parent"}[c.thread]
		requests := []string{fmt.Sprintf(`turn/await {"owner_thread_id":%q}`, c.thread)}
		if below != "" {
			requests = append(requests, fmt.Sprintf(`turn/start {"thread_id":%q,"parent":{"thread_id":%q},"wait_seconds":1,"idempotency_key":"k",%s}`, below, c.thread, asked))
		}
		for _, request := range requests {
			rep, _ := a.Call(c.ctx, request[:10], jsontext.Value(request[11:]), Call{OnConnection: true})
			if rep.Err == nil && rep.Later != nil {
				rep = rep.Later(c.ctx)
			}
			if rep.Err != nil {
				t.Errorf("%s: %s: %v", name, request, rep.Err)
			}
		}
		if want := map[bool]int{true: 1, false: 3}[below == ""]; len(e.requesters) != want {
			t.Errorf("%s: %d shares in %v, want %d", name, len(e.requesters), requests, want)
		}
		for _, got := range e.requesters {
			if got != c.want {
				t.Errorf("%s counts as %q, want %q", name, got, c.want)
			}
		}
	}
}

// cursorShares and subscriptionShares note in whose share something new counts.
type cursorShares struct {
	Cursors
	of []ledger.Requester
}

func (s *cursorShares) Advance(_ context.Context, c cursors.Advance) (cursors.Result, error) {
	s.of = append(s.of, c.Requester)
	return cursors.Result{}, nil
}

func (s *cursorShares) RecordError(_ context.Context, c cursors.RecordError) (cursors.Result, error) {
	s.of = append(s.of, c.Requester)
	return cursors.Result{}, nil
}

// deliveries is Deliveries, which has a method of that name.
type deliveries = Deliveries

type subscriptionShares struct {
	deliveries
	of []ledger.Requester
}

func (s *subscriptionShares) SubscriptionCreate(_ context.Context, c bridges.CreateSubscription) (bridges.SubscriptionResult, error) {
	s.of = append(s.of, c.Requester)
	return bridges.SubscriptionResult{}, nil
}

// Cursors and subscriptions count in the share of the token that makes them, those of its
// pages too.
func TestCursorsAndSubscriptionsHaveARequester(t *testing.T) {
	a, _, _ := newFamily(t)
	made, sends := &cursorShares{}, &subscriptionShares{}
	a.Cursors, a.Deliveries = made, sends
	for _, c := range []struct {
		name string
		ctx  context.Context
		want ledger.Requester
	}{
		{"the owner", context.Background(), ""},
		{"a token", WithToken(context.Background(), Token{Name: "phone", Role: operate}), "token:phone"},
		{"a page of the token", WithToken(context.Background(), Token{Name: "phone.console-1", Parent: "phone", Role: operate}), "token:phone"},
	} {
		made.of, sends.of = nil, nil
		for method, params := range map[string]string{
			"cursor/advance":      `{"consumer_id":"c","stream_name":"mail","last_sequence":1}`,
			"cursor/error":        `{"consumer_id":"c","stream_name":"mail","error":"x"}`,
			"subscription/create": `{"bridge_id":"b"}`,
		} {
			if rep, _ := a.Call(c.ctx, method, jsontext.Value(params), Call{OnConnection: true}); rep.Err != nil {
				t.Errorf("%s: %s: %v", c.name, method, rep.Err)
			}
		}
		if got := append(made.of, sends.of...); len(got) != 3 || got[0] != c.want || got[1] != c.want || got[2] != c.want {
			t.Errorf("what %s makes counts in %q", c.name, got)
		}
	}
}
