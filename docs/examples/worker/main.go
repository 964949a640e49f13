// Command worker is a worker for Holon: it numbers the words of its input,
// ten a second. Its argument is the agent that it works for; HOLON_URL says
// where the server is, HOLON_DATA where its token is.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed82539d15/holon/rpc/client"
)

type object = map[string]any

type message struct{ Content []struct{ Text string } }

type claim struct {
	Turn  *struct{}
	Input []message
	Lease struct {
		TurnID    string    `json:"turn_id"`
		Attempt   int       `json:"attempt"`
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
}

var errInterrupted = errors.New("interrupted")

// ask asks until there is an answer: the key makes it safe to ask twice.
func ask(ctx context.Context, c *client.Client, method string, params object, result any) error {
	params["idempotency_key"] = uuid.NewString()
	for {
		err := c.Call(ctx, method, params, result)
		var refused *client.Error
		if err == nil || ctx.Err() != nil || errors.As(err, &refused) && !refused.Retryable {
			return err
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// renew keeps the lease until ctx is done, and stops the work if it is not
// wanted any more.
func renew(ctx context.Context, c *client.Client, cl *claim, stop context.CancelCauseFunc) {
	ticker := time.Tick(max(time.Until(cl.Lease.ExpiresAt)/3, 100*time.Millisecond))
	for {
		select {
		case <-ticker:
		case <-ctx.Done():
			return
		}
		var r struct {
			InterruptRequested bool `json:"interrupt_requested"`
		}
		if err := ask(ctx, c, "turn/renew", object{"lease": cl.Lease}, &r); err != nil {
			stop(err) // the turn is not ours any more
		} else if r.InterruptRequested {
			stop(errInterrupted)
		}
	}
}

func work(ctx context.Context, c *client.Client, cl *claim) error {
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go renew(working, c, cl, stop)
	var words []string
	for _, m := range cl.Input {
		for _, part := range m.Content {
			words = append(words, strings.Fields(part.Text)...)
		}
	}
	// An id that is the attempt's: the next one makes an item of its own.
	item := fmt.Sprintf("%s-%d", strings.TrimPrefix(cl.Lease.TurnID, "turn_"), cl.Lease.Attempt)
	err := ask(working, c, "step/start", object{"lease": cl.Lease, "step": "count"}, nil)
	if err == nil {
		err = ask(working, c, "item/create", object{"lease": cl.Lease, "item_id": item, "step": "count",
			"content": object{"type": "agent_message", "content": []object{{"type": "output_text", "text": ""}}}}, nil)
	}
	for i := 0; err == nil && i < len(words); i++ {
		err = ask(working, c, "item/append", object{"lease": cl.Lease, "item_id": item, "text": fmt.Sprintln(i+1, words[i])}, nil)
		select {
		case <-time.After(100 * time.Millisecond):
		case <-working.Done():
		}
	}
	if cause := context.Cause(working); cause != nil && cause != errInterrupted {
		return cause
	} else if cause == nil && err != nil {
		return err
	}
	// Of an interrupted turn too: the server knows how it is to end.
	return ask(ctx, c, "turn/complete", object{"lease": cl.Lease, "message": fmt.Sprint(len(words), " words")}, nil)
}

func main() {
	if len(os.Args) != 2 || os.Getenv("HOLON_URL") == "" {
		log.Fatal("usage: HOLON_URL=URL worker AGENT")
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	c := client.New(client.At(os.Getenv("HOLON_URL"), "HOLON_URL", os.Getenv("HOLON_DATA"), true))
	defer c.Close()
	for ctx.Err() == nil {
		var cl claim
		err := ask(ctx, c, "turn/claim", object{"agent": os.Args[1], "worker": "words", "wait_seconds": 30}, &cl)
		if err == nil && cl.Turn != nil {
			err = work(ctx, c, &cl)
		}
		if err != nil && ctx.Err() == nil {
			log.Print(err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}
