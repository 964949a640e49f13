package exec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// Kind is what Info says the agent is.
const Kind = "exec"

// The formats of a command's input and output.
const (
	InputText    = "text"
	InputJSON    = "json"
	OutputText   = "text"
	OutputEvents = "events"
)

// defaultKillAfter is the default of Config.KillAfter.
const defaultKillAfter = 3 * time.Second

// Config says what to run and in which formats.
type Config struct {
	// Command is the program and its arguments. A name without a slash is
	// looked up in the server's PATH, a relative path in the working directory.
	Command []string
	// Env is added to the server's environment. Variables that the server sets
	// itself (process.Own) cannot be set.
	Env map[string]string
	// Cwd is the working directory of threads without their own; "" = the
	// server's.
	Cwd string
	// Input is InputText or InputJSON; "" = the one that fits Output.
	Input string
	// Output is OutputText or OutputEvents; "" = OutputText.
	Output string
	// Format is what the text of the agent's messages is, where an event does not say
	// it; "" = items.FormatPlain.
	Format items.Format
	// URL returns the server's address for HOLON_URL when a process starts. nil
	// or "" = HOLON_URL is not set. With Tools it is not used.
	URL func() string
	// Tools gives each process access to the server, in HOLON_URL, HOLON_MCP_URL
	// and HOLON_TOKEN, until it has ended; nil = none does.
	Tools turns.Granter
	// Records is where running processes are recorded, so that the next server
	// can end those that outlive a killed one. nil = they are not recorded.
	Records *process.Records
	// KillAfter is the time between TERM and KILL; 0 = 3 s.
	KillAfter time.Duration
	// StderrTail is how many bytes of stderr a failure shows; 0 = process.DefaultTail.
	StderrTail int
}

// Agent runs a command for each prompt. Its methods may be called from many
// goroutines. Close it before the server exits.
type Agent struct {
	name string
	cfg  Config

	meter process.Meter

	mu      sync.Mutex
	groups  []*process.Group // that run
	failed  string           // why the last start failed, "" if it did not
	closed  bool
	closing chan struct{} // closed by Close: kill running processes
	runs    sync.WaitGroup
}

// New returns an agent of this name. It runs nothing and does not look up the
// command: that happens for each prompt, so that a program may be installed
// later. The error says what is wrong with cfg.
func New(name string, cfg Config) (*Agent, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("agent %q: %w", name, err)
	}
	return &Agent{name: name, cfg: cfg, closing: make(chan struct{})}, nil
}

// Info describes the agent.
func (a *Agent) Info() turns.AgentInfo {
	info := turns.AgentInfo{Name: a.name, Kind: Kind, DirectoryGiven: a.cfg.Cwd != ""}
	a.mu.Lock()
	defer a.mu.Unlock()
	info.Processes = len(a.groups)
	if info.LastError = a.failed; a.failed != "" {
		info.State = turns.AgentFailed
	}
	return info
}

// Directory implements turns.Local.
func (a *Agent) Directory(cwd string) (string, error) { return process.Directory(cwd, a.cfg.Cwd) }

// Memory implements turns.Measured.
func (a *Agent) Memory() int64 {
	a.mu.Lock()
	groups := slices.Clone(a.groups)
	a.mu.Unlock()
	return a.meter.Bytes(groups)
}

// starts notes how a start has ended; nil: the command runs. A directory that is missing is of
// one thread.
func (a *Agent) starts(err error) {
	if wrong, ok := errors.AsType[*process.StartError](err); ok && wrong.Reason == process.BadCwd {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed = ""; err != nil {
		a.failed = err.Error()
	}
}

// measures adds a process to those that run, until ended is called.
func (a *Agent) measures(g *process.Group) (ended func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.groups = append(a.groups, g)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.groups = slices.DeleteFunc(a.groups, func(o *process.Group) bool { return o == g })
	}
}

// Close kills the process groups of all prompts that still run and waits until
// they are reaped. Later prompts fail. The server calls it last, after the
// turns have had time to end. It may be called twice.
func (a *Agent) Close() error {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.closing)
	}
	a.mu.Unlock()
	a.runs.Wait()
	return nil
}

// enter registers a Run; false = the agent is closed.
func (a *Agent) enter() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.runs.Add(1)
	return true
}

func (c *Config) complete() error {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return errors.New("command is empty; give the program and its arguments, as in [\"git\", \"log\", \"-5\"]")
	}
	for _, arg := range c.Command {
		if strings.ContainsRune(arg, 0) {
			return errors.New("command holds a NUL byte")
		}
	}
	if strings.ContainsRune(c.Cwd, 0) {
		return errors.New("cwd holds a NUL byte")
	}
	for key, value := range c.Env {
		switch {
		case key == "" || strings.ContainsAny(key, "=\x00"):
			return fmt.Errorf("env: %q is no name of a variable", key)
		case strings.ContainsRune(value, 0):
			return fmt.Errorf("env: the value of %s holds a NUL byte", key)
		case process.Own(key):
			return fmt.Errorf("env: %s is set by the server", key)
		}
	}
	c.Output = cmp.Or(c.Output, OutputText)
	if c.Output != OutputText && c.Output != OutputEvents {
		return fmt.Errorf("output %q is neither %q nor %q", c.Output, OutputText, OutputEvents)
	}
	if c.Input == "" {
		c.Input = InputText
		if c.Output == OutputEvents {
			c.Input = InputJSON
		}
	}
	if c.Input != InputText && c.Input != InputJSON {
		return fmt.Errorf("input %q is neither %q nor %q", c.Input, InputText, InputJSON)
	}
	c.Format = cmp.Or(c.Format, items.FormatPlain)
	if !slices.Contains(items.Formats, c.Format) {
		return fmt.Errorf("format %q is neither %q nor %q", c.Format, items.FormatPlain, items.FormatMarkdown)
	}
	if c.KillAfter < 0 || c.StderrTail < 0 {
		return errors.New("kill_after and stderr_tail cannot be negative")
	}
	c.KillAfter = cmp.Or(c.KillAfter, defaultKillAfter)
	return nil
}
