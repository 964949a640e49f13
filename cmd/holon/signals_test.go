package main

import (
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

func TestAClosedTerminalStopsTheServerInOrder(t *testing.T) {
	binary := build(t, t.TempDir(), "./cmd/holon")
	begin := func(t *testing.T, environ string, wrap ...string) stopBed {
		s := stopBed{&builds{server: &server{t: t, data: t.TempDir()}, binary: binary}}
		args := append(wrap, binary, "serve", "--data", s.data, "--listen", "127.0.0.1:0")
		s.process = startProcess(t, []string{environ, "XDG_CONFIG_HOME=" + t.TempDir()}, args[0], args[1:]...)
		c := client.New(client.Discover(s.data))
		defer c.Close()
		eventually(t, "the server is ready", func() bool { return c.Ready(t.Context()) == nil })
		return s
	}
	signal := func(s stopBed, sig syscall.Signal) {
		if err := s.process.cmd.Process.Signal(sig); err != nil {
			s.t.Fatal(err)
		}
	}
	t.Run("as SIGTERM does", func(t *testing.T) {
		s := begin(t, "HOLON_DRAIN_SECONDS=0.1")
		cut := s.begin("a", "echo", long)
		s.becomes(cut, runs)
		signal(s, syscall.SIGHUP)
		exited(t, s.process)
		if code := s.process.cmd.ProcessState.ExitCode(); code != 0 || !strings.Contains(s.process.output.String(), `"message":"stopped"`) {
			t.Errorf("it ended with %v", s.process.cmd.ProcessState)
		}
	})
	t.Run("also if the shell and the kernel tell it twice", func(t *testing.T) {
		s := begin(t, "HOLON_DRAIN_SECONDS=60")
		running := s.begin("a", "echo", long)
		s.becomes(running, runs)
		for range 3 {
			signal(s, syscall.SIGHUP)
			eventually(t, "it drains", func() bool { return s.state().State == "draining" })
		}
		s.call("turn/interrupt", map[string]any{"turn_id": running}, nil)
		exited(t, s.process)
		if code := s.process.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("it ended with %v", s.process.cmd.ProcessState)
		}
	})
	t.Run("unless it was started with nohup", func(t *testing.T) {
		s := begin(t, "HOLON_DRAIN_SECONDS=0.1", "sh", "-c", `trap "" HUP INT QUIT PIPE; exec "$0" "$@" --agent tells='exec:grep SigIgn /proc/self/status'`)
		turn := s.begin("a", "echo", "/sleep 300")
		signal(s, syscall.SIGHUP)
		s.becomes(turn, func(t *turns.Turn) bool { return t.State == turns.Completed })
		if state := s.state().State; state != "running" {
			t.Errorf("it is %s", state)
		}
		t.Run("but its agents ignore none of what it ignores", func(t *testing.T) {
			if runtime.GOOS != "linux" {
				hosttest.Need(t, "signals that are ignored are read in /proc, which only Linux has")
			}
			said := strings.TrimSpace(s.want("run", "-q", "--agent=tells", "x"))
			mask, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(said, "SigIgn:")), 16, 64)
			if err != nil {
				t.Fatalf("the agent says %q", said)
			}
			for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE} {
				if mask&(1<<(s-1)) != 0 {
					t.Errorf("the agent ignores %v", s)
				}
			}
		})
		signal(s, syscall.SIGINT) // also where a script started it with "&", which ignores it
		exited(t, s.process)
		if code := s.process.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("it ended with %v", s.process.cmd.ProcessState)
		}
	})
}
