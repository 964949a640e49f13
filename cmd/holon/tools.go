package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/tools"
)

func newToolsCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "tools",
		Short: "Serve the tools of an agent on stdin and stdout (MCP)",
		Long: `Speaks the Model Context Protocol on stdin and stdout: the tools with which an
agent starts work in child threads, waits for it, and uses its inbox. It needs
HOLON_URL and HOLON_TOKEN, which the server gives to the processes of agents.
An agent that can use MCP servers over HTTP needs no command: the server has the
same tools at POST /mcp.`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			if g.env("HOLON_TOKEN") == "" && g.tokenFile == "" {
				return usagef("HOLON_TOKEN is not set: the tools are for a process that the server has started for a thread")
			}
			c, err := g.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			var who api.InitializeResult
			if err := initialize(cmd.Context(), c, &who); err != nil {
				return err
			}
			if who.Agent == nil {
				return errors.New("this is not the token of an agent")
			}
			ctx := api.WithAgent(cmd.Context(), tokens.Agent{ThreadID: who.Agent.ThreadID, TurnID: who.Agent.TurnID, Attempt: who.Agent.Attempt})
			return tools.New(tools.Config{Caller: remote{c}, Version: version}).ServeStdio(ctx, g.in, g.out)
		}),
	}
}

// initialize asks the server whose token this is.
func initialize(ctx context.Context, c *client.Client, result *api.InitializeResult) error {
	var raw json.RawMessage
	if err := c.Call(ctx, "initialize", nil, &raw); err != nil {
		return err
	}
	if err := jsonv2.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("decode the result of initialize: %w", err)
	}
	return nil
}

// remote implements tools.Caller over the Go client. A call whose context ends
// closes its connection, which ends what waits in the server.
type remote struct{ client *client.Client }

// Call implements tools.Caller.
func (r remote) Call(ctx context.Context, method string, params any) (jsontext.Value, *api.Error) {
	raw, err := jsonv2.Marshal(params)
	if err != nil {
		return nil, api.Errorf(api.KindInternal, "params of %s: %s", method, err)
	}
	var result json.RawMessage
	err = r.client.Call(ctx, method, json.RawMessage(raw), &result)
	var refused *client.Error
	switch {
	case err == nil:
		return jsontext.Value(result), nil
	case !errors.As(err, &refused):
		return nil, api.Errorf(api.KindUnavailable, "%s", err)
	}
	e := &api.Error{Code: refused.Code, Message: refused.Message}
	if refused.Data == nil || jsonv2.Unmarshal(refused.Data, &e.Data) != nil {
		e.Data = api.ErrorData{Kind: api.Kind(refused.Kind), Retryable: refused.Retryable, Field: refused.Field, Reason: refused.Reason}
	}
	return nil, e
}
