package api

import (
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
)

// The rules of single methods for named tokens.

// awaitedForOwner refuses a change: what turn/await answers counts as told to the owner's agent.
func awaitedForOwner(h *holder, p *TurnAwaitParams) error {
	if p.OwnerThreadID != "" && !h.Role.Covers(tokens.RoleOperate) {
		return forbidden("owner_thread_id", "role", "the token %s has the role %s, and this member needs %s", h.Name, h.Role, tokens.RoleOperate)
	}
	return nil
}

// awaitedOwn lets a limited token wait for turns of its threads.
func awaitedOwn(h *holder, p *TurnAwaitParams) error {
	if p.OwnerThreadID == "" && len(p.TurnIDs) == 0 {
		return forbidden("turn_ids", "threads", "the token %s is limited to threads: name turns of them", h.Name)
	}
	if p.OwnerThreadID != "" {
		if err := h.ownsThread("owner_thread_id", p.OwnerThreadID); err != nil {
			return err
		}
	}
	for i, id := range p.TurnIDs {
		if err := h.ownsTurn(indexed("turn_ids", i), id); err != nil {
			return err
		}
	}
	return nil
}

// childOfOwn lets a limited token start child threads of its threads, in their
// directories.
func childOfOwn(h *holder, p *ThreadStartParams) error {
	if p.Parent == nil || p.Parent.ThreadID == "" {
		return forbidden("parent", "threads", "the token %s is limited to threads: it starts child threads of them", h.Name)
	}
	if err := h.ownsThread("parent.thread_id", p.Parent.ThreadID); err != nil {
		return err
	}
	if p.ThreadID != nil && *p.ThreadID != "" {
		s, err := h.api.Reader.ReadThread(h.ctx, *p.ThreadID, 0)
		if err != nil {
			return err
		}
		if s.Thread != nil {
			if err := h.ownsThread("thread_id", *p.ThreadID); err != nil {
				return err
			}
		}
	}
	return h.inDirectoryOf(p.Parent.ThreadID, p.Cwd)
}

// inDirectoryOf keeps what starts for a thread in its directory or below.
func (h *holder) inDirectoryOf(threadID, cwd string) error {
	if cwd == "" {
		return nil
	}
	s, err := h.api.Reader.ReadThread(h.ctx, threadID, 0)
	if err != nil {
		return err
	}
	if s.Thread == nil || !inDirectory(s.Thread.Cwd, cwd) {
		return forbidden("cwd", "threads", "a child thread works in the directory of its parent or below")
	}
	return nil
}

// startedInOwn lets a limited token start turns in its threads, and jobs of turns of these.
func startedInOwn(h *holder, p *TurnStartParams) error {
	if p.Job != "" && p.ThreadID == "" && p.Parent != nil {
		if err := h.ownsThread("parent.thread_id", p.Parent.ThreadID); err != nil {
			return err
		}
		return h.inDirectoryOf(p.Parent.ThreadID, p.Cwd)
	}
	if p.ThreadID == "" {
		return forbidden("thread_id", "threads", "the token %s is limited to threads: name one of them", h.Name)
	}
	if err := h.ownsThread("thread_id", p.ThreadID); err != nil || p.Parent == nil {
		return err
	}
	return h.ownsThread("parent.thread_id", p.Parent.ThreadID)
}

// configuredOwn keeps a limited token from choosing where an agent works.
func configuredOwn(h *holder, p *ThreadConfigureParams) error {
	if p.Cwd != "" {
		return forbidden("cwd", "threads", "the token %s is limited to threads, and does not choose where their agents work", h.Name)
	}
	return nil
}

// subscribedToOwn keeps the events of other threads from the inbox of a limited token.
func subscribedToOwn(h *holder, p *InboxSubscribeParams) error {
	if p.Source != inbox.SourceEvents || len(p.ThreadIDs) == 0 {
		return forbidden("thread_ids", "threads", "the token %s is limited to threads: subscribe to %s of some of them", h.Name, inbox.SourceEvents)
	}
	return nil
}

