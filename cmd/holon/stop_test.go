package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/internal/host"
	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// stopBed is the real server, in a process of its own.
type stopBed struct{ *builds }

func (s stopBed) state() serverStatus {
	s.t.Helper()
	var state serverStatus
	s.call("holon/status", nil, &state)
	return state
}

func (s stopBed) call(method string, params map[string]any, result any) {
	s.t.Helper()
	c := client.New(client.Discover(s.data))
	defer c.Close()
	if err := c.Call(s.t.Context(), method, params, result); err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
}

// begin starts a turn in a thread of its own.
func (s stopBed) begin(thread, agent, input string) (turnID string) {
	s.t.Helper()
	s.call("thread/start", map[string]any{"thread_id": thread, "agent": agent}, nil)
	return s.add(thread, input)
}

func (s stopBed) add(thread, input string) (turnID string) {
	s.t.Helper()
	var r struct {
		TurnID string `json:"turn_id"`
	}
	s.call("turn/start", map[string]any{"thread_id": thread, "input": userInput(input)}, &r)
	return r.TurnID
}

func (s stopBed) turn(id string) *turns.Turn {
	s.t.Helper()
	var r struct {
		Turn *turns.Turn `json:"turn"`
	}
	s.call("turn/read", map[string]any{"turn_id": id}, &r)
	return r.Turn
}

func (s stopBed) becomes(id string, is func(*turns.Turn) bool) {
	s.t.Helper()
	eventually(s.t, "turn "+id, func() bool { return is(s.turn(id)) })
}

// stops runs holon stop, which must stop the server, and returns what it says.
func (s stopBed) stops(args ...string) stopped {
	s.t.Helper()
	return s.saysStopped(s.want(append([]string{"stop", "-o", "json"}, args...)...))
}

func (s stopBed) saysStopped(out string) (r stopped) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	exited(s.t, s.process)
	if r.PID != s.process.cmd.Process.Pid {
		s.t.Errorf("stopped process %d", r.PID)
	}
	return r
}

// stop starts holon stop as a process, which can get signals.
func (s stopBed) stop(args ...string) *process {
	s.t.Helper()
	return startProcess(s.t, []string{"HOLON_DATA=" + s.data, "HOLON_URL=", "HOLON_TOKEN=", "XDG_CONFIG_HOME=" + s.t.TempDir()}, s.binary, append([]string{"stop"}, args...)...)
}

func (s stopBed) says(p *process, text string) {
	s.t.Helper()
	eventually(s.t, "it says "+text, func() bool { return strings.Contains(p.output.String(), text) })
}

// ends waits for the end of holon stop.
func (s stopBed) ends(p *process, code int) {
	s.t.Helper()
	exited(s.t, p)
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit %d, want %d:\n%s", got, code, p.output.String())
	}
}

// exited waits for the end of a process.
func exited(t *testing.T, p *process) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(time.Minute):
		t.Fatalf("process %d still runs, and says:\n%s", p.cmd.Process.Pid, p.output.String())
	}
}

const long = "/sleep 3600000"

