package api

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// everyThread stands for all threads in WorkIn.
const everyThread = "*"

// The rules of single methods for agents.

// childThread lets an agent start child threads of its own thread, or find those
// that it has. They work in its directory or below.
func childThread(v *viewer, p *ThreadStartParams) error {
	if p.Parent == nil || p.Parent.ThreadID != v.agent.ThreadID {
		return notAllowed("parent.thread_id", "an agent starts child threads of its own thread only")
	}
	if p.ThreadID != nil && *p.ThreadID != "" {
		s, err := v.api.Reader.ReadThread(v.ctx, *p.ThreadID, 0)
		if err != nil {
			return err
		}
		if s.Thread != nil {
			if r, err := v.api.relate(v.ctx, v.agent.ThreadID, *p.ThreadID); err != nil || r != belowOwn {
				return firstOf(err, notAllowed("thread_id", "a thread with this id exists, and is not below the agent's own"))
			}
		}
	}
	return inOwnDirectory(v, p.Cwd)
}

func firstOf(err error, or *Error) error {
	if err != nil {
		return err
	}
	return or
}

// inDirectory reports whether path is the directory or below it, as written: links
// are not followed. Of a thread without a directory nothing is known.
func inDirectory(dir, path string) bool {
	if !filepath.IsAbs(dir) || !filepath.IsAbs(path) {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// childTurn lets an agent start child turns only: its own thread is their owner. A
// token of one attempt makes them children of that turn. A job may leave the parent out. Where it
// may start outside work says its configuration.
func childTurn(v *viewer, p *TurnStartParams) error {
	if p.Job != "" && p.ThreadID == "" {
		return jobOfOwn(v, p)
	}
	if p.Parent == nil || p.Parent.ThreadID != v.agent.ThreadID {
		return notAllowed("parent.thread_id", "an agent starts child turns of its own thread only")
	}
	if err := mayWorkIn(v, p); err != nil {
		return err
	}
	if v.agent.TurnID == "" {
		return nil
	}
	if p.Parent.TurnID != "" && p.Parent.TurnID != v.agent.TurnID {
		return notAllowed("parent.turn_id", "it must be the turn of the token")
	}
	parent := *p.Parent
	parent.TurnID = v.agent.TurnID
	p.Parent = &parent
	return nil
}

// jobOfOwn lets an agent ask for jobs of its own turn, in its directory or below.
func jobOfOwn(v *viewer, p *TurnStartParams) error {
	parent := threads.Parent{ThreadID: v.agent.ThreadID}
	if p.Parent != nil {
		parent = *p.Parent
	}
	if parent.ThreadID != v.agent.ThreadID {
		return notAllowed("parent.thread_id", "an agent asks for jobs of its own turn only")
	}
	if v.agent.TurnID != "" {
		if parent.TurnID != "" && parent.TurnID != v.agent.TurnID {
			return notAllowed("parent.turn_id", "it must be the turn of the token")
		}
		parent.TurnID, parent.Attempt = v.agent.TurnID, v.agent.Attempt
	}
	p.Parent = &parent
	return inOwnDirectory(v, p.Cwd)
}

// inOwnDirectory keeps what an agent starts in its thread's directory or below.
func inOwnDirectory(v *viewer, cwd string) error {
	if cwd == "" {
		return nil
	}
	s, err := v.api.Reader.ReadThread(v.ctx, v.agent.ThreadID, 0)
	if err != nil {
		return err
	}
	if s.Thread == nil || !inDirectory(s.Thread.Cwd, cwd) {
		return notAllowed("cwd", "a child thread works in the directory of its owner or below")
	}
	return nil
}

// mayWorkIn refuses outside work in threads that the configuration of the agent does not name.
func mayWorkIn(v *viewer, p *TurnStartParams) error {
	r, err := v.api.relate(v.ctx, v.agent.ThreadID, p.ThreadID)
	if err != nil {
		return err
	}
	if r == belowOwn {
		parent, err := v.api.parentOf(v.ctx, p.ThreadID)
		if err != nil || parent == v.agent.ThreadID || !p.Background {
			return err // the engine says what else a turn in a thread further down needs
		}
	}
	own, threads, err := v.api.workIn(v.ctx, v.agent.ThreadID)
	switch {
	case err != nil:
		return err
	case p.ThreadID == "":
		return notAllowed("thread_id", "an agent must name it")
	case slices.Contains(threads, p.ThreadID), slices.Contains(threads, everyThread):
		return nil
	case len(threads) == 0:
		return notAllowed("thread_id", "it is no child thread of the agent's own, and %s may start work in no other (work_in in its configuration)", own)
	}
	return notAllowed("thread_id", "it is no child thread of the agent's own, and %s may start work in no others than: %s (work_in in its configuration)", own, strings.Join(threads, ", "))
}

// outsideOr lets an agent ask about outside work that its own thread has started; other is the
// rule for everything else. asks is the turn that a request is about, if that may be outside
// work: "" if the request asks for more than its owner may have.
func outsideOr[P any](other agentRule, asks func(p *P) (turnID string)) agentRule {
	return func(params reflect.Type) agentCheck {
		otherwise := other(params)
		return on(func(v *viewer, p *P) error {
			if id := asks(p); id != "" {
				s, err := v.api.Reader.ReadTurn(v.ctx, turns.TurnQuery{TurnID: id})
				if t := s.Turn; err != nil || t != nil && t.Outside && t.Parent != nil && t.Parent.ThreadID == v.agent.ThreadID {
					return err
				}
			}
			return otherwise(v, reflect.ValueOf(p).Elem())
		})(params)
	}
}

func stopped(p *TurnInterruptParams) string { return p.TurnID }

// readRow returns a request for the row of a turn alone.
func readRow(p *TurnReadParams) string {
	if p.IncludeItems || p.IncludeSuperseded {
		return ""
	}
	return p.TurnID
}

// saidIn returns a request for what the agent of a turn has said, and for nothing else of it.
func saidIn(p *ItemListParams) string {
	if p.ThreadID != "" || p.Type != items.KindAgentMessage || p.IncludeSuperseded {
		return ""
	}
	return p.TurnID
}

// ownInbox keeps what people set up for the inboxes of other threads from an agent.
func ownInbox(v *viewer, p *ThreadReadParams) error {
	if p.IncludeInbox && p.ThreadID != v.agent.ThreadID {
		return notAllowed("include_inbox", "an agent reads its own inbox only")
	}
	return nil
}

// fromAgent lets an agent write to the thread above its own and to those below it,
// in its own name.
func fromAgent(v *viewer, p *InboxSendParams) error {
	r, err := v.api.relate(v.ctx, v.agent.ThreadID, p.ThreadID)
	if err != nil {
		return err
	}
	if r != belowOwn {
		parent, err := v.api.parentOf(v.ctx, v.agent.ThreadID)
		if err != nil {
			return err
		}
		if parent == "" || parent != p.ThreadID {
			return notAllowed("thread_id", "an agent writes to the thread above its own and to those below it")
		}
	}
	p.Sender = v.agent.ThreadID
	return nil
}

// endsBelow lets an agent subscribe to the ends and the questions of threads below
// its own, and to nothing else.
func endsBelow(v *viewer, p *InboxSubscribeParams) error {
	if p.Source != inbox.SourceEvents {
		return notAllowed("source", "an agent subscribes to %s only", inbox.SourceEvents)
	}
	for i, m := range p.Methods {
		if m != inbox.OnFinal && m != inbox.OnQuestions {
			return notAllowed(indexed("methods", i), "an agent subscribes to %s and %s only", inbox.OnFinal, inbox.OnQuestions)
		}
	}
	return nil
}
