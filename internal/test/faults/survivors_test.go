//go:build linux

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// A server that is killed cannot end what its agents have started. The next
// start does, whatever signals and ends of input that ignores.
func TestNextStartEndsWhatAgentsOfAKilledServerLeft(t *testing.T) {
	t.Parallel()
	p := newTestbed(t)
	script := filepath.Join(p.root, "stray.sh")
	mark := fmt.Sprintf("mark-%d", os.Getpid())
	// The background shell ignores TERM and holds none of our pipes.
	text := "#!/bin/sh\n(trap '' TERM; sh -c 'while :; do sleep 1; done' " + mark + ") <&- >&- 2>&- &\necho ready\nsleep 300\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	bad, err := hosttest.Build(p.root, "./internal/test/badagent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range withArgument(mark) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the test has failed
		}
	})
	agents := []string{"--agent", "stray=exec:" + script, "--agent", "bad=acp:" + bad}
	s := p.start(t, agents...)
	for agent, prompt := range map[string]string{"stray": "go", "bad": "grandchild " + mark + "\nsay ready\nwait"} {
		s.must(t, "thread/start", object{"thread_id": agent, "agent": agent, "cwd": p.root})
		s.must(t, "turn/start", turn(agent, prompt))
	}
	eventually(t, "both agents are at work", func() bool {
		log := strings.Join(s.log(t), "\n")
		return len(withArgument(mark)) == 2 && strings.Contains(log, `"text":"ready"`) && strings.Contains(log, `"text":"ready\n"`)
	})
	s.kill()
	if n := len(withArgument(mark)); n != 2 {
		t.Fatalf("%d processes have outlived the server, want 2", n)
	}
	s = p.start(t, agents...)
	if pids := withArgument(mark); len(pids) > 0 {
		t.Errorf("still alive: %v\n%s", pids, s.stderr.tail())
	}
	if left, err := os.ReadDir(filepath.Join(p.data, "processes")); err != nil || len(left) > 0 {
		t.Errorf("records left: %v, %v", left, err)
	}
	if err := checkLog(s.log(t), true); err != nil {
		t.Error(err)
	}
	s.stop(t)
}

// withArgument returns the living processes that have mark as an argument.
func withArgument(mark string) []int {
	return agenttest.Processes(func(args string) bool { return strings.Contains(args, "\x00"+mark+"\x00") })
}

// eventually waits for what must come, however busy the machine is.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("never: %s", what)
		}
	}
}
