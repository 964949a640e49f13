package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/limits"
	"github.com/seed82539d15/holon/lines"
	"github.com/seed82539d15/holon/rpc/client"
)

// answerPatience bounds the wait for answers after the end of input, counted
// from the last received line: a server that is silent for so long has lost the
// request.
const answerPatience = 30 * time.Second

func newConnectCommand(g *globals) *cobra.Command {
	var noStart bool
	cmd := &cobra.Command{
		Use:   "connect",
		Short: "Bridge stdin and stdout to the server, starting one if there is none",
		Long: `Speaks the protocol on stdin and stdout, one JSON-RPC message per line: the
command to give an editor. Without --url a server of the data directory is
started if none runs; it stays when this command ends. The end of stdin ends
the command once every request has been answered.`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			if _, err := g.format("jsonl"); err != nil {
				return err
			}
			dial := g.client
			if g.url == "" && g.env("HOLON_URL") == "" {
				// Only the data directory says which server is meant: at the
				// default address another user's server may listen.
				dial = func(cmd *cobra.Command) (*client.Client, error) { return ensureServer(g, cmd, !noStart) }
			}
			c, err := dial(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			return runBridge(cmd.Context(), c, &framingNotice{in: g.in, note: g.note}, g.jsonOut())
		}),
	}
	cmd.Flags().BoolVar(&noStart, "no-start", false, "fail if no server runs")
	return cmd
}

// runBridge copies lines both ways until in has ended and all requests are
// answered.
func runBridge(ctx context.Context, c *client.Client, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	requests, writer := io.Pipe()
	defer requests.Close()
	// Requests are sent before the header of the answer comes: a server may
	// wait for some first.
	b := &bridge{changed: make(chan struct{}, 1)}
	refused := make(chan error, 1)
	go func() {
		if err := b.send(in, writer); err != nil {
			refused <- err
		}
		writer.Close()
		b.inputEnded()
	}()
	body, err := c.Bridge(ctx, requests, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	received := make(chan error, 1)
	go func() { received <- b.receive(body, out) }()
	patience := time.NewTimer(answerPatience)
	defer patience.Stop()
	for {
		select {
		case err := <-refused:
			return err
		case err := <-received:
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if b.done() {
				return nil
			}
			if err == nil {
				err = errors.New("it closed the connection")
			}
			if reason := b.reason(); reason != "" {
				err = errors.New(reason)
			}
			return fmt.Errorf("the connection to the server is lost: %w", err)
		case <-b.changed:
			if b.done() {
				return nil
			}
			patience.Reset(answerPatience)
		case <-patience.C:
			if b.atEnd() {
				return fmt.Errorf("the last request got no answer within %s", answerPatience)
			}
			patience.Reset(answerPatience)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// bridge counts requests and answers.
type bridge struct {
	changed chan struct{} // has an entry after a field below has changed

	mu      sync.Mutex
	pending int
	ended   bool
	closing string // the reason of a stream/closing
}

// bridgeLines reads the lines of one direction. No server takes or sends longer ones.
func bridgeLines(r io.Reader) *lines.Reader {
	return lines.New(r, lines.Config{Max: limits.FrameBytes.Most, Buffer: 64 << 10})
}

// send copies lines until in ends, and counts those that will be answered. Its
// error says which line is too long.
func (b *bridge) send(in io.Reader, out io.Writer) error {
	for reader := bridgeLines(in); ; {
		line, err := reader.Next()
		switch {
		case errors.Is(err, lines.ErrTooLong):
			return fmt.Errorf("stdin: %w", err)
		case err != nil:
			return nil // the end
		}
		if expectsAnswer(line) {
			b.change(func() { b.pending++ })
		}
		if writeLine(out, line) != nil {
			return nil // the receiving side reports why
		}
	}
}

// receive copies lines back and counts answers; it returns nil after an orderly
// end.
func (b *bridge) receive(in io.Reader, out io.Writer) error {
	for reader := bridgeLines(in); ; {
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := writeLine(out, line); err != nil {
			return fmt.Errorf("write to stdout: %w", err)
		}
		answer, reason := readServerLine(line)
		b.change(func() {
			if answer {
				b.pending--
			}
			if reason != "" {
				b.closing = reason
			}
		})
	}
}

// writeLine writes a line and its end in one call, so that a peer never reads half of it.
func writeLine(w io.Writer, line []byte) error {
	_, err := w.Write(append(line[:len(line):len(line)], '\n'))
	return err
}

func (b *bridge) change(what func()) {
	b.mu.Lock()
	what()
	b.mu.Unlock()
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

func (b *bridge) inputEnded() { b.change(func() { b.ended = true }) }

func (b *bridge) atEnd() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.ended }

// done reports whether stdin has ended and every request is answered.
func (b *bridge) done() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended && b.pending <= 0
}

func (b *bridge) reason() string { b.mu.Lock(); defer b.mu.Unlock(); return b.closing }

// expectsAnswer reports whether the server will answer a line: it answers
// requests and invalid lines, but neither notifications nor responses.
func expectsAnswer(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return false
	}
	if line[0] == '[' {
		var members []json.RawMessage
		if json.Unmarshal(line, &members) != nil || len(members) == 0 {
			return true
		}
		for _, member := range members {
			if expectsAnswer(member) {
				return true
			}
		}
		return false
	}
	var message map[string]json.RawMessage
	if json.Unmarshal(line, &message) != nil {
		return true
	}
	_, hasID := message["id"]
	_, isRequest := message["method"]
	_, isResult := message["result"]
	_, isError := message["error"]
	if !isRequest && (isResult || isError) {
		return false
	}
	valid := isRequest && string(message["jsonrpc"]) == `"2.0"`
	return hasID || !valid
}

// readServerLine reports whether a line is an answer, and returns the reason of a
// stream/closing.
func readServerLine(line []byte) (answer bool, closing string) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return false, ""
	}
	if line[0] == '[' {
		return true, ""
	}
	var message struct {
		Method string `json:"method"`
		Params struct {
			Code   string `json:"code"`
			Reason string `json:"reason"`
		} `json:"params"`
	}
	if err := json.Unmarshal(line, &message); err != nil {
		return false, ""
	}
	if message.Method == "stream/closing" {
		return false, fmt.Sprintf("%s [%s]", message.Params.Reason, message.Params.Code)
	}
	return message.Method == "", ""
}