func TestStop(t *testing.T) {
	binary := build(t, t.TempDir(), "./cmd/holon")
	tests := map[string]func(stopBed){
		"cuts what runs after drain_seconds, and names it": func(s stopBed) {
			completed := s.begin("short", "echo", "hello")
			s.becomes(completed, func(t *turns.Turn) bool { return t.State.Ended() })
			cut := s.begin("a", "echo", long)
			s.becomes(cut, runs)
			queued := s.add("a", "next")
			r := s.stops()
			if len(r.Cut) != 1 || r.Cut[0].TurnID != cut || r.Cut[0].ThreadID != "a" || r.Cut[0].State != turns.Interrupted || r.Paused || r.Data != s.data {
				s.t.Errorf("it says %+v", r)
			}
			if code := s.process.cmd.ProcessState.ExitCode(); code != 0 {
				s.t.Errorf("the server's exit code is %d", code)
			}
			s.up()
			s.becomes(queued, func(t *turns.Turn) bool { return t.State == turns.Completed })
		},
		"says that nothing is there to stop": func(s stopBed) {
			s.stops()
			if r := s.holon("stop"); r.code != exitNoServer || r.err != "holon: no server runs on "+s.data+"\n  There is nothing to stop. Start one with: holon serve --data "+s.data+"\n" {
				s.t.Errorf("after a stop: %+v", r)
			}
			s.up()
			s.process.kill() // server.json stays
			if r := s.holon("stop", "--wait", "1h"); r.code != exitNoServer || !strings.Contains(r.err, "no server runs on "+s.data) {
				s.t.Errorf("after a kill: %+v", r)
			}
		},
		"--wait lets turns end, and starts no other until the next start": func(s stopBed) {
			first := s.begin("a", "echo", "/ask go?\n/sleep 1")
			eventually(s.t, "it asks", func() bool { return s.turn(first).WaitsForPerson() })
			running := s.begin("b", "echo", long)
			s.becomes(running, runs)
			p := s.stop("--wait", "1h", "-o", "json")
			eventually(s.t, "the server is paused", func() bool { return s.state().State == "paused" })
			queued := s.add("b", "next")
			s.call("turn/interrupt", map[string]any{"turn_id": running}, nil)
			s.ends(p, exitOK)
			if r := s.saysStopped(p.output.String()); len(r.Cut) > 0 || r.Paused {
				s.t.Errorf("it says %+v", r)
			}
			s.up()
			s.becomes(queued, func(t *turns.Turn) bool { return t.State == turns.Completed })
			if state := s.state().State; state != "running" {
				s.t.Errorf("the server is %s", state)
			}
		},
		"--wait says what it cuts when the time is over": func(s stopBed) {
			cut := s.begin("a", "echo", long)
			s.becomes(cut, runs)
			r := s.holon("stop", "--wait", "1ms")
			if r.code != exitOK || !strings.Contains(r.err, "The time is over: 1 turn goes on, with 100ms to end.") || !strings.Contains(r.out, "cut short: "+cut[len(cut)-8:]+" of a: interrupted") {
				s.t.Errorf("it says %+v", r)
			}
		},
		"--wait does not wait for what a restart does not hurt": func(s stopBed) {
			asks := s.begin("asks", "echo", "/ask go?")
			s.becomes(asks, (*turns.Turn).WaitsForPerson)
			s.begin("offered", "builds", "work")
			claimed := s.begin("claimed", "leased", "work")
			s.call("turn/claim", map[string]any{"agent": "leased", "worker": "w"}, nil)
			retried := s.begin("retried", "later", "/crash 5")
			s.becomes(retried, func(t *turns.Turn) bool { return !t.RetryAt.IsZero() })
			if r := s.stops("--wait", "1h"); len(r.Cut) > 0 {
				s.t.Errorf("it says %+v", r)
			}
			s.up()
			if t := s.turn(claimed); t.State != turns.Active || t.ClaimedSeq == 0 {
				s.t.Errorf("the worker's turn is %+v", t)
			}
		},
		"--wait waits for a child, not for its owner": func(s stopBed) {
			owner := s.begin("owner", "echo", "/ask go?")
			s.becomes(owner, (*turns.Turn).WaitsForPerson)
			var started struct {
				TurnID string `json:"turn_id"`
			}
			s.call("thread/start", map[string]any{"thread_id": "child", "parent": map[string]any{"thread_id": "owner"}}, nil)
			s.call("turn/start", map[string]any{"thread_id": "child", "parent": map[string]any{"thread_id": "owner"}, "input": userInput(long)}, &started)
			child := started.TurnID
			s.becomes(child, runs)
			s.call("item/respond", map[string]any{"item_id": s.question(owner), "kind": "allow_once"}, nil)
			s.becomes(owner, (*turns.Turn).WaitsForChildren)
			p := s.stop("--wait", "1h")
			s.says(p, "Waiting for 1 turn: "+child[len(child)-8:])
			s.process.kill()
			s.ends(p, exitOK)
			s.up() // the pause was in the log
			if state := s.state().State; state != "running" {
				s.t.Errorf("the server is %s", state)
			}
		},
		"Ctrl-C ends the waiting and the pause": func(s stopBed) {
			s.becomes(s.begin("a", "echo", long), runs)
			for _, signal := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
				p := s.stop("--wait", "1h")
				s.says(p, "Waiting for 1 turn")
				if err := p.cmd.Process.Signal(signal); err != nil {
					s.t.Fatal(err)
				}
				s.ends(p, exitFailed)
				if !strings.Contains(p.output.String(), "The server goes on; its pause has ended.") || s.state().State != "running" {
					s.t.Errorf("it says %s, and the server is %s", p.output.String(), s.state().State)
				}
			}
		},
		"Ctrl-C keeps the pause with --keep-paused": func(s stopBed) {
			s.becomes(s.begin("a", "echo", long), runs)
			p := s.stop("--wait", "1h", "--keep-paused")
			s.says(p, "Waiting for 1 turn")
			if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
				s.t.Fatal(err)
			}
			s.ends(p, exitFailed)
			if !strings.Contains(p.output.String(), "The server stays paused. End the pause with: holon resume") || s.state().State != "paused" {
				s.t.Errorf("it says %s, and the server is %s", p.output.String(), s.state().State)
			}
		},
		"leaves the pause of a person alone": func(s stopBed) {
			s.becomes(s.begin("a", "echo", long), runs)
			for _, meanwhile := range []bool{false, true} {
				if !meanwhile {
					s.want("pause", "--reason", "lunch")
				}
				p := s.stop("--wait", "1h")
				s.says(p, "Waiting for 1 turn")
				if meanwhile {
					s.want("pause", "--reason", "lunch")
				}
				if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
					s.t.Fatal(err)
				}
				s.ends(p, exitFailed)
				if state := s.state().State; state != "paused" || strings.Contains(p.output.String(), "has ended") {
					s.t.Errorf("paused meanwhile: %v. It says %s, and the server is %s", meanwhile, p.output.String(), state)
				}
				s.want("resume")
			}
			s.want("pause")
			if r := s.stops("--wait", "1ms"); !r.Paused {
				s.t.Errorf("it says %+v", r)
			}
			s.up()
			if state := s.state().State; state != "paused" {
				s.t.Errorf("after the restart it is %s", state)
			}
		},
		"does not stop what somebody has resumed": func(s stopBed) {
			s.becomes(s.begin("a", "echo", long), runs)
			p := s.stop("--wait", "1h")
			s.says(p, "Waiting for 1 turn")
			s.want("resume")
			s.ends(p, exitFailed)
			if !strings.Contains(p.output.String(), "somebody has ended the pause") || s.state().State != "running" {
				s.t.Errorf("it says %s, and the server is %s", p.output.String(), s.state().State)
			}
		},
		"--keep-paused keeps the next start paused": func(s stopBed) {
			s.want("pause", "--reason", "stop") // a stop that was killed has left it
			if r := s.stops("--keep-paused"); !r.Paused {
				s.t.Errorf("it says %+v", r)
			}
			s.up()
			if state := s.state().State; state != "paused" {
				s.t.Errorf("the server is %s", state)
			}
			s.want("resume")
			s.want("pause", "--timeout", "1h")
			if r := s.stops("--keep-paused", "--wait", "1h"); !r.Paused {
				s.t.Errorf("it says %+v", r)
			}
			if log := s.want("export"); strings.Count(log, `"until"`) != 1 || !strings.Contains(log[strings.LastIndex(log, "holon/paused"):], keptReason) {
				s.t.Errorf("the pause ends by itself:\n%s", log)
			}
		},
		"--now does not wait for the drain": func(s stopBed) {
			s.environ = []string{"HOLON_DRAIN_SECONDS=60"}
			s.stops()
			s.up()
			cut := s.begin("a", "echo", long)
			s.becomes(cut, runs)
			said := s.holon("stop", "--now", "--yes")
			if !strings.Contains(said.out, " of a: the next start ends it\n") || said.code != exitOK {
				s.t.Errorf("it says %+v", said)
			}
			exited(s.t, s.process)
			s.up()
			cut = s.begin("b", "echo", long)
			s.becomes(cut, runs)
			r := s.stops("--now")
			if len(r.Cut) != 1 || r.Cut[0].TurnID != cut || r.Cut[0].State != turns.Active || r.TookMs >= 60_000 {
				s.t.Errorf("it says %+v", r)
			}
			// A supervisor takes it for what it is: somebody wanted it to end.
			if status := s.process.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
				s.t.Errorf("the server ended with %v", s.process.cmd.ProcessState)
			}
		},
		"--now leaves it to the next start what becomes of turns whose processes it kills": func(s stopBed) {
			s.environ = []string{"HOLON_DRAIN_SECONDS=60"}
			s.stops()
			s.up()
			lost := map[string]string{}
			for _, agent := range []string{"sleeps", "tries", "speaks"} {
				lost[agent] = s.begin(agent, agent, "wait")
				s.becomes(lost[agent], runs)
			}
			s.stops("--now")
			s.up()
			if t := s.turn(lost["tries"]); t.State != turns.Active || t.Attempt != 2 {
				s.t.Errorf("the turn with a policy: %+v", t)
			}
			var ended struct {
				Turns []*turns.Turn `json:"turns"`
			}
			s.call("turn/list", map[string]any{"ended_by": turns.EndedByRestart}, &ended)
			if len(ended.Turns) != 2 {
				s.t.Errorf("%d turns are listed as ended by the restart", len(ended.Turns))
			}
			for _, agent := range []string{"sleeps", "speaks"} {
				if t := s.turn(lost[agent]); t.State != turns.Interrupted || t.Reason != turns.ServerRestarted {
					s.t.Errorf("the turn of %s: %+v", agent, t)
				}
			}
		},
		"a second stop does not cut the drain of the first": func(s stopBed) {
			s.environ = []string{"HOLON_DRAIN_SECONDS=60"}
			s.stops()
			s.up()
			running := s.begin("a", "echo", long)
			s.becomes(running, runs)
			first := s.stop("--yes")
			eventually(s.t, "it drains", func() bool { return s.state().State == "draining" })
			second := s.stop("--yes")
			third := s.stop("--wait", "1h")
			s.says(second, "is stopping already")
			s.says(third, "is stopping already")
			if t := s.turn(running); t.State != turns.Active {
				s.t.Errorf("the drain was cut: %+v", t)
			}
			s.call("turn/interrupt", map[string]any{"turn_id": running}, nil)
			s.ends(first, exitOK)
			s.ends(second, exitOK)
			s.ends(third, exitOK)
			if strings.Contains(s.want("export"), "holon/paused") {
				s.t.Error("a server that stops was paused")
			}
			exited(s.t, s.process)
			if code := s.process.cmd.ProcessState.ExitCode(); code != 0 {
				s.t.Errorf("the server ended with %v", s.process.cmd.ProcessState)
			}
		},
		"refuses another server": func(s stopBed) {
			for _, url := range []string{"http://127.0.0.1:1", "https://box.example.com:8443"} {
				if r := s.holon("stop", "--url", url); r.code != exitFailed || !strings.Contains(r.err, "is not the server on "+s.data) || !strings.Contains(r.err, "On the machine of that one: holon stop --data DIR") {
					s.t.Errorf("%s: %+v", url, r)
				}
			}
			if r := s.holon("stop", "--url", s.url); r.code != exitOK {
				s.t.Errorf("its own address: %+v", r)
			}
		},
		"refuses an agent of the server": func(s stopBed) {
			p := startProcess(s.t, []string{"HOLON_DATA=" + s.data, "HOLON_URL=" + s.url, "HOLON_TOKEN=" + tokens.AgentPrefix + "x"}, s.binary, "stop")
			s.ends(p, exitFailed)
			if !strings.Contains(p.output.String(), "this is an agent of that server") || s.state().State != "running" {
				s.t.Errorf("it says %s", p.output.String())
			}
		},
		"refuses wrong usage": func(s stopBed) {
			for _, args := range [][]string{{"--wait", "0s"}, {"--wait", "-1s"}, {"--wait", "999h"}, {"--wait", "2562047h"}, {"--wait", "1h", "--now"}, {"it"}} {
				if r := s.holon(append([]string{"stop"}, args...)...); r.code != exitUsage {
					s.t.Errorf("%v: %+v", args, r)
				}
			}
			if s.state().State != "running" {
				s.t.Error("it was stopped")
			}
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := stopBed{serveConfig(t, binary, fmt.Sprintf(`
[agents.speaks]
kind = "acp"
command = [%q, "good"]
[agents.sleeps]
kind = "exec"
command = ["sleep", "3600"]
[agents.tries]
kind = "exec"
command = ["sleep", "3600"]
on_crash = "retry"
[agents.echo]
kind = "echo"
[agents.later]
kind = "echo"
on_crash = "retry"
backoff_seconds = 3600
[agents.builds]
kind = "worker"
[agents.leased]
kind = "worker"
`, acptest.Build(t, acptest.BadAgent)), "HOLON_DRAIN_SECONDS=0.1")}
			test(s)
		})
	}
}

