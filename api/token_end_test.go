package api

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// untilEnd is a handler that waits until its context ends.
func untilEnd(ctx context.Context, _ HolonStatusParams) (HolonStatusResult, error) {
	<-ctx.Done()
	return HolonStatusResult{}, ctx.Err()
}

// claimsUntilEnd is a Workers whose claim waits until its context ends.
type claimsUntilEnd struct{ Workers }

func (claimsUntilEnd) Claim(ctx context.Context, _ turns.Claim) (turns.ClaimResult, error) {
	<-ctx.Done()
	return turns.ClaimResult{}, ctx.Err()
}

// A request that waits when its token ends is refused at once, without an offer to try again.
func TestWhatWaitsEndsWithItsToken(t *testing.T) {
	var a *API // made in each bubble
	claim := func(ctx context.Context, p TurnClaimParams) (TurnClaimResult, error) {
		return (&Handlers{api: a}).TurnClaim(ctx, p)
	}
	methods := map[string]Method{
		"polling": definePolling("turn/read", "x", untilEnd, ofServer, reading, agents(harmless)),
		"await":   defineAwaiting("turn/read", "x", untilEnd, ofServer, reading, agents(harmless)),
		"asking":  defineAsking("turn/read", "x", untilEnd, ofServer, reading, agents(harmless)),
		"steps":   defineSteps("turn/read", "x", untilEnd, ofServer, reading, agents(harmless)),
		"claim":   definePolling("turn/claim", "x", claim, ofServer, reading, agents(harmless)),
	}
	for name, m := range methods {
		for reason, with := range map[string]func(context.Context, context.Context) context.Context{
			"token_ended": func(ctx, alive context.Context) context.Context {
				return WithToken(ctx, Token{Name: "phone", Role: read, Alive: alive})
			},
			"agent_ended": func(ctx, alive context.Context) context.Context {
				return WithAgent(ctx, tokens.Agent{ThreadID: "own", Alive: alive})
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				a, _, _ = newFamily(t)
				a.Workers = claimsUntilEnd{}
				alive, end := context.WithCancel(context.Background())
				connected, left := context.WithCancel(a.logging(with(context.Background(), alive)))
				defer left()
				context.AfterFunc(alive, left) // as the transports do
				ctx := WithConnected(context.WithoutCancel(connected), connected)
				params := jsontext.Value(`{}`)
				if name == "claim" {
					params = jsontext.Value(`{"agent":"a"}`)
				}
				rep := m.invoke(ctx, params)
				if rep.Later == nil {
					t.Fatalf("%s: it does not wait: %v", name, rep.Err)
				}
				began := time.Now()
				go func() { time.Sleep(time.Second); end() }()
				rep = rep.Later(ctx)
				if rep.Err == nil || rep.Err.Data.Kind != KindUnauthorized || rep.Err.Data.Reason != reason {
					t.Errorf("%s, %s: %v", name, reason, rep.Err)
				}
				if d := time.Since(began); d != time.Second {
					t.Errorf("%s, %s: it ended after %v", name, reason, d)
				}
			})
		}
	}
}

// A timer that is late, because the machine slept, lets nothing pass.
func TestAnExpiredTokenIsRefusedBeforeItsEndIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, _ := newFamily(t)
		c := Token{Name: "phone", Role: operate, Alive: context.Background(), ExpiresAt: notify.TimeOf(time.Now().Add(time.Minute))}
		ctx := WithToken(context.Background(), c)
		time.Sleep(time.Minute - time.Millisecond)
		if refused := useToken(t, a, c, "thread/read", `{"thread_id":"own"}`); refused != nil {
			t.Errorf("before its end: %v", refused)
		}
		if _, err := a.ResolveStart(ctx, &StreamStart{Given: true}); err != nil {
			t.Errorf("a stream before its end: %v", err)
		}
		time.Sleep(time.Millisecond)
		if refused := useToken(t, a, c, "thread/read", `{"thread_id":"own"}`); refused == nil || refused.Data.Reason != "token_ended" {
			t.Errorf("after its end: %v", refused)
		}
		if _, err := a.ResolveStart(ctx, &StreamStart{Given: true}); err == nil {
			t.Error("a stream opens after its end")
		}
	})
}
