package acp

import (
	"context"
	"errors"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/agents/acp/mapping"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// request is a question of the agent. It is answered once.
type request struct {
	peer   *peer
	s      *session // nil: for no session
	id     jsontext.Value
	method string
	once   sync.Once
}

func (q *request) finish(answer func()) {
	q.once.Do(func() {
		answer()
		if q.s != nil {
			q.s.mu.Lock()
			delete(q.s.requests, q)
			q.s.mu.Unlock()
		}
	})
}

func (q *request) reply(result jsontext.Value) { q.finish(func() { q.peer.reply(q.id, result) }) }

func (q *request) refuse(text string) {
	q.finish(func() { q.peer.refuse(q.id, codeInvalidParams, text) })
}

// cancel answers that the question is cancelled. In a session that was left the agent gets
// no answer: the question waits for the next server.
func (q *request) cancel() {
	if q.s != nil && q.s.left.Load() {
		q.finish(func() {})
		return
	}
	if q.method == methodPermission {
		q.reply(jsontext.Value(`{"outcome":{"outcome":"cancelled"}}`))
	} else {
		q.reply(jsontext.Value(`{"action":"cancel"}`))
	}
}

// request takes a question of the agent. Once the prompt is cancelled, the
// question is answered before anything else is read; its information about the
// tool call is still kept.
func (s *session) request(q *request, ev event) {
	s.mu.Lock()
	s.requests[q] = struct{}{}
	stopped := s.gone || s.cancelled
	s.mu.Unlock()
	if stopped {
		q.cancel()
	}
	if !s.take(ev) {
		q.cancel()
	}
}

// cancelRequests cancels all waiting questions, and those that come before the
// next prompt. It must be called before session/cancel is sent: otherwise some
// agents wait for the answer forever.
func (s *session) cancelRequests() {
	s.mu.Lock()
	s.cancelled = true
	waiting := make([]*request, 0, len(s.requests))
	for q := range s.requests {
		waiting = append(waiting, q)
	}
	s.mu.Unlock()
	for _, q := range waiting {
		q.cancel()
	}
}

// ask makes an item of a question, in pump. A goroutine waits for the person's
// answer.
func (s *session) ask(buf *opBuffer, ev event) {
	q, run := ev.request, buf.run
	if run == nil {
		q.cancel()
		buf.add(nil, notice("warning", "The agent asked a question while no turn runs. It was told that nobody answers.", ev.raw))
		return
	}
	run.reacted.Store(true) // a question need not have ops, and its answer may have effects
	var (
		ops      []items.Op
		question items.Content
		err      error
	)
	permission := q.method == methodPermission
	if permission {
		var p items.PermissionRequest
		ops, p, err = s.m.Permission(ev.raw)
		question = p
	} else {
		var e items.Question
		ops, e, err = s.m.Elicitation(ev.raw)
		question = e
	}
	buf.add(run, ops...)
	buf.flush()
	if err != nil {
		q.refuse(err.Error())
		return
	}
	cfg := &s.a.cfg
	o := turns.AskOptions{ExpiresAfter: cfg.PermissionTimeout, Resumes: s.pr.says.load || s.pr.says.resume}
	if p, ok := question.(items.PermissionRequest); ok {
		by := ""
		decided := map[string]string{PermissionsAllow: items.AllowOnce, PermissionsReject: items.RejectOnce}[cfg.Permissions]
		if s.allowsOwn(ev.raw, p.Options) {
			decided, by = items.AllowOnce, byPolicy
		}
		switch option := optionOf(p.Options, kindOffered(p.Options, decided)); {
		case option != nil:
			o = turns.AskOptions{OptionID: option.OptionID, By: by} // the item is made with its answer
		case decided != "":
			buf.add(run, notice("warning", "Cancelled, because the answer that is configured is not among the options: "+p.Title, nil))
			buf.flush()
			q.cancel()
			return
		case o.ExpiresAfter > 0:
			o.OnExpiry = kindOffered(p.Options, cfg.PermissionDefault)
		}
	}
	run.asks.Go(func() {
		answered := func() {}
		if o.OptionID == "" {
			answered = s.a.pool.asks(s.pr)
		}
		answer, err := run.p.Ask(run.askCtx, question, o)
		answered()
		switch {
		case err != nil:
			if errors.Is(context.Cause(run.askCtx), turns.ErrServerStops) {
				s.left.Store(true)
			}
			q.cancel()
		case permission:
			// Before the agent can react to it: not all agents report that a
			// refused tool call has ended.
			s.push(event{kind: evDo, do: func() { s.m.Answered(question.(items.PermissionRequest), answer) }})
			q.reply(mapping.PermissionReply(answer))
		default:
			q.reply(mapping.ElicitationReply(question.(items.Question), answer))
		}
	})
}

// byPolicy is resolved_by of a request to use our own tools.
const byPolicy = "policy"

// allowsOwn reports whether a permission request is for one of our own tools, and
// can be and is to be allowed at once.
func (s *session) allowsOwn(request jsontext.Value, options []items.Option) bool {
	return s.a.cfg.OwnTools == OwnToolsAllow && s.own.server != "" && kindOffered(options, items.AllowOnce) != "" &&
		s.m.AsksForTool(request, s.pr.says.name, s.own.server)
}

// kindOffered returns the wanted kind, or the other kind with the same meaning, if
// an option has it; else "".
func kindOffered(options []items.Option, want string) string {
	other := map[string]string{
		items.AllowOnce: items.AllowAlways, items.AllowAlways: items.AllowOnce,
		items.RejectOnce: items.RejectAlways, items.RejectAlways: items.RejectOnce,
	}[want]
	for _, kind := range []string{want, other} {
		if optionOf(options, kind) != nil {
			return kind
		}
	}
	return ""
}

func optionOf(options []items.Option, kind string) *items.Option {
	for i := range options {
		if options[i].Kind == kind && kind != "" {
			return &options[i]
		}
	}
	return nil
}
