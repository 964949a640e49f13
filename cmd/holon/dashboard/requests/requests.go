// Package requests carries out the actions of the dashboard's pages that are requests to
// the server. It knows no page and no terminal; its caller chooses the goroutine.
//
// A change carries an idempotency key, so that it happens once although it is sent again
// when the connection breaks.
package requests

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/restarts"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// patience is how long a request may take with all its attempts.
const patience = 30 * time.Second

// Caller calls a method of the server; *client.Client is one.
type Caller interface {
	Call(ctx context.Context, method string, params, result any) error
}

// Requests carries out actions for one person. It may be used from any number of
// goroutines.
type Requests struct {
	Server Caller
	// Consumer is the name under which the server keeps what this person has seen, such
	// as seen:owner; "": it is not told.
	Consumer string
}

// Do carries out an action that is a request; ok is false if it is none. It blocks until
// the server has answered.
func (r Requests) Do(ctx context.Context, action screen.Action) (done screen.Done, ok bool) {
	done.Action = action
	if again, ok := action.(screen.RetryLost); ok {
		done.Result, done.Err = r.retryLost(ctx, again.Lost)
		return done, true
	}
	method, params := r.request(action)
	if method == "" {
		return done, false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if p, changes := params.(map[string]any); changes && method != "cursor/advance" {
		if _, read := action.(screen.Call); !read {
			id, err := uuid.NewV7()
			if err != nil {
				done.Err = fmt.Errorf("make a key: %w", err)
				return done, true
			}
			p["idempotency_key"] = id.String()
		}
	}
	done.Err = r.call(ctx, method, params, &done.Result)
	if _, ok := action.(screen.DismissLost); ok && restarts.Known(done.Err) {
		done.Err = nil
	}
	return done, true
}

// retryLost retries turns one after the other. Its result is a screen.Retried; it fails if
// none could be retried.
func (r Requests) retryLost(ctx context.Context, lost restarts.Lost) (json.RawMessage, error) {
	var done screen.Retried
	var first error
	lost.Retry(ctx, func(_ *turns.Turn, params map[string]any) error {
		one, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		err := r.call(one, "turn/retry", params, new(json.RawMessage))
		if err == nil {
			done.Again++
			return nil
		}
		if done.Refused++; first == nil {
			first, done.Why = err, screen.Words(err)
		}
		return err
	})
	if done.Again == 0 && first != nil {
		return nil, first
	}
	return json.Marshal(done)
}

// request returns the method and the params of an action, "" if it is no request.
func (r Requests) request(action screen.Action) (method string, params any) {
	switch a := action.(type) {
	case screen.Call:
		return a.Method, a.Params
	case screen.Respond:
		p := map[string]any{"item_id": a.Item}
		switch {
		case a.Cancel:
			p["outcome"] = "cancelled"
		case a.Option != "":
			p["option_id"] = a.Option
		default:
			p["answer"] = a.Answer
		}
		return "item/respond", p
	case screen.Review:
		p := map[string]any{"turn_id": a.Turn, "attempt": a.Attempt, "verdict": a.Verdict}
		if a.Note != "" {
			p["note"] = a.Note
		}
		return "turn/review", p
	case screen.Start:
		return "turn/start", map[string]any{"thread_id": a.Thread, "input": Input(a.Text)}
	case screen.Steer:
		return "turn/steer", map[string]any{"turn_id": a.Turn, "input": Input(a.Text)}
	case screen.Interrupt:
		return "turn/interrupt", map[string]any{"turn_id": a.Turn, "reason": "i in the dashboard"}
	case screen.Retry:
		return "turn/retry", map[string]any{"turn_id": a.Turn}
	case screen.Rename:
		return "thread/rename", map[string]any{"thread_id": a.Thread, "title": a.Title}
	case screen.Wake:
		return "inbox/wake", map[string]any{"thread_id": a.Thread}
	case screen.Close:
		return "thread/close", map[string]any{"thread_id": a.Thread}
	case screen.DismissLost:
		if r.Consumer == "" {
			return "", nil
		}
		return a.Lost.Dismissal(r.Consumer)
	case screen.Seen:
		if r.Consumer == "" {
			return "", nil
		}
		return "cursor/advance", map[string]any{"consumer_id": r.Consumer, "stream_name": "events", "subject_id": a.Thread, "last_sequence": a.Seq, "delivered_at": time.Now().UTC()}
	}
	return "", nil
}

// Input returns a text in the form of turn/start.
func Input(text string) []any {
	return []any{map[string]any{
		"type": "message", "role": "user",
		"content": []any{map[string]any{"type": "input_text", "text": text}},
	}}
}

// call calls a method, and again if the connection broke after it had been made: only
// then is it unknown whether the change happened.
func (r Requests) call(ctx context.Context, method string, params any, result *json.RawMessage) error {
	for attempt := 1; ; attempt++ {
		err := r.Server.Call(ctx, method, params, result)
		var refused *client.Error
		var peer *client.PeerError
		absent := errors.As(err, &peer) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist)
		if err == nil || errors.As(err, &refused) || attempt == 1 && absent || attempt == 5 {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(attempt) * 200 * time.Millisecond):
		}
	}
}

// Consumer returns the name under which the server keeps what the owner of this connection
// has seen, "" if the server does not say who that is.
func Consumer(ctx context.Context, server Caller) string {
	var hello Hello
	if server.Call(ctx, "initialize", nil, &hello) != nil {
		return ""
	}
	return hello.Consumer()
}

// Hello is what initialize says of whoever sends a request.
type Hello struct {
	LogID string `json:"log_id"`
	Token struct {
		Name   string `json:"name"`
		Parent string `json:"parent"` // of a console token: the person's own one
	} `json:"token"`
}

// Consumer returns the name under which the server keeps what the person has seen.
func (h Hello) Consumer() string {
	return cursors.SeenPrefix + cmp.Or(h.Token.Parent, h.Token.Name, "owner")
}
