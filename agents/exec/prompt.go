package exec

import (
	"fmt"
	osexec "os/exec"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

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

// stdin returns the first input of a prompt's process.
func (c *Config) stdin(p *turns.Prompt, dir string) ([]byte, error) {
	if c.Input == InputText {
		text := inWords(p.Input)
		if !strings.HasSuffix(text, "\n") {
			text += "\n" // without a final line feed the shell's read fails
		}
		return []byte(text), nil
	}
	if !utf8.ValidString(dir) {
		return nil, fmt.Errorf("the name of the working directory %q is not UTF-8, so that the prompt cannot have it; give the thread a cwd, or rename the directory", dir)
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

// inWords returns the input of a command that reads text: a line, or several, for each part.
func inWords(input []items.UserMessage) string {
	var words []string
	for _, m := range input {
		for _, part := range m.Content {
			words = append(words, part.Words())
		}
	}
	return strings.Join(words, "\n")
}

// notTaken names the parts that a command which reads text gets in words; nil = none.
func (c *Config) notTaken(input []items.UserMessage) (which []string) {
	names := map[string]string{items.PartImage: "images", items.PartResource: "links"}
	for _, m := range input {
		for _, part := range m.Content {
			if name := names[part.Type]; c.Input == InputText && name != "" && !slices.Contains(which, name) {
				which = append(which, name)
			}
		}
	}
	slices.Sort(which)
	return which
}

// keepsStdin reports whether answers may follow the prompt on stdin.
func (c *Config) keepsStdin() bool { return c.Input == InputJSON && c.Output == OutputEvents }

// command returns the process of a prompt, not started. The error says, for a
// person, why it cannot be started.
func (c *Config) command(p *turns.Prompt, given access) (*osexec.Cmd, error) {
	dir, err := process.Directory(p.Cwd, c.Cwd)
	if err != nil {
		return nil, err
	}
	cmd, err := process.Command(c.Command, dir)
	if err != nil {
		return nil, err
	}
	cmd.Env = c.environment(p, dir, given)
	return cmd, nil
}

func (c *Config) environment(p *turns.Prompt, dir string, given access) []string {
	env := process.Environment(dir, c.Env)
	origin := ""
	if len(p.Input) > 0 {
		origin = p.Input[0].Origin
	}
	env = append(env, process.EnvThreadID+"="+p.ThreadID, process.EnvTurnID+"="+p.TurnID, process.EnvAttempt+"="+strconv.Itoa(p.Attempt), process.EnvOrigin+"="+origin)
	return append(env, given.variables...)
}
