package acp

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// Kind is what Info says the agent is.
const Kind = "acp"

// The values of Config.Permissions: how the agent's permission requests are
// answered.
const (
	PermissionsAsk    = "ask"    // a person answers
	PermissionsAllow  = "allow"  // allowed at once
	PermissionsReject = "reject" // rejected at once
)

// The values of Config.OwnTools: how the agent's requests to use the server's own
// tools are answered.
const (
	OwnToolsAllow = "allow" // allowed at once
	OwnToolsAsk   = "ask"   // as all other requests, see Config.Permissions
)

// Defaults of Config. A real agent takes 0.2 to 6 s to start on an idle
// machine.
const (
	defaultStartTimeout = 60 * time.Second
	defaultCancelAfter  = 5 * time.Second
	defaultIdleAfter    = 600 * time.Second
)

// Config says what to run and how. The zero value of each field except Command
// means its default.
type Config struct {
	// Command is the program and its arguments. A name without a slash is
	// looked up in the server's PATH.
	Command []string
	// Env is added to the server's environment.
	Env map[string]string
	// Install says what to do if the command is not found, a sentence without
	// its full stop; "" = a general hint.
	Install string
	// Cwd is the working directory of the process and of threads without their
	// own; absolute. "" = the server's.
	Cwd string

	// Permissions is PermissionsAsk, PermissionsAllow or PermissionsReject; ""
	// = PermissionsAsk.
	Permissions string
	// PermissionTimeout is how long a question waits for a person; 0 = forever.
	PermissionTimeout time.Duration
	// PermissionDefault is the kind of option that is chosen after
	// PermissionTimeout; "" = items.RejectOnce.
	PermissionDefault string

	// Mode, Model and Options are set in each session before its first prompt, unless
	// a client has configured the thread otherwise. Options are by their ids, each a
	// string or a boolean. A session that does not take them is not used: the turn
	// fails. "" and nil = the agent's own.
	Mode    string
	Model   string
	Options map[string]jsontext.Value
	// Unasked says of each mode that is known of the program what the agent does in it
	// without asking, such as "changes files without asking"; "" = it asks before it acts.
	// For other modes that is guessed from their words.
	Unasked map[string]string
	// AskedBy is what to do so that the agent asks, for the warning that it does not; "" =
	// choose another mode.
	AskedBy string

	// MCPServers are given to every session. Names that begin with "holon_" are
	// those of the server's own tools, see Tools.
	MCPServers []MCPServer
	// Tools gives each session the server's own tools, as one more MCP server, with
	// a token of its own; nil = no session gets them.
	Tools turns.Granter
	// OwnTools is OwnToolsAllow or OwnToolsAsk; "" = OwnToolsAllow.
	OwnTools string

	// Eager starts a process with the server; otherwise the first turn does.
	Eager bool
	// MaxProcesses is how many may run at once; 0 = 1, with ProcessPerThread as many as
	// the room has slots. A further one is started when a turn runs in each.
	MaxProcesses int
	// ProcessPerThread gives each thread a process of its own. If MaxProcesses run, or the
	// room is full, the one whose last turn ended longest ago is ended; while turns run in
	// all of them, further threads wait.
	ProcessPerThread bool
	// KeepsDirectory says that a session works only in the directory in which it began: a
	// thread that has one cannot get another directory.
	KeepsDirectory bool
	// Room bounds the processes of several agents together; nil = nothing does.
	Room *Room
	// IdleAfter is after what time without a turn a process is ended; 0 = 600
	// s, negative = never.
	IdleAfter time.Duration
	// CancelAfter is how long a turn may take to end after session/cancel; 0 =
	// 5 s.
	CancelAfter time.Duration
	// StartTimeout bounds the start of a process and the opening of a session,
	// each; 0 = 60 s.
	StartTimeout time.Duration

	// KeepRaw keeps the agent's messages beside the items they were mapped to.
	KeepRaw bool
	// Handover gives the thread's messages so far to a new session that
	// replaces one the agent has lost.
	Handover bool

	// Records is where processes are recorded; nil = nowhere: then the next
	// server cannot find processes that a killed server has left.
	Records Recorder
	// ClientVersion is the client version that the agent receives.
	ClientVersion string
	// Log receives what belongs to no thread: junk on stdout, messages of no
	// known session; nil = nowhere.
	Log *zap.Logger
}

