package mapping

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestRecordedSessionsBecomeTheSameItems replays recorded sessions
// (testdata/*.ndjson, each line {"dir": "in" or "out", "msg": a JSON-RPC
// message}) and compares the ops with the .golden file beside them.
func TestRecordedSessionsBecomeTheSameItems(t *testing.T) {
	files, err := filepath.Glob("testdata/*.ndjson")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			input, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := []byte(strings.Join(replay(t, input), "\n") + "\n")
			golden := strings.TrimSuffix(file, ".ndjson") + ".golden"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the ops are not those of %s; if they are meant to be, run: go test ./agents/acp/mapping -update\n%s", golden, difference(string(want), string(got)))
			}
		})
	}
}

// conversation replays one recording.
type conversation struct {
	renderer
	session   *Session
	asked     map[string]message // requests to the agent, by id
	asking    map[string]items.PermissionRequest
	prompting bool
	loading   bool
	cancelled bool
}

type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
}

func replay(t *testing.T, input []byte) []string {
	c := &conversation{session: New(Options{Cwd: "/project"}), asked: map[string]message{}, asking: map[string]items.PermissionRequest{}}
	for line := range bytes.Lines(input) {
		var l struct {
			Dir string  `json:"dir"`
			Msg message `json:"msg"`
		}
		if err := json.Unmarshal(line, &l, jsontext.AllowInvalidUTF8(true)); err != nil {
			t.Fatalf("line %.100q: %v", line, err)
		}
		if l.Dir == "out" {
			c.sent(l.Msg)
		} else {
			c.received(l.Msg)
		}
	}
	c.lines = append(c.lines, "# gone")
	c.ops(c.session.Gone())
	return c.lines
}

func (c *conversation) sent(m message) {
	if m.Method == "" {
		c.answeredBy(m)
		return
	}
	c.lines = append(c.lines, "# "+m.Method)
	if m.ID != nil {
		c.asked[string(m.ID)] = m
	}
	switch m.Method {
	case "session/prompt":
		c.ops(c.session.Begin(0))
		c.prompting, c.cancelled, c.loading = true, false, false
	case "session/load":
		c.loading = true
	case "session/cancel":
		c.cancelled = true
	}
}

// answeredBy takes the answer to a permission request.
func (c *conversation) answeredBy(m message) {
	var result struct {
		Outcome struct {
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	_ = json.Unmarshal(m.Result, &result)
	q := c.asking[string(m.ID)]
	for _, o := range q.Options {
		if o.OptionID == result.Outcome.OptionID && strings.HasPrefix(o.Kind, "reject") {
			c.session.Answered(q, items.Answer{Status: items.StatusDeclined})
		}
	}
}

func (c *conversation) received(m message) {
	var params struct {
		Update    jsontext.Value `json:"update"`
		SessionID string         `json:"sessionId"`
	}
	_ = json.Unmarshal(m.Params, &params, jsontext.AllowInvalidUTF8(true))
	switch m.Method {
	case "session/update":
		switch {
		case c.loading:
			c.ops(c.session.Replayed(params.Update))
		case c.prompting:
			c.ops(c.session.Update(params.Update))
		default:
			c.ops(c.session.Outside(params.Update))
		}
	case "session/request_permission":
		ops, q, err := c.session.Permission(m.Params)
		c.ops(ops)
		if err != nil {
			c.lines = append(c.lines, "# "+err.Error())
			return
		}
		c.question(q)
		c.asking[string(m.ID)] = q
	case "elicitation/create", "session/elicitation":
		ops, q, err := c.session.Elicitation(m.Params)
		c.ops(ops)
		if err != nil {
			c.lines = append(c.lines, "# "+err.Error())
			return
		}
		c.lines = append(c.lines, "ask "+encoded(q))
	case "":
		c.answered(m)
	}
}

func (c *conversation) answered(m message) {
	request, ok := c.asked[string(m.ID)]
	if !ok {
		return
	}
	delete(c.asked, string(m.ID))
	c.lines = append(c.lines, "# "+request.Method+" answered")
	var p struct {
		ModeID  string `json:"modeId"`
		ModelID string `json:"modelId"`
	}
	_ = json.Unmarshal(request.Params, &p)
	switch request.Method {
	case "session/new", "session/load", "session/resume", "session/fork", "session/set_config_option":
		// gemini-cli continues with the history after its answer.
		c.ops(c.session.Opened(m.Result))
	case "session/set_mode":
		c.ops(c.session.ModeSet(p.ModeID))
	case "session/set_model":
		c.ops(c.session.ModelSet(p.ModelID))
	case "session/prompt":
		c.prompting = false
		c.ops(c.session.PromptEnded(m.Result, c.cancelled))
	}
}

// difference is where two texts differ first, line by line.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "", ""
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return "want " + a + "\n got " + b
		}
	}
	return ""
}
