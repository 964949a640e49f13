package acp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/agents/process"
)

// How long what a cancelled prompt has left running gets to end. The turn ends
// after it.
const (
	leftTerm   = time.Second            // after TERM
	leftKill   = time.Second            // after KILL, for the kernel to get round to it
	leftSettle = 250 * time.Millisecond // for what the agent itself still does
	leftPoll   = 10 * time.Millisecond
)

// sweep ends what a cancelled prompt has left running, once its agent has
// ended it, and has pump end it too. Later calls do nothing.
func (s *session) sweep(run *promptRun) {
	run.swept.Do(func() {
		leftoversOf(s, run).end(func() bool {
			runs := false
			ctx, stop := context.WithTimeout(s.ctx, lastWords)
			defer stop()
			err := s.do(ctx, func() { runs = s.m.CommandRuns() })
			return err == nil && runs
		}, func(text string) { s.push(noticeEvent(text)) })
		s.push(event{kind: evResult, run: run, raw: run.end.result, err: run.end.err, swept: true})
	})
}

// sweepAbandoned is sweep for a session that has been abandoned, in a process
// that goes on.
func (s *session) sweepAbandoned(run *promptRun) {
	leftoversOf(s, run).end(s.m.CommandRuns, func(text string) { // pump has ended: the mapping is nobody's
		ctx, stop := context.WithTimeout(context.WithoutCancel(run.emitCtx), lastWords)
		defer stop()
		_ = run.p.Emit(ctx, notice("warning", text, nil)) // the turn may be over: then nobody can be told
	})
}

// leftovers are the commands that a prompt has started and its agent has left
// running, as Codex does.
type leftovers struct {
	pr        *proc
	threadID  string
	sessionID string
	since     process.Moment // when the prompt was given to the agent; 0 = not known
}

func leftoversOf(s *session, run *promptRun) leftovers {
	return leftovers{pr: s.pr, threadID: s.threadID, sessionID: s.id, since: run.since}
}

// end ends them; see ours. If the agent says that a command runs, and something
// is left of which it cannot be told what it is, tell is called.
func (l leftovers) end(runs func() bool, tell func(text string)) {
	if l.pr.kill.fired() {
		return // what is below it ends with it
	}
	ran := runs()
	ended := map[int]string{}
	left := l.pr.group.EndSince(l.since, func(d process.Descendant) bool {
		ours := l.ours(d)
		if ours {
			ended[d.PID] = d.Command
		}
		return ours
	}, leftTerm, leftKill)
	if len(ended) > 0 {
		l.pr.log().Info("ended what a cancelled prompt has left running",
			zap.String("thread", l.threadID), zap.Any("processes", ended), zap.Int("left", len(left)))
	}
	switch {
	case !ran:
	case l.since == 0:
		tell(leftText + "which cannot be told on this system.")
	case len(ended) > 0 && len(left) == 0:
		settle(func() bool { return !runs() }) // the agent may say how it has ended
	default:
		settle(func() bool {
			left = l.pr.group.Since(l.since)
			return len(left) == 0 || !runs()
		})
		if len(left) > 0 {
			tell(leftText + l.doubt(left))
		}
	}
}

const leftText = "The turn was interrupted while a command ran. It may run still, "

// settle waits a moment for ok.
func settle(ok func() bool) {
	limit := time.NewTimer(leftSettle)
	defer limit.Stop()
	poll := time.NewTicker(leftPoll)
	defer poll.Stop()
	for !ok() {
		select {
		case <-poll.C:
		case <-limit.C:
			return
		}
	}
}

// minSessionID is the length from which on a session's id is taken to stand in
// an environment for no other reason.
const minSessionID = 16

// ours reports whether a process that began since the prompt is a command of
// it. It is in another session of the system than the agent, whose helpers,
// which later turns need, are not. And it has the id of the agent's session in
// its environment, as Codex sets it, or none of another, and began while
// nothing else ran in the agent's process.
func (l leftovers) ours(d process.Descendant) bool {
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

// doubt says why it cannot be told what these processes are.
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