// MCPServer is a Model Context Protocol server that the agent is to use.
// Command is set for one that the agent starts, URL for one it connects to.
type MCPServer struct {
	Name    string
	Command string // absolute, as the protocol asks
	Args    []string
	Env     map[string]string
	Type    string // "http" or "sse", with URL; "" = "http"
	URL     string
	Headers map[string]string
}

var optionKinds = map[string]bool{items.AllowOnce: true, items.AllowAlways: true, items.RejectOnce: true, items.RejectAlways: true}

// complete checks c and fills in its defaults.
func (c *Config) complete() error {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return errors.New("command is empty; give the program and its arguments, as in [\"opencode\", \"acp\"]")
	}
	for _, arg := range c.Command {
		if strings.ContainsRune(arg, 0) {
			return errors.New("command holds a NUL byte")
		}
	}
	for key, value := range c.Env {
		if key == "" || strings.ContainsAny(key, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("env: %q is no variable that can be set", key)
		}
	}
	if c.Cwd != "" && (!filepath.IsAbs(c.Cwd) || strings.ContainsRune(c.Cwd, 0)) {
		return fmt.Errorf("cwd %q is not absolute; agents take absolute directories only", c.Cwd)
	}
	c.Permissions = cmp.Or(c.Permissions, PermissionsAsk)
	if c.Permissions != PermissionsAsk && c.Permissions != PermissionsAllow && c.Permissions != PermissionsReject {
		return fmt.Errorf("permissions %q is none of ask, allow, reject", c.Permissions)
	}
	c.OwnTools = cmp.Or(c.OwnTools, OwnToolsAllow)
	if c.OwnTools != OwnToolsAllow && c.OwnTools != OwnToolsAsk {
		return fmt.Errorf("own_tools %q is neither allow nor ask", c.OwnTools)
	}
	c.PermissionDefault = cmp.Or(c.PermissionDefault, items.RejectOnce)
	if !optionKinds[c.PermissionDefault] {
		return fmt.Errorf("permission_default %q is none of allow_once, allow_always, reject_once, reject_always", c.PermissionDefault)
	}
	if c.PermissionTimeout < 0 || c.MaxProcesses < 0 || c.CancelAfter < 0 || c.StartTimeout < 0 {
		return errors.New("permission_timeout_seconds, max_processes and cancel_seconds cannot be negative")
	}
	for i, s := range c.MCPServers {
		if err := s.check(); err != nil {
			return fmt.Errorf("mcp_servers[%d]: %w", i, err)
		}
	}
	if c.MaxProcesses == 0 && !c.ProcessPerThread {
		c.MaxProcesses = 1
	}
	c.IdleAfter = cmp.Or(c.IdleAfter, defaultIdleAfter)
	c.CancelAfter = cmp.Or(c.CancelAfter, defaultCancelAfter)
	c.StartTimeout = cmp.Or(c.StartTimeout, defaultStartTimeout)
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	return nil
}

func (s MCPServer) check() error {
	switch {
	case s.Name == "":
		return errors.New("name is missing")
	case (s.Command == "") == (s.URL == ""):
		return fmt.Errorf("%q needs either command or url", s.Name)
	case s.Type != "" && s.Type != "http" && s.Type != "sse":
		return fmt.Errorf("%q: type %q is neither http nor sse", s.Name, s.Type)
	case s.Type != "" && s.Command != "":
		return fmt.Errorf("%q: type is for a url", s.Name)
	}
	return CheckServerName(s.Name)
}

// CheckServerName returns an error if an MCP server that is not ours must not have
// this name: its tools could be taken for ours.
func CheckServerName(name string) error {
	if name == "holon" || strings.HasPrefix(name, ownPrefix) {
		return fmt.Errorf("%q is a name of the server's own tools; choose another", name)
	}
	return nil
}
