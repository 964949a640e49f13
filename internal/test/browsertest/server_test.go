package browsertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

	"github.com/seed82539d15/holon/rpc/client"
)

// patience is how long anything may take before a test fails. It is long because a loaded
// machine is no failure.
const patience = time.Minute

type object = map[string]any

// server is a server process, which may be killed and started again on the same port.
type server struct {
	t      testing.TB
	root   string
	url    string
	token  string // of the owner, if the server asks for it
	args   []string
	env    []string
	cmd    *exec.Cmd
	exited chan struct{}
	log    output
}

// serve starts a server with an empty log. config is its configuration file.
func serve(t testing.TB, config string, args ...string) *server {
	t.Helper()
	root, err := os.MkdirTemp(scratch, "")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, root: root, url: "http://127.0.0.1:0", args: args}
	if err := os.WriteFile(s.path("config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "HOLON_") {
			s.env = append(s.env, e)
		}
	}
	s.env = append(s.env, "HOME="+root, "XDG_CONFIG_HOME="+root, "XDG_STATE_HOME="+root)
	s.start()
	t.Cleanup(func() {
		s.kill()
		if out := s.log.String(); strings.Contains(out, "panic:") || strings.Contains(out, "fatal error:") {
			t.Errorf("the server panicked:\n%s", s.log.tail())
		}
	})
	return s
}

func (s *server) path(name string) string { return filepath.Join(s.root, name) }

// start starts the process and waits until it is ready. The first time the server chooses a
// port, and says in server.json which; after that it comes back to that one.
func (s *server) start() {
	s.t.Helper()
	args := append([]string{"serve", "--config", s.path("config.toml"), "--data", s.path("data"), "--listen", strings.TrimPrefix(s.url, "http://")}, s.args...)
	s.cmd = exec.Command(binary, args...)
	s.cmd.Env = s.env
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.WaitDelay = 5 * time.Second
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	exited := make(chan struct{})
	s.exited = exited
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait() // how it ended is in its log
		close(exited)
	}(s.cmd)
	s.eventually("the server is ready", func() error {
		select {
		case <-exited:
			return fatal{fmt.Errorf("it has ended:\n%s", s.log.tail())}
		default:
		}
		record, err := client.ReadServerFile(s.path("data"))
		if err != nil {
			return err
		}
		if record.PID != s.cmd.Process.Pid {
			return fmt.Errorf("server.json is of process %d", record.PID)
		}
		s.url = record.URLs[0]
		res, err := http.Get(s.url + "/readyz")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	})
}

// kill ends the process as a crash does.
func (s *server) kill() {
	_ = s.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	<-s.exited
}

// fatal is an error that waiting does not heal.
type fatal struct{ error }

// eventually asks again until f has no error.
func (s *server) eventually(what string, f func() error) {
	s.t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
		if hopeless := (fatal{}); errors.As(err, &hopeless) {
			break
		}
	}
	s.t.Fatalf("%s: it does not happen: %v", what, err)
}

// call sends a request as the owner and returns its result.
func (s *server) call(method string, params object) object {
	s.t.Helper()
	result, err := s.try(s.token, method, params)
	if err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
	return result
}

// try sends a request with a token; "" is the server's own user.
func (s *server) try(token, method string, params object) (object, error) {
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, s.url+"/rpc", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Result object
		Error  *struct {
			Message string
			Data    object
		}
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("%s: %.200s", res.Status, raw)
	}
	if answer.Error != nil {
		return nil, fmt.Errorf("%s %v", answer.Error.Message, answer.Error.Data)
	}
	return answer.Result, nil
}

// thread starts a thread of an agent and returns its id.
func (s *server) thread(agent string, more object) string {
	s.t.Helper()
	params := object{"agent": agent, "cwd": s.root}
	for k, v := range more {
		params[k] = v
	}
	return s.call("thread/start", params)["thread_id"].(string)
}

// turn starts a turn and returns its id.
func (s *server) turn(thread, text string, more object) string {
	s.t.Helper()
	params := object{"thread_id": thread, "input": said(text)}
	for k, v := range more {
		params[k] = v
	}
	return s.call("turn/start", params)["turn_id"].(string)
}

func said(text string) []object {
	return []object{{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": text}}}}
}

// until waits until a turn is in a state, and returns the row.
func (s *server) until(turn, state string) (row object) {
	s.t.Helper()
	s.eventually("the turn is "+state, func() error {
		row = s.call("turn/read", object{"turn_id": turn})["turn"].(object)
		if row["state"] != state && row["progress"] != state {
			return fmt.Errorf("it is %v, %v", row["state"], row["progress"])
		}
		return nil
	})
	return row
}

// ended starts a turn and waits for its end.
func (s *server) ended(thread, text string) {
	s.t.Helper()
	s.until(s.turn(thread, text, nil), "completed")
}

// seq is the newest seq of the log.
func (s *server) seq() int64 {
	s.t.Helper()
	return int64(s.call("holon/status", object{})["latest_seq"].(float64))
}

// items are the live items of a thread, the oldest first.
func (s *server) items(thread string) (all []object) {
	s.t.Helper()
	params := object{"thread_id": thread, "limit": 1000}
	for {
		page := s.call("item/list", params)
		for _, item := range page["items"].([]any) {
			all = append(all, item.(object))
		}
		next, _ := page["next_cursor"].(string)
		if next == "" {
			return all
		}
		params["cursor"] = next
	}
}

// said waits until the agent of a thread has said something whole.
func (s *server) said(thread string) {
	s.t.Helper()
	s.eventually("the agent has spoken", func() error {
		all := s.items(thread)
		for _, item := range all {
			if item["type"] == "agent_message" && item["status"] == "completed" {
				return nil
			}
		}
		return fmt.Errorf("the items are %v", all)
	})
}

// output keeps the end of what a process prints.
type output struct {
	mu  sync.Mutex
	buf []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf, p...)
	if len(o.buf) > 4<<20 {
		o.buf = o.buf[2<<20:]
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.buf)
}

func (o *output) tail() string {
	s := o.String()
	return s[max(0, len(s)-3000):]
}
