//go:build linux

package realagents

import (
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func agentKilled(r *run) {
	threadID, _ := r.thread()
	r.says(threadID, "SAY apple", "I say apple.")
	session := r.session(threadID)
	if r.agent.ByMinute {
		r.nextMinute()
	}
	turnID := r.slow(threadID, "SLOW please")
	leaders := r.leaders()
	if len(leaders) == 0 {
		r.fail("the server has no process of the agent: %s", describe(r.processes()))
	}
	for _, pid := range leaders {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			r.fail("kill %d: %v", pid, err)
		}
	}
	killed := time.Now()
	v := r.end(turnID, "failed")
	if v.failure != "agent_failed" {
		r.fail("the turn has failed with %s: %s", v.failure, v.message)
	}
	if v.words() < 3 {
		r.fail("of the text only %q is left", v.said())
	}
	r.remark("failed after %d ms", v.ended.Sub(killed).Milliseconds())
	r.continued(threadID, session)
}

// agentKilledInTool kills the agent while its command runs. The command may
// have its own process session.
func agentKilledInTool(r *run) {
	threadID, cwd := r.thread()
	turnID := r.turn(threadID, "HANG please")
	r.respond(r.question(turnID, "permission_request"), "allow_once")
	r.hanging(filepath.Join(cwd, "hanging-pid.txt"))
	for _, pid := range r.leaders() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			r.fail("kill %d: %v", pid, err)
		}
	}
	if v := r.end(turnID, "failed"); v.failure != "agent_failed" {
		r.fail("the turn has failed with %s: %s", v.failure, v.message)
	}
	if _, left := r.gone(selfWithin); len(left) > 0 {
		r.fail("%d processes have survived the agent: %s", len(left), describe(left))
	}
}

// continued checks that the thread continues with its conversation.
func (r *run) continued(threadID, session string) {
	r.Helper()
	called := time.Now()
	v := r.says(threadID, "RECALL", "apple")
	if now := r.session(threadID); now != session {
		r.fail("the session was %s and is %s: %v", session, now, kinds(v))
	}
	if n := strings.Count(v.said(), "I say apple."); n > 0 {
		r.fail("what was said before came again: %q", v.said())
	}
	if len(v.items) != len(v.of("user_message", "agent_message", "reasoning", "usage", "notice")) || len(v.of("user_message")) != 1 {
		r.fail("the turn has more than the answer: %v", kinds(v))
	}
	r.remark("continued in %.1f s", v.ended.Sub(called).Seconds())
}

// nextMinute waits until the clock's minute has changed. See Agent.ByMinute.
func (r *run) nextMinute() {
	now := time.Now()
	select {
	case <-time.After(now.Truncate(time.Minute).Add(61 * time.Second).Sub(now)):
	case <-r.ctx.Done():
		r.fail("%v", r.ctx.Err())
	}
}

func serverKilled(r *run) {
	threadID, _ := r.thread()
	r.says(threadID, "SAY apple", "I say apple.")
	session := r.session(threadID)
	turnID := r.slow(threadID, "SLOW please")
	r.kill()
	if gone, left := r.gone(selfWithin); len(left) == 0 {
		r.remark("its processes gone after %.1f s", gone.Seconds())
	} else {
		r.remark("%d of its processes lived until the next start", len(left))
	}
	if r.agent.ByMinute {
		r.nextMinute()
	}
	r.start(r.T)
	if _, left := r.gone(goneWithin); len(left) > 0 {
		r.fail("%d processes have survived the next start: %s", len(left), describe(left))
	}
	v := r.until(turnID, "its end", func(v *turnView) bool { return v.state != "" })
	if open := v.open(); len(open) > 0 || v.words() < 3 {
		r.fail("after the restart the turn is %s, open: %v, said %q", v.state, open, v.said())
	}
	r.remark("turn %s", v.state)
	r.continued(threadID, session)
}

// sessionLost removes the agent's home while no turn runs. The sessions are
// lost, and the thread continues in a new one that receives the transcript.
func sessionLost(r *run) {
	threadID, _ := r.thread()
	r.says(threadID, "SAY apple", "I say apple.")
	session := r.session(threadID)
	r.stop(r)
	r.furnish(r.T)
	r.start(r.T)
	v := r.says(threadID, "RECALL", "apple")
	if now := r.session(threadID); now == session {
		r.fail("the session is still %s", session)
	}
	if v.noticed("lost the session") == "" {
		r.fail("no notice says that the session was lost: %v", kinds(v))
	}
	r.remark("goes on in a new one, told what was said")
}

func stopInOrder(r *run) {
	threadID, _ := r.thread()
	r.says(threadID, "hello", "Hello")
	r.remark("stopped in %.1f s", r.stop(r).Seconds())
	// They were killed before the server ended. The kernel may still be ending
	// them.
	if _, left := r.gone(time.Second); len(left) > 0 {
		r.fail("the server has ended and left %d processes: %s", len(left), describe(left))
	}
}
