package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/acptest"
)

func TestMain(m *testing.M) { acptest.Main(m) }

// client is a minimal client: it collects lines.
type client struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     interface{ Write([]byte) (int, error) }
	end    func() error // of stdin
	lines  chan []byte
	stderr bytes.Buffer
	id     int
	early  map[int]string // answers that came while another was waited for
}

func start(t *testing.T, words ...string) *client {
	t.Helper()
	return run(t, acptest.BadAgent, words...)
}

func run(t *testing.T, p acptest.Program, words ...string) *client {
	t.Helper()
	c := &client{t: t, cmd: exec.Command(acptest.Build(t, p), words...), lines: make(chan []byte, 100_000), early: map[int]string{}}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.end, c.cmd.Stderr = in, in.Close, &c.stderr
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				c.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // most have ended
		_ = c.cmd.Wait()
	})
	return c
}

func (c *client) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) request(method, params string) int {
	c.id++
	c.send(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.id, method, params)
	return c.id
}

// next returns the next line; "" = there are no more.
func (c *client) next() string {
	c.t.Helper()
	select {
	case line := <-c.lines:
		return string(line)
	case <-time.After(acptest.Patience):
		c.t.Fatal("nothing comes")
		return ""
	}
}

// answer returns the line that answers id and the lines before it. If the
// answer came during an earlier call, those lines were returned then.
// Permission requests get the option on; "" = no answer.
func (c *client) answer(id int, on string) (string, []string) {
	c.t.Helper()
	if line, ok := c.early[id]; ok {
		delete(c.early, id)
		return line, nil
	}
	var before []string
	for {
		line := c.next()
		if line == "" {
			c.t.Fatalf("the agent is gone: %s", c.stderr.String())
		}
		var m message
		if json.Unmarshal([]byte(line), &m) == nil {
			if m.Method == "" && string(m.ID) == fmt.Sprint(id) {
				return line, before
			}
			if other, err := strconv.Atoi(string(m.ID)); err == nil && m.Method == "" {
				c.early[other] = line
			}
			if m.Method != "" && m.ID != nil && on != "" {
				c.send(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":%s}}`, m.ID, on)
			}
		}
		before = append(before, line)
	}
}

func (c *client) ask(method, params string) string {
	c.t.Helper()
	line, _ := c.answer(c.request(method, params), "")
	return line
}

// open initializes the agent and opens a session.
func (c *client) open() string {
	c.t.Helper()
	c.ask("initialize", `{"protocolVersion":1,"clientCapabilities":{}}`)
	return c.session(c.ask("session/new", `{"cwd":"/","mcpServers":[]}`))
}

func (c *client) session(line string) string {
	c.t.Helper()
	_, rest, ok := strings.Cut(line, `"sessionId":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if !ok {
		c.t.Fatalf("no session: %s", line)
	}
	return id
}

func promptParams(session, text string) string {
	b, _ := json.Marshal(object{"sessionId": session, "prompt": []object{textBlock(text)}})
	return string(b)
}

const yes, cancelledOutcome = `{"outcome":"selected","optionId":"once"}`, `{"outcome":"cancelled"}`

func TestEveryGoodWordDoesWhatItSays(t *testing.T) {
	c := start(t, "steering")
	id := c.open()
	for text, want := range map[string]string{
		"hello":          `"text":"you said: hello"`,
		`say a\nb`:       `"text":"a\nb"`,
		"think hm":       `agent_thought_chunk`,
		"stream 3":       `"text":"3 "`,
		"plan":           `"status":"completed"`,
		"tool Reading":   `"kind":"read"`,
		"fail-tool x":    `"status":"failed"`,
		"execute ls":     `"exit_code":0`,
		"edit a.go":      `"type":"diff"`,
		"ask push":       `"text":"selected once"`,
		"ask-first push": `"text":"selected once"`,
		"ask-two push":   `"text":"first selected once, second selected once"`,
		"usage":          `usage_update`,
		"mode code":      `current_mode_update`,
		"model large":    `config_option_update`,
		"title T":        `session_info_update`,
		"commands":       `available_commands_update`,
		"cwd":            `"text":"/"`,
		"mcp":            `"text":"[]"`,
		"blocks":         `"text":"text"`,
		"session":        id + " new",
		"elicit name":    `"requestedSchema"`,
		"read-file /x":   `fs/read_text_file`,
		"settings":       `\"mode\":`,
		"violations":     `"text":"none"`,
		"good":           `"text":"Done."`,
	} {
		line, before := c.answer(c.request("session/prompt", promptParams(id, text)), yes)
		if !strings.Contains(line, `"stopReason":"end_turn"`) || !strings.Contains(strings.Join(before, ""), want) {
			t.Errorf("%s: want %s\n%s%s", text, want, strings.Join(before, ""), line)
		}
	}
	line, _ := c.answer(c.request("session/prompt", promptParams(id, "stop refusal\nsay never")), "")
	if !strings.Contains(line, `"refusal"`) {
		t.Errorf("stop: %s", line)
	}
	if line, _ := c.answer(c.request("session/prompt", promptParams(id, "error broken")), ""); !strings.Contains(line, `"broken"`) {
		t.Errorf("error: %s", line)
	}
}

func TestBadWordsLeaveTheProcessUsable(t *testing.T) {
	c := start(t)
	id := c.open()
	for text, want := range map[string]string{
		"junk":            "after junk",
		"huge 100000":     strings.Repeat("x", 100_000),
		"flood 1000":      "0000001000 ",
		"unknown":         "hologram_update",
		"unknown-request": "_vendor/strange",
		"wrong-types":     "still here",
		"ghost-response":  `"ghost"`,
		"ghost-session":   "boo",
		"same-id x":       "selected once, selected once",
		"bad-utf8":        "a\xff\xfe\xc3b",
		"nul":             `a\u0000\ud800\u2028b`,
		"deep":            strings.Repeat("[", nesting),
		"split":           "byte by byte: é",
		"open-tool x":     `"title":"x"`,
		"drop-ask x":      "session/request_permission",
		"stderr-flood 10": "",
	} {
		line, before := c.answer(c.request("session/prompt", promptParams(id, text)), yes)
		if !strings.Contains(line, `"stopReason"`) || !strings.Contains(strings.Join(before, ""), want) {
			t.Errorf("%s: want %.60q in %.2000q and %s", text, want, before, line)
		}
	}
	n := c.request("session/prompt", promptParams(id, "late 2\ntwice"))
	c.answer(n, "")
	if again := c.next(); !strings.Contains(again, fmt.Sprintf(`"id":%d`, n)) {
		t.Errorf("twice: %s", again)
	}
	if one, two := c.next(), c.next(); !strings.Contains(one, "late 1") || !strings.Contains(two, "late 2") {
		t.Errorf("late: %s%s", one, two)
	}
	_, before := c.answer(c.request("session/prompt", promptParams(id, "no-ids\nsay x")), "")
	if strings.Contains(before[0], "messageId") {
		t.Errorf("no-ids: %s", before)
	}
}

func TestCancelEndsAPromptUnlessItIsDeafOrHangs(t *testing.T) {
	c := start(t)
	id := c.open()
	cancel := fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, id)
	n := c.request("session/prompt", promptParams(id, "last-words bye\nsay here\nwait\nsay never"))
	c.next()
	c.send("%s", cancel)
	if line, before := c.answer(n, ""); !strings.Contains(line, "cancelled") || len(before) != 1 || !strings.Contains(before[0], "bye") {
		t.Errorf("%s%s", before, line)
	}
	// Answered first, then cancelled: the correct order.
	n = c.request("session/prompt", promptParams(id, "hang-ask x\nwait"))
	c.next()
	var asked message
	if err := json.Unmarshal([]byte(c.next()), &asked); err != nil {
		t.Fatal(err)
	}
	c.send(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":%s}}`+"\n%s", asked.ID, cancelledOutcome, cancel)
	if line, _ := c.answer(n, ""); !strings.Contains(line, `"stopReason":"cancelled"`) {
		t.Error(line)
	}
	if _, before := c.answer(c.request("session/prompt", promptParams(id, "violations")), ""); !strings.Contains(before[0], "none") {
		t.Errorf("violations: %s", before)
	}
	// Deaf: the second prompt is refused because the first still runs.
	c.request("session/prompt", promptParams(id, "deaf\nsay here\nwait"))
	c.next()
	c.send("%s", cancel)
	if line := c.ask("session/prompt", promptParams(id, "say x")); !strings.Contains(line, "a prompt is running") {
		t.Error(line)
	}
}

func TestSteeredTextIsDoneInTheSamePrompt(t *testing.T) {
	c := start(t, "steering")
	id := c.open()
	n := c.request("session/prompt", promptParams(id, "say here\nawait-steer\nawait-steer"))
	c.next()
	line, before := c.answer(c.request("_session/steering", promptParams(id, "say more")), "")
	if !strings.Contains(line, "injected") {
		t.Error(line)
	}
	_, more := c.answer(c.request("_session/steering", promptParams(id, "say last")), "")
	_, rest := c.answer(n, "")
	before = append(append(before, more...), rest...)
	if said := strings.Join(before, ""); !strings.Contains(said, `"text":"steered: say more"`) || !strings.Contains(said, `"text":"steered: say last"`) {
		t.Errorf("said %s", said)
	}
	if line := c.ask("_session/steering", `{"sessionId":"`+id+`","prompt":[{"type":"text","text":"x"}],"_meta":{"steering":{"idleBehavior":"promptRequired"}}}`); !strings.Contains(line, "promptRequired") {
		t.Error(line)
	}
}

func TestSessionsOutliveTheProcessInTheStateFile(t *testing.T) {
	state := "state=" + filepath.Join(t.TempDir(), "state.json")
	c := start(t, state)
	id := c.open()
	c.answer(c.request("session/prompt", promptParams(id, "say kept")), "")
	c.end()
	if c.next() != "" || c.cmd.Wait() != nil {
		t.Error("the end of stdin does not end it")
	}
	same := fmt.Sprintf(`{"sessionId":%q,"cwd":"/","mcpServers":[]}`, id)

	c = start(t, state)
	c.ask("initialize", `{"protocolVersion":1}`)
	line, replay := c.answer(c.request("session/load", same), "")
	if !strings.Contains(line, "modes") || len(replay) != 2 || !strings.Contains(replay[1], "kept") {
		t.Errorf("load: %s%s", replay, line)
	}
	if line, replay := c.answer(c.request("session/resume", same), ""); !strings.Contains(line, "modes") || len(replay) != 0 {
		t.Errorf("resume: %s%s", replay, line)
	}
	twin := c.session(c.ask("session/fork", same))
	if _, before := c.answer(c.request("session/prompt", promptParams(twin, "history")), ""); !strings.Contains(before[0], "say kept") {
		t.Errorf("fork: %s", before)
	}

	c = start(t, state, "forget")
	c.ask("initialize", `{"protocolVersion":1}`)
	if line := c.ask("session/load", same); !strings.Contains(line, "-32002") {
		t.Errorf("forget: %s", line)
	}
}

func TestItDiesAndStartsAsTold(t *testing.T) {
	for text, want := range map[string]string{"die 3 oops": "exit status 3", "kill 9 oops": "signal: killed"} {
		c := start(t)
		c.request("session/prompt", promptParams(c.open(), text))
		for c.next() != "" {
		}
		if err := c.cmd.Wait(); err == nil || err.Error() != want || !strings.Contains(c.stderr.String(), "oops") {
			t.Errorf("%s: %v, %s", text, err, c.stderr.String())
		}
	}
	c := start(t)
	c.request("session/prompt", promptParams(c.open(), "say x\nhalf"))
	c.next()
	if line := c.next(); !strings.HasSuffix(line, "session/upd") {
		t.Errorf("half: %q", line)
	}
	c = start(t, "protocol=2", "auth", "banner=hello there", "string-ids", "crlf")
	if line := c.next(); line != "hello there\r\n" {
		t.Errorf("banner: %q", line)
	}
	if line := c.ask("initialize", `{"protocolVersion":1}`); !strings.Contains(line, `"protocolVersion":2`) {
		t.Error(line)
	}
	if line := c.ask("session/new", `{"cwd":"/","mcpServers":[]}`); !strings.Contains(line, "-32000") {
		t.Error(line)
	}
	c.ask("authenticate", `{"methodId":"login"}`)
	c.session(c.ask("session/new", `{"cwd":"/","mcpServers":[]}`))
	c = start(t, "exit=7:needs a newer runtime")
	c.next()
	if err := c.cmd.Wait(); err == nil || err.Error() != "exit status 7" || c.stderr.String() != "needs a newer runtime\n" {
		t.Errorf("exit: %v %q", err, c.stderr.String())
	}
}

func TestTheExampleAgentIsBuiltAndSpeaks(t *testing.T) {
	c := run(t, acptest.Example)
	if line := c.ask("initialize", `{"protocolVersion":1}`); !strings.Contains(line, `"protocolVersion":1`) {
		t.Error(line)
	}
	c.session(c.ask("session/new", `{"cwd":"/","mcpServers":[]}`))
}
