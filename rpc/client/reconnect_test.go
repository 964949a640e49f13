package client

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestAwaitReconnect(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		attempt int
		err     error
		want    error
		least   time.Duration
		most    time.Duration
	}{
		"the first attempt comes at once":  {1, broken, nil, 0, 0},
		"later ones wait":                  {60, broken, nil, 2500 * time.Millisecond, 7500 * time.Millisecond},
		"as long as the server asks for":   {1, fmt.Errorf("open: %w", &Error{Retryable: true, RetryAfter: time.Minute}), nil, time.Minute, time.Minute},
		"a proxy whose server is gone":     {1, &Error{HTTPStatus: 502}, nil, 0, 0},
		"a server that refuses ends it":    {1, &Error{HTTPStatus: 401, Kind: KindUnauthorized}, &Error{}, 0, 0},
		"a stream that is closed for good": {1, &ClosedError{Code: "cursor_expired"}, &ClosedError{}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resolved := 0
				endpoint := Endpoint{URL: "https://holon.example.org", Source: SourceGiven}
				client := New(func() (Endpoint, error) { resolved++; return endpoint, nil })
				defer client.Close()
				began := time.Now()
				err := client.AwaitReconnect(t.Context(), c.attempt, c.err)
				if (err == nil) != (c.want == nil) || c.want != nil && !errors.Is(err, c.err) {
					t.Errorf("%v", err)
				}
				if waited := time.Since(began); waited < c.least || waited > c.most {
					t.Errorf("it waited %v", waited)
				}
				if want := 2; err == nil && resolved != want {
					t.Errorf("the address was asked for %d times, want %d", resolved, want)
				}
			})
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	if err := New(At("https://holon.example.org", SourceGiven, "", false)).AwaitReconnect(ctx, 60, errors.New("other")); !errors.Is(err, broken) {
		t.Errorf("after the end of its context: %v", err)
	}
}
