// Package jsonrpc is the baseline of round trips: the JSON-RPC library alone on
// a plain socket, with a handler that only returns the result of a
// holon/status.
package jsonrpc

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/seed82539d15/holon/internal/bench/baseline"
)

// Run serves. --result is JSON; every request is answered with it.
func Run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("jsonrpc", flag.ContinueOnError)
	result := flags.String("result", "{}", "what to answer")
	if err := flags.Parse(args); err != nil {
		return err
	}
	// Encoded once: the library copies it into each response.
	answer := json.RawMessage(*result)
	handler := jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
		return answer, nil
	})
	return baseline.Serve(ctx, in, out, func(l net.Listener) error {
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(c), handler)
		}
	})
}
