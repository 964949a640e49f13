package rpc

import (
	"context"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/rpc/frame"
)

// dispatch executes one message, or returns the error for its fault. c says how it
// came.
func (s *Server) dispatch(ctx context.Context, m *frame.Message, c api.Call) (api.Reply, *api.Method) {
	switch m.Fault {
	case frame.NoFault:
		c.Notification = m.Notification()
		return s.api.Call(ctx, m.Method, m.Params, c)
	case frame.ParseError:
		return api.Reply{Err: api.Errorf(api.KindParseError, "%s", m.Why)}, nil
	case frame.InvalidParams:
		e := api.Invalid("params", "wrong_type", "%s", m.Why)
		e.Message = m.Why
		return api.Reply{Err: e}, nil
	}
	return api.Reply{Err: api.Errorf(api.KindInvalidRequest, "%s", m.Why)}, nil
}