// runs says that a turn's agent is at work.
func runs(t *turns.Turn) bool { return t.State == turns.Active && t.Progress == turns.Running }

// question is the open question of a turn.
func (s stopBed) question(turnID string) string {
	s.t.Helper()
	var r struct {
		Items []items.Item `json:"items"`
	}
	s.call("item/list", map[string]any{"turn_id": turnID, "status": "pending"}, &r)
	if len(r.Items) != 1 {
		s.t.Fatalf("%s has %d open questions", turnID, len(r.Items))
	}
	return r.Items[0].ItemID
}

// A number in server.json is not enough to get a signal.
func TestStopSendsNoSignalToAnotherProcess(t *testing.T) {
	s := startServer(t)
	bystander := startProcess(t, nil, "sleep", "600")
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		t.Fatal(err)
	}
	record.Process = host.Process{PID: bystander.cmd.Process.Pid}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{s.data, other} {
		if err := os.WriteFile(client.ServerFile(data), text, 0o600); err != nil {
			t.Fatal(err)
		}
		want, code := fmt.Sprintf("is in use by process %d, and it is not known to be a server", os.Getpid()), exitFailed
		if data == other {
			want, code = "no server runs on "+data, exitNoServer
		}
		for _, args := range [][]string{{"stop"}, {"stop", "--now"}} {
			if r := holon(t, data, "", args...); r.code != code || !strings.Contains(r.err, want) {
				t.Errorf("%v: %+v", slices.Concat(args, []string{data}), r)
			}
		}
	}
	if p := (host.Process{PID: bystander.cmd.Process.Pid}); !p.Alive() {
		t.Error("another process got the signal")
	}
}

