package rpc

import (
	"context"

	"github.com/seed82539d15/holon/rpc/frame"
)

// dispatch executes one message, or says what is wrong with it.
func (s *Server) dispatch(ctx context.Context, m *frame.Message, onConnection bool) (reply, *Method) {
	switch m.Fault {
	case frame.NoFault:
		return s.api.Call(ctx, m.Method, m.Params, Call{OnConnection: onConnection, Notification: m.Notification()})
	case frame.ParseError:
		return reply{err: Errorf(KindParseError, "%s", m.Why)}, nil
	case frame.InvalidParams:
		e := invalid("params", "wrong_type", "%s", m.Why)
		e.Message = m.Why
		return reply{err: e}, nil
	}
	return reply{err: Errorf(KindInvalidRequest, "%s", m.Why)}, nil
}
