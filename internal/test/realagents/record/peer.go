package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/seed82539d15/holon/internal/test/realagents"
)

// entry is one message of a recording.
type entry struct {
	Dir string          `json:"dir"`
	Msg json.RawMessage `json:"msg"`
}

// join writes a recording as lines. The characters of messages do not change.
func join(recording []entry) []byte {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	for _, e := range recording {
		if err := lines.Encode(e); err != nil {
			fmt.Fprintf(&b, "%q\n", err)
		}
	}
	return b.Bytes()
}

// message is a JSON-RPC message with the members used here.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// play is one running scenario: the agent's process and the messages so far.
// Only the goroutine of the scenario uses it.
type play struct {
	ctx       context.Context
	launch    realagents.Launch
	cwd       string
	byMinute  bool // see realagents.Agent
	recording []entry
	stderr    safeBuffer

	cmd     *exec.Cmd
	stdin   io.WriteCloser
	lines   chan []byte
	ids     int
	session string
	agent   struct { // the result of initialize
		AgentCapabilities struct {
			LoadSession         bool            `json:"loadSession"`
			SessionCapabilities map[string]any  `json:"sessionCapabilities"`
			Meta                json.RawMessage `json:"_meta"`
		} `json:"agentCapabilities"`
		Meta struct {
			Steering struct {
				Supported bool `json:"supported"`
			} `json:"steering"`
		} `json:"_meta"`
	}

	opened struct { // the result of session/new or session/fork
		SessionID string `json:"sessionId"`
		Modes     struct {
			Current   string `json:"currentModeId"`
			Available []struct {
				ID string `json:"id"`
			} `json:"availableModes"`
		} `json:"modes"`
		Options []struct {
			ID       string `json:"id"`
			Category string `json:"category"`
			Type     string `json:"type"`
			Options  []struct {
				Value any `json:"value"`
			} `json:"options"`
		} `json:"configOptions"`
	}

	// How the scenario handles requests and updates. A nil update = none.
	// permission is needed if the agent asks.
	permission func(params json.RawMessage) (any, error)
	update     func(kind string)
}

// start runs the agent's process; end ends it.
func (p *play) start() error {
	p.cmd = exec.Command(p.launch.Command[0], p.launch.Command[1:]...)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = p.cwd, p.launch.Environ(os.Environ()), &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = time.Second
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	// The channel has room for all messages of an agent in a scenario.
	lines := make(chan []byte, 1<<16)
	p.lines = lines
	go func() {
		defer close(lines)
		in := bufio.NewScanner(stdout)
		in.Buffer(nil, 16<<20)
		for in.Scan() {
			lines <- bytes.Clone(in.Bytes())
		}
	}()
	return nil
}

// end closes the agent's stdin, gives it three seconds, and kills its group.
func (p *play) end() {
	if p.cmd == nil {
		return
	}
	_ = p.stdin.Close()
	timer := time.NewTimer(3 * time.Second)
	defer timer.Stop()
	for open := true; open; {
		select {
		case _, open = <-p.lines:
		case <-timer.C:
			open = false
		}
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may be gone
	_ = p.cmd.Wait()                                      // its exit code does not matter
	p.cmd = nil
}

// write sends a message and records it.
func (p *play) write(msg any) error {
	line, err := json.Marshal(msg)
	if err != nil {
		return err
	}
	p.recording = append(p.recording, entry{"out", line})
	_, err = p.stdin.Write(append(line, '\n'))
	return err
}

func (p *play) notify(method string, params any) error {
	return p.write(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// send sends a request and returns its id.
func (p *play) send(method string, params any) (int, error) {
	p.ids++
	return p.ids, p.write(map[string]any{"jsonrpc": "2.0", "id": p.ids, "method": method, "params": params})
}

// call sends a request and waits for its result.
func (p *play) call(method string, params, result any) error {
	id, err := p.send(method, params)
	if err != nil {
		return err
	}
	answer, err := p.wait(id)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer, result)
}

// errQuiet means that no message came in time.
var errQuiet = errors.New("the agent says no more")

// wait reads messages until the answer to id.
func (p *play) wait(id int) (json.RawMessage, error) {
	for {
		m, err := p.next(p.ctx)
		if err != nil {
			return nil, err
		}
		if m.Method != "" || string(m.ID) != fmt.Sprint(id) {
			continue
		}
		if m.Error != nil {
			return nil, fmt.Errorf("%d %s %s", m.Error.Code, m.Error.Message, m.Error.Data)
		}
		return m.Result, nil
	}
}

// linger records the messages that come within d.
func (p *play) linger(d time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(p.ctx, d, errQuiet)
	defer cancel()
	for {
		if _, err := p.next(ctx); errors.Is(err, errQuiet) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// next reads and records one message, and answers it if it is a request.
func (p *play) next(ctx context.Context) (message, error) {
	select {
	case line, open := <-p.lines:
		if !open {
			return message{}, errors.New("the agent has ended its output")
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return message{}, fmt.Errorf("the agent wrote %.200q: %w", line, err)
		}
		p.recording = append(p.recording, entry{"in", line})
		return m, p.take(m)
	case <-ctx.Done():
		return message{}, context.Cause(ctx)
	}
}

// take handles a request or notification of the agent.
func (p *play) take(m message) error {
	switch {
	case m.Method == "session/update" && p.update != nil:
		var params struct {
			Update struct {
				Kind string `json:"sessionUpdate"`
			} `json:"update"`
		}
		if err := json.Unmarshal(m.Params, &params); err != nil {
			return err
		}
		p.update(params.Update.Kind)
		return nil
	case m.Method == "" || m.ID == nil:
		return nil
	case m.Method == "session/request_permission":
		result, err := p.permission(m.Params)
		if err != nil || result == nil {
			return err
		}
		return p.write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
	case m.Method == "elicitation/create":
		return p.write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{"action": "accept", "content": fill(m.Params)}})
	}
	return p.write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "Method not found"}})
}

// fill answers a form with the first choice of each of its fields.
func fill(params json.RawMessage) map[string]any {
	var form struct {
		Schema struct {
			Properties map[string]struct {
				Type  string `json:"type"`
				Enum  []any  `json:"enum"`
				OneOf []struct {
					Const any `json:"const"`
				} `json:"oneOf"`
			} `json:"properties"`
			Required []string `json:"required"`
		} `json:"requestedSchema"`
	}
	content := map[string]any{}
	if json.Unmarshal(params, &form) != nil {
		return content
	}
	for name, field := range form.Schema.Properties {
		switch {
		case len(field.OneOf) > 0:
			content[name] = field.OneOf[0].Const
		case len(field.Enum) > 0:
			content[name] = field.Enum[0]
		}
	}
	return content
}

// safeBuffer keeps the last bytes that a process writes to stderr.
type safeBuffer struct {
	mu sync.Mutex
	b  []byte
}

const stderrKept = 64 << 10

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b = append(s.b, p...)
	if len(s.b) > stderrKept {
		s.b = s.b[len(s.b)-stderrKept:]
	}
	return len(p), nil
}

// Bytes returns a copy of the kept bytes.
func (s *safeBuffer) Bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.b)
}
