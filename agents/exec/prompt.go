package exec

import (
	"fmt"
	"os"
	osexec "os/exec"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// The variables that tell a process its turn and how to call back.
const (
	envThreadID = "HOLON_THREAD_ID"
	envTurnID   = "HOLON_TURN_ID"
	envAttempt  = "HOLON_ATTEMPT"
	envURL      = "HOLON_URL"
)

// ours are the variables a process gets from us or not at all: a server that
// was itself started by an agent must not pass its own turn on.
var ours = map[string]bool{envThreadID: true, envTurnID: true, envAttempt: true, envURL: true, process.EnvGroup: true}

// promptEvent is the line a process with input "json" gets first.
type promptEvent struct {
	Event       string              `json:"event"`
	ThreadID    string              `json:"thread_id"`
	TurnID      string              `json:"turn_id"`
	Attempt     int                 `json:"attempt"`
	PromptIndex int                 `json:"prompt_index"`
	Cwd         string              `json:"cwd"`
	Metadata    jsontext.Value      `json:"metadata,omitzero"`
	Input       []items.UserMessage `json:"input"`
}

// stdin is what a prompt's process reads first.
func (c *Config) stdin(p *turns.Prompt, dir string) ([]byte, error) {
	if c.Input == InputText {
		texts := make([]string, len(p.Input))
		for i, m := range p.Input {
			texts[i] = m.Text()
		}
		text := strings.Join(texts, "\n")
		if !strings.HasSuffix(text, "\n") {
			text += "\n" // a text ends with a line feed: the shell's read fails without
		}
		return []byte(text), nil
	}
	line, err := json.Marshal(promptEvent{
		Event: "prompt", ThreadID: p.ThreadID, TurnID: p.TurnID, Attempt: p.Attempt, PromptIndex: p.Index,
		Cwd: dir, Metadata: p.Metadata, Input: p.Input,
	}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encode the prompt: %w", err)
	}
	return append(line, '\n'), nil
}

// keepsStdin reports whether answers may follow the prompt on stdin.
func (c *Config) keepsStdin() bool { return c.Input == InputJSON && c.Output == OutputEvents }

// command is the process of a prompt, not started. The error says, for a
// person, why there is none.
func (c *Config) command(p *turns.Prompt) (*osexec.Cmd, error) {
	dir := p.Cwd
	if dir == "" {
		dir = c.Cwd
	}
	if dir == "" {
		wd, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("the server's working directory is gone; give the thread a cwd: %w", err)
		}
		dir = wd
	}
	cmd, err := process.Command(c.Command, dir)
	if err != nil {
		return nil, err
	}
	cmd.Env = c.environment(p, dir)
	return cmd, nil
}

func (c *Config) environment(p *turns.Prompt, dir string) []string {
	env := process.Environment(dir, c.Env, ours)
	env = append(env, envThreadID+"="+p.ThreadID, envTurnID+"="+p.TurnID, envAttempt+"="+strconv.Itoa(p.Attempt))
	if c.URL != nil {
		if url := c.URL(); url != "" {
			env = append(env, envURL+"="+url)
		}
	}
	return env
}