// A console token is for a page that anybody may have left open: it makes nothing that
// outlives a sign-out of it.

func codeOfToken(h *holder, _ *SigninCodeParams) error     { return h.isNoConsole() }
func signInOfToken(h *holder, _ *SigninCreateParams) error { return h.isNoConsole() }

func (h *holder) isNoConsole() error {
	if h.Parent != "" && h.Code == nil {
		return forbidden("", "console", "%s is a console token, which makes no codes and no further console tokens", h.Name)
	}
	return nil
}

// codeForOwn limits what a limited token gives to the threads of that token.
func codeForOwn(h *holder, p *SigninCodeParams) error {
	for i, id := range p.ThreadIDs {
		if err := h.ownsThread(indexed("limited_to", i), id); err != nil {
			return err
		}
	}
	return nil
}

// seenBy returns the consumer of what the requester has looked at.
func seenBy(name string) string { return cursors.SeenPrefix + name }

// restartsOf returns the cursor of the restarts that the holder knows of.
func (h *holder) restartsOf() cursors.Name {
	return cursors.Name{ConsumerID: seenBy(h.person()), StreamName: cursors.StreamRestarts}
}

// othersCursor refuses the cursors of others: every token may say what its holder has
// looked at, and nothing else: one cursor for each thread, one for the whole log, and one
// for restarts. All consumers share the bound on cursors, so what the role read may write
// is bounded by what there is.
func othersCursor(h *holder, p *CursorAdvanceParams) error {
	switch {
	case h.Role.Covers(tokens.RoleOperate):
		return nil
	case p.ConsumerID != seenBy(h.person()):
		return forbidden("consumer_id", "role", "the token %s has the role %s: it advances the cursors of %s only", h.Name, h.Role, seenBy(h.person()))
	case p.Name == h.restartsOf():
		return nil
	case p.StreamName != cursors.StreamEvents:
		return forbidden("stream_name", "role", "the token %s has the role %s: it advances cursors of the stream %s, and without a subject of %s, only", h.Name, h.Role, cursors.StreamEvents, cursors.StreamRestarts)
	case p.SubjectID == "" || h.limited(): // whose threads are checked by themselves
		return nil
	}
	s, err := h.api.Reader.ReadThread(h.ctx, p.SubjectID, 0)
	if err == nil && s.Thread == nil {
		err = threads.ErrNotFound
	}
	return err
}

// A limited token has access to the cursors whose subject is one of its threads, and to its
// own of restarts, of which it is shown those turns that are of its threads.

func advancedOwn(h *holder, p *CursorAdvanceParams) error { return h.ownsCursor(p.Name) }
func failedOwn(h *holder, p *CursorErrorParams) error     { return h.ownsSubject(p.Name) }
func resetOwn(h *holder, p *CursorResetParams) error      { return h.ownsSubject(p.Name) }
func deletedOwn(h *holder, p *CursorDeleteParams) error   { return h.ownsSubject(p.Name) }
func readOwn(h *holder, p *CursorReadParams) error        { return h.ownsCursor(p.Name) }

func (h *holder) ownsSubject(n cursors.Name) error { return h.ownsThread("subject_id", n.SubjectID) }

func (h *holder) ownsCursor(n cursors.Name) error {
	if n == h.restartsOf() {
		return nil
	}
	return h.ownsSubject(n)
}

func listedOwn(h *holder, p *CursorListParams) error {
	if p.SubjectID == nil {
		return forbidden("subject_id", "threads", "the token %s is limited to threads: name one of them", h.Name)
	}
	return h.ownsThread("subject_id", *p.SubjectID)
}

// createdInOwn looks at the lease alone: the id of a new item names nothing yet.
func createdInOwn(h *holder, p *ItemCreateParams) error {
	return h.ownsTurn("lease.turn_id", p.Lease.TurnID)
}

// ownsTurn requires that a turn is of one of the token's threads.
func (h *holder) ownsTurn(field, turnID string) error {
	threadID, err := h.api.threadOf(h.ctx, "turn_id", turnID)
	if err != nil {
		return err
	}
	return h.ownsThread(field, threadID)
}