func TestStopSaysWhatTheNextStartDoes(t *testing.T) {
	retry := &turns.RetryPolicy{OnCrash: turns.CrashRetry}
	agents := map[string]config.Agent{"mine": {}, "tries": {Retry: config.RetryPolicy{OnCrash: "retry"}}}
	for name, c := range map[string]struct {
		own   *turns.RetryPolicy
		agent string
		want  string
	}{
		"a command without a policy":   {nil, "mine", "the next start ends it"},
		"echo":                         {nil, "echo", "the next start ends it"},
		"an agent with a policy":       {nil, "tries", "the next start tries it again, if it has attempts left"},
		"a turn with a policy":         {retry, "mine", "the next start tries it again, if it has attempts left"},
		"a turn with a part of one":    {&turns.RetryPolicy{MaxAttempts: 2}, "mine", "the next start ends it"},
		"a turn that is not retried":   {&turns.RetryPolicy{OnCrash: turns.CrashInterrupt}, "tries", "the next start ends it"},
		"an agent of the command line": {nil, "other", "the next start ends it, or tries it again if the retry policy of its agent says so"},
	} {
		cut := cutTurn{State: turns.Active, onCrash: onCrash(&turns.Turn{Retry: c.own}, c.agent, agents)}
		if got := cut.outcome(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A server says at its end what the stop has cut off, and at its start what is left of that,
// with the commands that go on.
func TestServeSaysWhatItLeaves(t *testing.T) {
	s := &server{t: t, data: t.TempDir()}
	s.start()
	s.want("run", "-d", "--thread=works", "/sleep 600000")
	s.want("run", "-d", "--thread=asks", "/ask Sure?")
	eventually(t, "it asks", func() bool { return strings.Contains(s.want("respond"), "Sure?") })
	if strings.Contains(s.log.String(), "cut off") {
		t.Errorf("nothing was: %s", s.log.String())
	}
	s.stop()
	contains(t, s.log.String(), "Left for the next start: turns that were cut off: 1 (holon retry --interrupted); open questions: 1 (holon respond)")
	s.start()
	contains(t, s.log.String(), "Turns that were cut off: 1 (holon retry --interrupted); open questions: 1 (holon respond)")
	s.want("status", "--dismiss")
	s.want("respond", short(itemIDs.FindString(s.want("respond", "--long"))), "--allow")
	s.stop()
	s.start()
	if log := s.log.String(); strings.Contains(log[strings.LastIndex(log, "is serving"):], "cut off") {
		t.Errorf("it was dismissed: %s", log)
	}
}

// Whoever watches a turn that the stop cuts off is told how it is tried again: from its
// beginning, not from where it was.
func TestRunSaysHowACutTurnIsTriedAgain(t *testing.T) {
	s := &server{t: t, data: t.TempDir()}
	s.start()
	ended := make(chan result, 1)
	go func() { ended <- s.holon("run", "--thread=works", "/sleep 600000") }()
	eventually(t, "it works", func() bool { return strings.Contains(s.want("turns"), "active") })
	turn := turnIDs.FindString(s.want("turns", "--long"))
	s.stop()
	if r := <-ended; r.code != exitFailed || !strings.Contains(r.err, "holon: try it again with: holon retry "+short(turn)) {
		t.Errorf("%+v", r)
	}
}
