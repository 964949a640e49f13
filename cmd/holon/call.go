package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/rpc/client"
)

func newCallCommand(g *globals) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "call METHOD [PARAMS]",
		Short: "Call a method of the server",
		Long: `Sends one request and prints its result. PARAMS is a JSON object, or - to read it
from stdin. With --follow the request goes over a two-way connection and the
notifications that come on it are printed after the result, one per line, until
Ctrl-C.

  holon call holon/status
  holon call thread/start '{"title":"Try"}'
  holon call --follow holon/logStream '{"follow":true}'`,
		Args: cobra.RangeArgs(1, 2),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			format, err := g.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			params, err := readParams(g.in, args[1:])
			if err != nil {
				return err
			}
			c, err := g.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			if follow {
				return followCall(cmd.Context(), &g.console, c, args[0], params)
			}
			var result json.RawMessage
			err = c.Call(cmd.Context(), args[0], params, &result)
			var refused *client.Error
			if errors.As(err, &refused) && format != "text" {
				if printErr := g.printJSON(map[string]any{"error": wireError(refused)}, format == "json"); printErr != nil {
					return printErr
				}
			}
			if err != nil {
				return err
			}
			return g.printRaw(result, format != "jsonl")
		}),
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "keep the connection and print its notifications")
	return cmd
}

// readParams returns the params as raw JSON, nil for none.
func readParams(stdin io.Reader, args []string) (any, error) {
	if len(args) == 0 {
		return nil, nil
	}
	text := []byte(args[0])
	if args[0] == "-" {
		var err error
		if text, err = io.ReadAll(stdin); err != nil {
			return nil, fmt.Errorf("read params from stdin: %w", err)
		}
	}
	if !json.Valid(text) {
		return nil, usagef(`PARAMS is not JSON: give an object such as '{"thread_id":"…"}'`)
	}
	return json.RawMessage(text), nil
}

// wireError returns an error in the form in which the server sent it.
func wireError(e *client.Error) map[string]any {
	wire := map[string]any{"code": e.Code, "message": e.Message}
	if e.Data != nil {
		wire["data"] = e.Data
	}
	return wire
}

// followCall calls over a two-way connection and prints its messages.
func followCall(ctx context.Context, con *console, c *client.Client, method string, params any) error {
	lines := make(chan []byte, 256)
	session, err := c.Dial(ctx, client.SessionOptions{OnEvent: func(event client.Event) {
		select {
		case lines <- event.Line:
		case <-ctx.Done():
		}
	}})
	if err != nil {
		return err
	}
	defer session.Close()
	type answer struct {
		result json.RawMessage
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		var a answer
		a.err = session.Call(ctx, method, params, &a.result)
		answered <- a
	}()
	print := func(line []byte) error {
		_, err := con.jsonOut().Write(append(line, '\n'))
		return err
	}
	for {
		select {
		case a := <-answered:
			if a.err != nil {
				return a.err
			}
			if err := con.printRaw(a.result, false); err != nil {
				return err
			}
		case line := <-lines:
			if err := print(line); err != nil {
				return err
			}
		case <-session.Done():
			for {
				select {
				case line := <-lines:
					if err := print(line); err != nil {
						return err
					}
					continue
				default:
				}
				break
			}
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("the connection ended: %w", session.Err())
		case <-ctx.Done():
			return nil // Ctrl-C ends the command
		}
	}
}
