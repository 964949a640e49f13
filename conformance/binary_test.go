package conformance

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// binary builds the command once for all tests of this package.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "holon-conformance-")
	if err != nil {
		return "", err
	}
	builtIn = dir
	return hosttest.Build(dir, "./cmd/holon")
})

// builtIn is the folder of the binary, empty when none was built.
var builtIn string

// cleanUpBinary removes the binary and ends the test process.
func cleanUpBinary(code int) {
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// served is a real server as a child process.
type served struct {
	http, unix, token string
}

// serve starts the real server on a loopback port and a unix socket, and ends
// it with the test.
func serve(t *testing.T, flags ...string) served {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	// Socket paths have at most 107 bytes, which t.TempDir can exceed.
	dir, err := os.MkdirTemp("", "holon-serve-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	logs, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{"serve", "--data", filepath.Join(dir, "data"),
		"--listen", "127.0.0.1:0", "--listen", "unix:" + filepath.Join(dir, "sock")}, flags...)...)
	cmd.Stdout, cmd.Stderr = logs, logs
	cmd.Env = append(os.Environ(), "HOLON_URL=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-exited:
			if err != nil {
				t.Errorf("the server ended with %v:\n%s", err, tail(logs.Name()))
			}
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			<-exited
			t.Errorf("the server did not end on SIGTERM:\n%s", tail(logs.Name()))
		}
		_ = logs.Close()
	})
	s := served{unix: "unix:" + filepath.Join(dir, "sock")}
	for deadline := time.Now().Add(20 * time.Second); s.http == ""; time.Sleep(20 * time.Millisecond) {
		var told struct {
			URLs []string `json:"urls"`
		}
		b, err := os.ReadFile(filepath.Join(dir, "data", "server.json"))
		if err == nil && json.Unmarshal(b, &told) == nil {
			for _, u := range told.URLs {
				if strings.HasPrefix(u, "http://") {
					s.http = u
				}
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server did not start:\n%s", tail(logs.Name()))
		}
	}
	token, err := os.ReadFile(filepath.Join(dir, "data", "token"))
	if err != nil {
		t.Fatal(err)
	}
	s.token = strings.TrimSpace(string(token))
	return s
}

// workersFile configures the two agents that the checks of workers need.
func workersFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "holon.toml")
	if err := os.WriteFile(path, []byte("[agents.conformance]\nkind = \"worker\"\n"+
		"[agents.conformance_brief]\nkind = \"worker\"\nlease_seconds = 2\non_crash = \"retry\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func tail(path string) string {
	b, _ := os.ReadFile(path)
	return string(b[max(0, len(b)-4000):])
}

// TestRealServerConforms runs the whole suite against the real binary, over TCP
// and over its unix socket, where only the checks about browsers are skipped.
func TestRealServerConforms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		target func(served) Target
		skips  bool
	}{
		{"tcp", func(s served) Target { return Target{URL: s.http, Token: s.token} }, false},
		{"unix", func(s served) Target { return Target{URL: s.unix} }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "--heartbeat-seconds", "3", // the default of 15 would be most of the run
				"--config", workersFile(t), "--default-agent", "echo")
			r, err := Run(t.Context(), c.target(s), Options{})
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			_ = r.WriteText(&b)
			if r.Failed() {
				t.Errorf("the server does not conform:\n%s", b.String())
			}
			for _, id := range r.IDs(Skip) {
				if !c.skips || !strings.HasPrefix(id, "admission.") && id != "error.no_token" {
					t.Errorf("%s was skipped:\n%s", id, b.String())
				}
			}
		})
	}
}

// TestPrunedServerConforms starts with a log whose first events were pruned.
func TestPrunedServerConforms(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, body := range []string{
		request("1", "thread/start", nil), request("2", "thread/start", nil), request("3", "holon/prune", obj{"before_seq": 2}),
	} {
		resp, err := http.Post(s.http+"/rpc", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.Contains(string(answer), `"result":`) {
			t.Fatalf("%s got %s, %v", body, answer, err)
		}
	}
	r, err := Run(t.Context(), Target{URL: s.http, Token: s.token},
		Options{Filter: "cursor.*,subscribe.*,stream.opened*,frame.one_message_one_line,sse.no_event_field,read.latest_seq"})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	_ = r.WriteText(&b)
	if r.Failed() || r.Passed < 20 || len(r.IDs(Skip)) > 0 {
		t.Errorf("%d passed:\n%s", r.Passed, b.String())
	}
}
