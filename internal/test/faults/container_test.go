//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// entrypoint is the command that deploy/Dockerfile starts, without its CMD.
func entrypoint(t testing.TB) (command []string) {
	t.Helper()
	dockerfile, err := os.ReadFile("../../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^ENTRYPOINT (\[.*\])$`).FindAllSubmatch(dockerfile, -1)
	if len(found) != 1 {
		t.Fatalf("deploy/Dockerfile has %d lines ENTRYPOINT […], want one", len(found))
	}
	if err := json.Unmarshal(found[0][1], &command); err != nil {
		t.Fatal(err)
	}
	return command
}

// In the image, the first process collects what agents leave behind, and passes the signal
// of a stop to the server. The image itself is not built here: its entrypoint is started as
// process 1 of a namespace.
func TestTheImageLeavesNoZombies(t *testing.T) {
	t.Parallel()
	need(t, "process namespace")
	command := entrypoint(t)
	first, last := command[:len(command)-1], command[len(command)-1]
	if last != "holon" {
		t.Fatalf("the entrypoint is %q, want it to end with holon", command)
	}
	if len(first) > 0 {
		if _, err := exec.LookPath(first[0]); err != nil {
			hosttest.Need(t, first[0]+" is not installed, the first process of the image")
		}
	}
	p := newTestbed(t)
	script := filepath.Join(p.root, "orphan.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n(setsid sleep 0.1 <&- >&- 2>&- &)\necho ok\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := p.launch(t, launch{
		args: []string{"--agent", "orphan=exec:" + script},
		wrap: append([]string{"unshare", "-fp", "--kill-child", "--mount-proc"}, first...),
	})
	if err := s.ready(startWithin); err != nil {
		t.Fatalf("the server does not get ready: %v\n%s", err, s.stderr.tail())
	}
	alone := 1
	if len(first) > 0 {
		alone = 2 // the first process, and the server
	}
	eventually(t, "the server is in the namespace", func() bool { return len(descendants(t, s.pid)) == alone })
	s.must(t, "thread/start", object{"thread_id": "a", "agent": "orphan", "cwd": p.root})
	for range 3 {
		s.must(t, "turn/start", turn("a", "go").with("wait_seconds", 10))
	}
	eventually(t, "what the turns left behind has ended and is collected", func() bool {
		return len(descendants(t, s.pid)) == alone
	})
	if err := syscall.Kill(descendants(t, s.pid)[0], syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !s.wait(startWithin) || s.status != nil {
		t.Errorf("after SIGTERM to the first process: %v\n%s", s.status, s.stderr.tail())
	}
}

// descendants returns the processes below pid, each after its parent, zombies included.
func descendants(t testing.TB, pid int) (below []int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		list, _ := os.ReadFile(task) // a task may have ended
		for _, child := range strings.Fields(string(list)) {
			var number int
			if _, err := fmt.Sscan(child, &number); err != nil {
				t.Fatal(err)
			}
			below = append(append(below, number), descendants(t, number)...)
		}
	}
	return below
}
