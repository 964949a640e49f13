package rpc

import (
	"context"
	"net/http"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/rpc/frame"
)

// serveRPC answers one message or one batch.
func (s *Server) serveRPC(w http.ResponseWriter, r *http.Request) {
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
	var parser frame.Parser
	members, isBatch := parser.Parse(body)
	ctx := api.WithConnected(context.WithoutCancel(r.Context()), r.Context())
	if isBatch {
		s.answerBatch(ctx, w, members)
		return
	}
	m := &members[0]
	switch {
	case m.Fault == frame.Dropped:
		s.metrics.ResponseDropped()
		w.WriteHeader(http.StatusNoContent)
		return
	case m.Notification():
		callSent(s.call(ctx, m, false).Sent, false)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	reply := s.call(ctx, m, false)
	line := s.responseLine(m.ID, &reply)
	s.writeAnswer(w, statusOfReply(reply, line), line, reply.Sent)
}

// callSent calls sent, which may be nil: see api.Reply.Sent.
func callSent(sent func(ok bool), ok bool) {
	if sent != nil {
		sent(ok)
	}
}

// statusOfReply returns the HTTP status of a reply: a method's error has status
// 200 like a result; only a message that is no valid request has another
// status.
func statusOfReply(r api.Reply, line []byte) int {
	if r.Err == nil {
		if len(line) < len(r.Result) {
			return http.StatusRequestEntityTooLarge // the result has become frame_too_large
		}
		return http.StatusOK
	}
	switch r.Err.Code {
	case -32700, -32600:
		return statusOf(r.Err)
	}
	return http.StatusOK
}

// call executes one message, or a member of a batch, and waits for its final answer.
func (s *Server) call(ctx context.Context, m *frame.Message, batch bool) api.Reply {
	began := time.Now()
	r, method := s.dispatch(ctx, m, api.Call{Batch: batch})
	if r.Later != nil {
		r = r.Later(ctx)
	}
	s.count(method, began)
	return s.bounded(ctx, r, method)
}

// answerBatch executes the members in their order.
func (s *Server) answerBatch(ctx context.Context, w http.ResponseWriter, members []frame.Message) {
	a := s.newAssembly(members)
	if a.open == 0 {
		defer w.WriteHeader(http.StatusNoContent)
	}
	answered := a.open > 0
	for i := range members {
		m := &members[i]
		switch {
		case m.Fault == frame.Dropped:
			s.metrics.ResponseDropped()
			continue
		case m.Notification():
			callSent(s.call(ctx, m, true).Sent, false)
			continue
		case a.seen(frame.IDKey(m.ID)):
			a.add(i, m.ID, s.responseLine(m.ID, &api.Reply{Err: api.Errorf(api.KindDuplicateID, "the id is in the batch twice")}), nil)
			continue
		}
		reply := s.call(ctx, m, true)
		line := s.responseLine(m.ID, &reply)
		a.add(i, m.ID, line, reply.Sent)
	}
	if answered {
		s.writeAnswer(w, http.StatusOK, a.line(), a.sent)
	}
}
