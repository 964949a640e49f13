package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/cmd/holon/toon"
	"github.com/seed82539d15/holon/rpc/client"
)

// dataFormats are the values of -o for commands that print data, the default
// first.
var dataFormats = []string{"text", "json", "jsonl", "toon"}

// caller is what a command that prints data works with: the console, a client of
// the server and the format of the result. Close it when done.
type caller struct {
	*console
	ctx    context.Context
	client *client.Client
	format string
}

// caller reads -o and finds the server.
func (g *globals) caller(cmd *cobra.Command) (*caller, error) {
	format, err := g.format(dataFormats...)
	if err != nil {
		return nil, err
	}
	c, err := g.client(cmd)
	if err != nil {
		return nil, err
	}
	return &caller{console: &g.console, ctx: cmd.Context(), client: c, format: format}, nil
}

func (c *caller) close() { c.client.Close() }

// ask calls a method that changes nothing. It returns the result as received,
// and decoded.
func ask[R any](c *caller, method string, params map[string]any) (raw jsontext.Value, result R, err error) {
	if err := c.client.Call(c.ctx, method, params, &raw); err != nil {
		return nil, result, naming(err, params)
	}
	return decoded[R](method, raw)
}

// change calls a method that changes something. The change happens once, also if
// the connection breaks and the call is repeated. Without a key it gets a new one.
func change[R any](c *caller, method, key string, params map[string]any) (raw jsontext.Value, result R, err error) {
	if params["idempotency_key"], err = keyOr(key); err != nil {
		return nil, result, err
	}
	if err := callRetrying(c.ctx, c.client, method, params, &raw); err != nil {
		return nil, result, naming(err, params)
	}
	return decoded[R](method, raw)
}

// naming adds to the error about something that is not there how it was named. Threads,
// turns and items have been looked up by then, and are named by who did it.
func naming(err error, params map[string]any) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	for _, kind := range []string{"bridge", "subscription", "delivery", "entry", "timer", "token"} {
		for _, member := range []string{kind + "_id", "name"} {
			if word, is := params[member].(string); is && refused.Kind == kind+"_not_found" {
				return fmt.Errorf("%s: %w", inQuotes(word), err)
			}
		}
	}
	return err
}

func decoded[R any](method string, raw jsontext.Value) (jsontext.Value, R, error) {
	var result R
	if err := jsonv2.Unmarshal(raw, &result); err != nil {
		return nil, result, fmt.Errorf("read the answer to %s: %w", method, err)
	}
	return raw, result, nil
}

// printValue encodes a value for printData.
func (c *caller) printValue(value any, rows string) error {
	raw, err := jsonv2.Marshal(value, jsonv2.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	return c.printData(raw, rows)
}

// printData prints a result for a program: json as one indented value, toon as
// one text, jsonl as a line for each member of the array named rows, or as one
// line if rows is "".
func (c *caller) printData(result jsontext.Value, rows string) error {
	switch {
	case c.format == "toon":
		text, err := toon.Append(nil, result)
		if err != nil {
			return fmt.Errorf("write the result as TOON: %w", err)
		}
		_, err = c.textOut().Write(append(text, '\n'))
		return err
	case c.format == "json" || rows == "":
		return c.printRaw(json.RawMessage(result), c.format == "json")
	}
	var members map[string]jsontext.Value
	if err := jsonv2.Unmarshal(result, &members); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	var list []jsontext.Value
	if err := jsonv2.Unmarshal(members[rows], &list); err != nil {
		return fmt.Errorf("read %s of the result: %w", rows, err)
	}
	for _, row := range list {
		if err := c.printRaw(json.RawMessage(row), false); err != nil {
			return err
		}
	}
	return nil
}

// textOut returns stdout for text that comes from others. On a terminal it writes a
// harmless form of it, elsewhere the bytes unchanged. Each Write is sanitized by
// itself.
func (c *console) textOut() io.Writer {
	if c.isTerminal(c.out) {
		return cleaner{c.out}
	}
	return c.out
}

type cleaner struct{ w io.Writer }

// Write implements io.Writer.
func (c cleaner) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.w, timeline.Clean(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
