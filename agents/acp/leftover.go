package acp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/agents/process"
)

// How long processes that a cancelled prompt has left running get to end. The
// turn ends after that.
const (
	leftTerm = time.Second            // after TERM
	leftKill = time.Second            // after KILL, until the kernel has done it
	leftWait = 250 * time.Millisecond // for the agent's own clean-up
	leftPoll = 10 * time.Millisecond
)

// sweep ends the processes that a cancelled prompt has left running, once its
// agent has ended the prompt. Then it has pump end the prompt. Later calls do
// nothing.
func (s *session) sweep(run *promptRun) {
	run.swept.Do(func() {
		leftoversOf(s, run).end(func() bool {
			runs := false
			ctx, stop := context.WithTimeout(s.ctx, lastOutputWait)
			defer stop()
			err := s.do(ctx, func() { runs = s.m.CommandRuns() })
			return err == nil && runs
		}, func(text string) { s.push(noticeEvent(text)) })
		s.push(event{kind: evResult, run: run, raw: run.end.result, err: run.end.err, swept: true})
	})
}

// sweepAbandoned works like sweep, for an abandoned session in a process that keeps
// running.
func (s *session) sweepAbandoned(run *promptRun) {
	leftoversOf(s, run).end(s.m.CommandRuns, func(text string) { // pump has ended, so the mapping is free
		ctx, stop := context.WithTimeout(context.WithoutCancel(run.emitCtx), lastOutputWait)
		defer stop()
		_ = run.p.Emit(ctx, notice("warning", text, nil)) // fails if the turn is over
	})
}

// leftovers are commands that a prompt has started and its agent has left
// running, as Codex does.
type leftovers struct {
	pr        *proc
	threadID  string
	sessionID string
	since     process.Moment // when the prompt was sent to the agent; 0 = unknown
}

func leftoversOf(s *session, run *promptRun) leftovers {
	return leftovers{pr: s.pr, threadID: s.threadID, sessionID: s.id, since: run.since}
}

// end ends them; see belongs. If the agent says that a command runs, and
// processes are left that cannot be attributed, tell is called.
func (l leftovers) end(runs func() bool, tell func(text string)) {
	if l.pr.kill.fired() {
		return // its descendants end with it
	}
	ran := runs()
	ended := map[int]string{}
	left := l.pr.group.EndSince(l.since, func(d process.Descendant) bool {
		belongs := l.belongs(d)
		if belongs {
			ended[d.PID] = d.Command
		}
		return belongs
	}, leftTerm, leftKill)
	if len(ended) > 0 {
		l.pr.log().Info("ended processes that a cancelled prompt has left running",
			zap.String("thread", l.threadID), zap.Any("processes", ended), zap.Int("left", len(left)))
	}
	switch {
	case !ran:
	case l.since == 0:
		tell(leftText + "which cannot be told on this system.")
	case len(ended) > 0 && len(left) == 0:
		waitFor(func() bool { return !runs() }) // the agent may say how it has ended
	default:
		waitFor(func() bool {
			left = l.pr.group.Since(l.since)
			return len(left) == 0 || !runs()
		})
		if len(left) > 0 {
			tell(leftText + l.doubt(left))
		}
	}
}

const leftText = "The turn was interrupted while a command ran. It may run still, "

// waitFor waits until ok is true, at most leftWait.
func waitFor(ok func() bool) {
	limit, poll := time.After(leftWait), time.Tick(leftPoll)
	for !ok() {
		select {
		case <-poll:
		case <-limit:
			return
		}
	}
}

// minSessionID is the length from which a session's id in an environment is not
// considered a coincidence.
const minSessionID = 16

// belongs reports whether a process that began since the prompt is a command of
// it. Such a process is in another session of the system than the agent; the
// agent's helpers, which later turns need, are in the agent's. Its environment
// has the id of the agent's session, as Codex sets it. Or it has no session's
// id and began while nothing else ran in the agent's process.
func (l leftovers) belongs(d process.Descendant) bool {
	if !d.Apart {
		return false
	}
	for _, variable := range d.Environment() {
		_, value, _ := strings.Cut(variable, "=")
		if len(value) < minSessionID {
			continue
		}
		if value == l.sessionID {
			return true
		}
		if l.pr.router.find(value) != nil {
			return false
		}
	}
	return !l.pr.a.pool.sharedAt(l.pr, d.Began)
}

// maxLeft is how many processes a notice names.
const maxLeft = 8

// doubt explains why these processes cannot be attributed.
func (l leftovers) doubt(left []process.Descendant) string {
	why := "because the agent has processes in its own session, as its helpers are: "
	var names []string
	for _, d := range left {
		if d.Apart {
			why = "because it does not end, or other turns ran in the same process of the agent: "
		}
		if len(names) < maxLeft {
			names = append(names, fmt.Sprintf("%s (%d)", d.Command, d.PID))
		}
	}
	if more := len(left) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return why + strings.Join(names, ", ") + "."
}
