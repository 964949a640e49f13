package exec

import (
	"cmp"
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

// The variables with the turn of a process and the server's address.
const (
	envThreadID = "HOLON_THREAD_ID"
	envTurnID   = "HOLON_TURN_ID"
	envAttempt  = "HOLON_ATTEMPT"
	envURL      = "HOLON_URL"
)

// turnVariables are the variables that a process never inherits from the
// server: a server that was itself started by an agent must not pass on its own
// turn.
var turnVariables = map[string]bool{envThreadID: true, envTurnID: true, envAttempt: true, envURL: true, process.EnvGroup: true}

// promptEvent is the first line that a process with input "json" gets.
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

// stdin is the first input of a prompt's process.
func (c *Config) stdin(p *turns.Prompt, dir string) ([]byte, error) {
	if c.Input == InputText {
		texts := make([]string, len(p.Input))
		for i, m := range p.Input {
			texts[i] = m.Text()
		}
		text := strings.Join(texts, "\n")
		if !strings.HasSuffix(text, "\n") {
			text += "\n" // without a final line feed the shell's read fails
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
// person, why it cannot be started.
func (c *Config) command(p *turns.Prompt) (*osexec.Cmd, error) {
	dir := cmp.Or(p.Cwd, c.Cwd)
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
	env := process.Environment(dir, c.Env, turnVariables)
	env = append(env, envThreadID+"="+p.ThreadID, envTurnID+"="+p.TurnID, envAttempt+"="+strconv.Itoa(p.Attempt))
	if c.URL != nil {
		if url := c.URL(); url != "" {
			env = append(env, envURL+"="+url)
		}
	}
	return env
}
