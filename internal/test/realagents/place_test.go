//go:build linux

package realagents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed82539d15/holon/internal/test/mockmodel"
	"github.com/seed82539d15/holon/rpc/client"
)

// The bounds of waits. They are long because agents are slow on a busy machine.
// The time is measured, and a wait that reaches its bound is a failure.
const (
	serverWithin = 30 * time.Second
	agentWithin  = 90 * time.Second
	goneWithin   = 30 * time.Second
	// selfWithin is how long an agent gets to end by itself after the server
	// has died. The next start ends what is left.
	selfWithin = 5 * time.Second
)

// markName is set in the environment of an agent, so that its child processes
// can be found even after their parents have ended.
const markName = "REAL_AGENTS_RUN"

// serverBroke matches the log of a server that crashed or found a data race
// (GOFLAGS=-race builds it with the race detector).
var serverBroke = regexp.MustCompile(`(?m)^panic: .*|^fatal error: .*|DATA RACE`)

// place is the environment for one agent: its own home, a model, and a server
// that can be started many times.
type place struct {
	agent  Agent
	cache  string
	root   string
	mark   string
	socket string
	model  *mockmodel.Server
	server *exec.Cmd
	exited chan struct{}
	log    *os.File

	first, second *client.Client // two users
	events        *watcher       // of the first
	projects      int
}

func newPlace(t *testing.T, a Agent, cache string) *place {
	t.Helper()
	root, err := os.MkdirTemp("", "holon-real-")
	if err != nil {
		t.Fatal(err)
	}
	p := &place{agent: a, cache: cache, root: root, mark: uuid.NewString(), socket: filepath.Join(root, "s")}
	if err := os.Mkdir(filepath.Join(root, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	modelLog, err := os.Create(filepath.Join(root, "model.log"))
	if err != nil {
		t.Fatal(err)
	}
	if p.log, err = os.Create(filepath.Join(root, "holon.log")); err != nil {
		t.Fatal(err)
	}
	if p.model, err = mockmodel.Start(mockmodel.Options{Log: modelLog}); err != nil {
		t.Fatal(err)
	}
	p.furnish(t)
	p.first = client.New(client.At("unix:"+p.socket, client.SourceGiven, "", false))
	p.second = client.New(client.At("unix:"+p.socket, client.SourceGiven, "", false))
	t.Cleanup(func() {
		p.kill()
		for _, pid := range p.processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // left by a failed scenario
		}
		p.first.Close()
		p.second.Close()
		if err := errors.Join(p.model.Close(), modelLog.Close(), p.log.Close()); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(p.log.Name()); err != nil {
			t.Error(err)
		} else if wrong := serverBroke.Find(text); wrong != nil {
			t.Errorf("the server's log has %q", wrong)
		}
		if t.Failed() {
			t.Logf("logs are kept in %s", root)
			return
		}
		_ = os.RemoveAll(root)
	})
	return p
}

// furnish makes a home for the agent with nothing but its settings, and writes
// the server's configuration.
func (p *place) furnish(t *testing.T) {
	t.Helper()
	home := filepath.Join(p.root, "home")
	if err := os.RemoveAll(home); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	launch, err := p.agent.Configure(p.cache, home, p.model.URL())
	if err != nil {
		t.Fatal(err)
	}
	launch.Env[markName] = p.mark
	config := launch.Config(p.agent.Name) + fmt.Sprintf("\n[sources.github]\nkind = \"github\"\nsecret = %q\n", webhookSecret)
	if err := os.WriteFile(filepath.Join(p.root, "holon.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start starts the server and follows its log from the beginning.
func (p *place) start(t *testing.T) {
	t.Helper()
	p.server = exec.Command(binary, "serve", "--config", filepath.Join(p.root, "holon.toml"),
		"--data", filepath.Join(p.root, "data"), "--listen", "unix:"+p.socket)
	p.server.Stdout, p.server.Stderr = p.log, p.log
	p.server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "HOLON_") {
			p.server.Env = append(p.server.Env, e)
		}
	}
	// The settings of the user who runs the tests must not count.
	p.server.Env = append(p.server.Env, "XDG_CONFIG_HOME="+p.root)
	if err := p.server.Start(); err != nil {
		p.server = nil
		t.Fatal(err)
	}
	exited := make(chan struct{})
	p.exited = exited
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait() // how it ended is in its log
		close(exited)
	}(p.server)
	ctx, cancel := context.WithTimeout(context.Background(), serverWithin)
	defer cancel()
	for p.first.Ready(ctx) != nil {
		select {
		case <-exited:
			t.Fatalf("the server has ended:\n%s", p.logTail())
		case <-ctx.Done():
			t.Fatalf("the server does not get ready:\n%s", p.logTail())
		case <-time.After(5 * time.Millisecond):
		}
	}
	p.events = watch(p.first)
}

// kill ends the server at once, without a shutdown.
func (p *place) kill() {
	if p.server == nil {
		return
	}
	p.events.stop()
	_ = syscall.Kill(p.server.Process.Pid, syscall.SIGKILL) // it may have ended
	<-p.exited
	p.server = nil
}

// stop shuts the server down and returns how long that took.
func (p *place) stop(r *run) time.Duration {
	r.Helper()
	p.events.stop()
	asked := time.Now()
	if err := p.server.Process.Signal(syscall.SIGTERM); err != nil {
		r.fail("%v", err)
	}
	select {
	case <-p.exited:
	case <-time.After(serverWithin):
		r.fail("the server does not stop:\n%s", p.logTail())
	}
	p.server = nil
	return time.Since(asked)
}

// recover prepares the place for the next scenario after a failed one.
func (p *place) recover(t *testing.T) {
	t.Helper()
	p.kill()
	for _, pid := range p.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	p.start(t)
}

func (p *place) logTail() string {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4<<10):])
}

// project makes a directory for a thread to work in.
func (p *place) project(t *testing.T) string {
	t.Helper()
	p.projects++
	dir := filepath.Join(p.root, fmt.Sprintf("project-%d", p.projects))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// processes returns the agent's living processes. They have the mark in their
// environment or their working directory is below the root.
func (p *place) processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	server := 0
	if p.server != nil {
		server = p.server.Process.Pid
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() || pid == server || !p.owns(pid) {
			continue
		}
		pids = append(pids, pid)
	}
	return pids
}

func (p *place) owns(pid int) bool {
	dir := fmt.Sprintf("/proc/%d", pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return false
	}
	// The state follows the name. The name may hold any character, so it ends
	// at the last bracket. Zombies are dead.
	if rest := stat[bytes.LastIndexByte(stat, ')')+1:]; len(rest) < 2 || rest[1] == 'Z' {
		return false
	}
	environ, err := os.ReadFile(dir + "/environ")
	if err == nil && bytes.Contains(environ, []byte(markName+"="+p.mark)) {
		return true
	}
	cwd, err := os.Readlink(dir + "/cwd")
	return err == nil && strings.HasPrefix(cwd, p.root+"/project-")
}

// leaders returns the agent's processes that the server itself has started.
func (p *place) leaders() []int {
	var pids []int
	for _, pid := range p.processes() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(p.server.Process.Pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits until no process of the agent is left. It returns how long that
// took and, if it took too long, the processes left.
func (p *place) gone(within time.Duration) (took time.Duration, left []int) {
	started := time.Now()
	for {
		left := p.processes()
		if took := time.Since(started); len(left) == 0 || took > within {
			return took, left
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func describe(pids []int) string {
	var list []string
	for _, pid := range pids {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		list = append(list, fmt.Sprintf("%d %.120s", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return strings.Join(list, "; ")
}
