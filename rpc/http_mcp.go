package rpc

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/tools"
)

// serveMCP serves the tools of agents. It is for the tokens of agents alone: the
// tools are about the thread of the caller.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	if _, ok := api.AgentOf(r.Context()); !ok {
		s.fail(w, r, http.StatusForbidden, api.Errorf(api.KindForbidden, "this path is for agents: it needs the token of one"))
		return
	}
	if len(r.URL.RawQuery) > 0 {
		if bad := onlyParameters(r.URL.RawQuery); bad != nil {
			s.fail(w, r, http.StatusBadRequest, bad)
			return
		}
	}
	body, bad := s.readBody(w, r)
	if bad != nil {
		s.fail(w, r, statusOf(bad), bad)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.tools.ServeHTTP(w, r)
}

// toolCaller implements tools.Caller by the table of methods.
type toolCaller struct{ server *Server }

// Call executes one request of the agent whose context this is. What follows its
// answer follows the answer of the tool.
func (c toolCaller) Call(ctx context.Context, method string, params any) (jsontext.Value, *api.Error) {
	raw, err := json.Marshal(params, api.WireOptions)
	if err != nil {
		return nil, c.server.api.Error(method, err)
	}
	began := time.Now()
	ctx = api.WithConnected(context.WithoutCancel(ctx), ctx)
	reply, m := c.server.api.Call(ctx, method, raw, api.Call{})
	if reply.Later != nil {
		reply = reply.Later(ctx)
	}
	c.server.count(m, began)
	if reply.Sent != nil && !tools.AfterSent(ctx, reply.Sent) {
		reply.Sent(false)
	}
	return reply.Result, reply.Err
}
