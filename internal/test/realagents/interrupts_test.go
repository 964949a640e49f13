//go:build linux

package realagents

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// interrupts is how many times a stream is interrupted, to see how the time
// varies.
const interrupts = 5

func interruptStream(r *run) {
	threadID, _ := r.thread()
	r.says(threadID, "SAY apple", "I say apple.")
	session := r.session(threadID)
	var all []time.Duration
	for range interrupts {
		v, took := r.interrupt(r.slow(threadID, "SLOW please"))
		if v.words() < 3 {
			r.fail("of the text only %q is left", v.said())
		}
		all = append(all, took)
	}
	slices.Sort(all)
	r.remark("%d times, ended after %d ms, at most %d", interrupts, all[interrupts/2].Milliseconds(), all[interrupts-1].Milliseconds())
	r.says(threadID, "RECALL", "apple")
	if now := r.session(threadID); now != session {
		r.fail("the session was %s and is %s", session, now)
	}
}

func interruptPermission(r *run) {
	threadID, cwd := r.thread()
	r.says(threadID, "SAY apple", "I say apple.")
	turnID := r.turn(threadID, "TOOL please")
	question := r.question(turnID, "permission_request")
	v, took := r.interrupt(turnID)
	if v.items[question].status != "cancelled" {
		r.fail("the question has ended %s", v.items[question].status)
	}
	if fileExists(filepath.Join(cwd, "tool-was-here.txt")) {
		r.fail("the tool ran all the same")
	}
	r.remark("ended after %d ms", took.Milliseconds())
	r.says(threadID, "RECALL", "apple")
}

func interruptTool(r *run) {
	threadID, turnID, pid := r.hang()
	r.settle() // an agent may end a new command but abandon one that has run for a while
	_, took := r.interrupt(turnID)
	r.remark("ended after %d ms", took.Milliseconds())
	r.ended(pid)
	r.says(threadID, "SAY again", "I say again.")
}

// interruptBesideTool interrupts one of two turns. Their commands run in one
// process of the agent.
func interruptBesideTool(r *run) {
	_, other, otherPID := r.hang()
	_, turnID, pid := r.hang()
	r.settle()
	v, _ := r.interrupt(turnID)
	if !r.owns(otherPID) {
		r.fail("the command of the other turn has ended")
	}
	if doubt := v.noticed("It may run still"); doubt != "" {
		r.remark("not told apart: %.120s", doubt)
	} else {
		r.ended(pid)
		r.remark("only the one")
	}
	r.interrupt(other)
	r.ended(otherPID)
}

// hang starts a turn in a new thread whose command does not end by itself.
func (r *run) hang() (threadID, turnID string, pid int) {
	r.Helper()
	threadID, cwd := r.thread()
	turnID = r.turn(threadID, "HANG please")
	r.respond(r.question(turnID, "permission_request"), "allow_once")
	return threadID, turnID, r.hanging(filepath.Join(cwd, "hanging-pid.txt"))
}

// ended checks that a command ends with its turn or soon after it.
func (r *run) ended(pid int) {
	r.Helper()
	interrupted := time.Now()
	for r.owns(pid) {
		if time.Since(interrupted) > goneWithin {
			r.fail("the command still runs %s after the turn's end", goneWithin)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if gone := time.Since(interrupted); gone > time.Second {
		r.remark("the command %.1f s later", gone.Seconds())
	}
}

// commandRuns is how long a command has run when it is interrupted.
const commandRuns = time.Second

func (r *run) settle() {
	select {
	case <-time.After(commandRuns):
	case <-r.ctx.Done():
		r.fail("%v", r.ctx.Err())
	}
}

// hanging waits for the pid of a command that does not end by itself.
func (r *run) hanging(path string) int {
	r.Helper()
	for deadline := time.Now().Add(agentWithin); ; {
		if text, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(text), "\n") {
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				r.fail("the command wrote %q", text)
			}
			return pid
		}
		if time.Now().After(deadline) {
			r.fail("the command did not start")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
