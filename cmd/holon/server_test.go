package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/cmd/holon/daemon"
	"github.com/seed82539d15/holon/rpc/client"
)

// freeAddress is an address of this machine on which nobody listens. On Linux its IP is one that no
// other test takes by chance: between the end of this look and a server's start, a port of 127.0.0.1
// may be given to anybody.
func freeAddress(t *testing.T) string {
	t.Helper()
	ip := "127.0.0.1"
	if runtime.GOOS == "linux" {
		ip = fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	}
	free, err := net.Listen("tcp", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = free.Close() }() // nothing was sent
	return free.Addr().String()
}

// buffer is a writer that several goroutines may use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// server is a real server on its own data directory.
type server struct {
	t    *testing.T
	data string
	log  buffer
	stop func()

	only    []string // instead of a free address of 127.0.0.1
	listen  []string // besides
	agents  map[string]config.Agent
	sources map[string]config.WebhookSource
	bridges map[string]config.Bridge
	drain   time.Duration // 0 = 100 ms

	logLevel string // "" = info

	environ []string // of the terminals, besides

	auth      string // "" = auto
	cert, key string // files; "" = no TLS

	change func(*config.Config) // of other settings; nil = none
}

// startServer serves in this process until the test ends.
func startServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, data: t.TempDir()}
	s.start()
	return s
}

// startServerWith serves further agents; echo stays the default.
func startServerWith(t *testing.T, definitions ...string) *server {
	t.Helper()
	s := &server{t: t, data: t.TempDir(), agents: agentsOf(t, definitions...)}
	s.start()
	return s
}

// agentsOf reads definitions in the form of --agent.
func agentsOf(t *testing.T, definitions ...string) map[string]config.Agent {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.BindAgent(flags)
	for _, d := range definitions {
		if err := flags.Set("agent", d); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	loaded, err := config.Load(flags, nil)
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Agents
}

// start starts the server, also after stop.
func (s *server) start() {
	s.t.Helper()
	settings := config.Defaults()
	settings.Data, settings.Listen = s.data, append(append([]string{}, s.only...), s.listen...)
	if len(s.only) == 0 {
		settings.Listen = append([]string{"127.0.0.1:0"}, s.listen...)
	}
	settings.LogLevel = cmp.Or(s.logLevel, settings.LogLevel)
	settings.DrainTimeout = cmp.Or(s.drain, 100*time.Millisecond)
	maps.Copy(settings.Agents, s.agents)
	settings.Sources, settings.Bridges = s.sources, s.bridges
	settings.Auth = cmp.Or(s.auth, settings.Auth)
	settings.TLSCert, settings.TLSKey = s.cert, s.key
	if s.change != nil {
		s.change(settings)
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		stderr := daemon.OpenStderr(&s.log)
		err := daemon.Run(context.Background(), daemon.Options{
			Config: settings, Version: "test", Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: stderr, Stop: stop,
		})
		stderr.Close()
		ended <- err
	}()
	s.stop = sync.OnceFunc(func() {
		close(stop)
		if err := <-ended; err != nil {
			s.t.Errorf("the server ended: %v", err)
		}
	})
	s.t.Cleanup(s.stop)
	c := client.New(client.Discover(s.data))
	defer c.Close()
	eventually(s.t, "the server is ready", func() bool { return c.Ready(s.t.Context()) == nil })
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("never: %s", what)
		}
	}
}

// result is the outcome of one command line.
type result struct {
	code     int
	out, err string
}

// holon runs a command line in this process.
func holon(t *testing.T, data, stdin string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var out, errs buffer
	g := &globals{console: console{in: strings.NewReader(stdin), out: &out, err: &errs, environ: []string{"HOLON_DATA=" + data, "XDG_CONFIG_HOME=" + t.TempDir()}}}
	code := execute(ctx, g, args)
	return result{code, out.String(), errs.String()}
}

// holon runs a command line against the server.
func (s *server) holon(args ...string) result {
	s.t.Helper()
	return holon(s.t, s.data, "", args...)
}

// want runs a command line that must succeed.
func (s *server) want(args ...string) string {
	s.t.Helper()
	r := s.holon(args...)
	if r.code != exitOK {
		s.t.Fatalf("holon %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// events returns the whole log as notification lines.
func (s *server) events() []client.Event {
	s.t.Helper()
	var all []client.Event
	var status struct {
		Latest int64 `json:"latest_seq"`
	}
	c := client.New(client.Discover(s.data))
	defer c.Close()
	if err := c.Call(s.t.Context(), "holon/status", nil, &status); err != nil {
		s.t.Fatal(err)
	}
	zero := int64(0)
	if status.Latest == 0 {
		return nil
	}
	for event, err := range c.Subscribe(client.Options{AfterSeq: &zero}).All(s.t.Context()) {
		if err != nil {
			s.t.Fatal(err)
		}
		if all = append(all, event); event.Seq == status.Latest {
			break
		}
	}
	return all
}

// oneObject decodes an output that must be exactly one JSON object.
func oneObject(t *testing.T, text string) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Fatalf("more than one object in %q", text)
	}
	return object
}

// freshDir is an empty directory that has no server.
func freshDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
