package config

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/turns"
)

// The kinds of agent.
const (
	KindEcho   = "echo"
	KindExec   = "exec"
	KindACP    = "acp"
	KindWorker = "worker"
)

// agentKinds are all kinds of agent, in the order of the documentation.
var agentKinds = []string{KindEcho, KindExec, KindACP, KindWorker}

// Agent is one configured agent.
type Agent struct {
	Kind    string
	Command []string // of exec and acp
	Env     map[string]string
	Cwd     string
	Retry   RetryPolicy
	Review  Review
	// Tools says whether the agent gets the server's own tools; ChildAgents are the
	// agents that it may start children with, by default itself; WorkIn are the threads, or
	// EveryThread, in which it may start outside work, by default none. All are zero if Kind
	// is echo.
	Tools       bool
	ChildAgents []string
	WorkIn      []string
	Inbox       inbox.Policy // of the inboxes of its threads, where these do not say otherwise
	Exec        ExecAgent    // zero unless Kind is exec
	ACP         ACPAgent     // zero unless Kind is acp
	Worker      WorkerAgent  // zero unless Kind is worker

	// Preset is the preset of the command, "" if the command was given.
	Preset string
}

// RetryPolicy says what happens to turns whose attempt has failed.
type RetryPolicy struct {
	OnCrash     string // interrupt or retry
	MaxAttempts int
	Backoff     time.Duration
	BackoffMax  time.Duration
}

// Review says which ends of the agent's turns wait for a review, and how long.
type Review struct {
	Policy  string // none, on_success, on_failure or always
	Timeout time.Duration
}

// ExecAgent has the settings of agents of kind exec.
type ExecAgent struct {
	Input      string // text or json
	Output     string // text or events
	Format     string // plain or markdown
	KillAfter  time.Duration
	StderrTail int
}

// ACPAgent has the settings of agents of kind acp.
type ACPAgent struct {
	Permissions       string         // ask, allow or reject
	PermissionTimeout time.Duration  // 0: a request waits forever
	PermissionDefault string         // the kind of option that an expired request takes
	OwnTools          string         // allow or ask
	Mode              string         // of new sessions; "" = the agent's own
	Model             string         // likewise
	Options           map[string]any // likewise, by id: texts, true and false
	MCPServers        []MCPServer    // by name
	Start             string         // lazy or eager
	StartTimeout      time.Duration
	MaxProcesses      int // 0: as many as all agents may have
	ProcessPerThread  bool
	Idle              time.Duration // 0: a process without turns stays
	Cancel            time.Duration
	KeepRaw           bool
	Handover          bool

	perThreadGiven bool // ProcessPerThread is not the default
	modeGiven      bool // Mode is not the default
}

// unset is the value of a number that is not given, where its default depends on
// other keys. No file can have it.
const unset = math.MinInt

// WorkerAgent has the settings of agents of kind worker.
type WorkerAgent struct {
	Lease        time.Duration
	ClaimTimeout time.Duration // 0: a turn waits for a worker forever
}

// newAgent returns an agent before its definition is read, with the defaults of
// every kind. finished removes those of the other kinds.
func newAgent() Agent {
	return Agent{
		Retry: RetryPolicy{
			OnCrash: string(turns.CrashInterrupt), MaxAttempts: turns.DefaultMaxAttempts,
			Backoff: seconds64(turns.DefaultBackoffSeconds), BackoffMax: seconds64(turns.DefaultBackoffMaxSeconds),
		},
		Review: Review{Policy: string(turns.ReviewNone), Timeout: turns.DefaultReviewTimeout},
		Tools:  true,
		Worker: WorkerAgent{Lease: turns.DefaultLease, ClaimTimeout: turns.DefaultClaimTimeout},
		Exec:   ExecAgent{Format: "plain", KillAfter: 3 * time.Second, StderrTail: 16 << 10},
		ACP: ACPAgent{
			Permissions: PermissionsAsk, PermissionDefault: "reject_once", OwnTools: OwnToolsAllow, Start: StartLazy,
			StartTimeout: time.Minute, MaxProcesses: unset, Idle: 10 * time.Minute, Cancel: 5 * time.Second,
		},
	}
}

// MCPServer is a tool server for an acp agent.
type MCPServer struct {
	Name    string
	Type    string            // stdio, http or sse
	Command []string          // of stdio
	Env     map[string]string // of stdio
	URL     string            // of http and sse
	Headers map[string]string // of http and sse
}

// The values of an acp agent's keys.
const (
	PermissionsAsk    = "ask"
	PermissionsAllow  = "allow"
	PermissionsReject = "reject"

	OwnToolsAllow = "allow"
	OwnToolsAsk   = "ask"

	StartLazy  = "lazy"
	StartEager = "eager"

	MCPStdio = "stdio"
	MCPHTTP  = "http"
	MCPSSE   = "sse"
)

// AgentKeys is the table of the keys of [agents.NAME]. The order is that of
// the documentation.
var AgentKeys = slices.Concat([]Key[Agent]{
	text("kind", "echo, exec, acp or worker", func(a *Agent) *string { return &a.Kind }),
	command("command", "the program and its arguments, a list or one line", func(a *Agent) *[]string { return &a.Command }).of(KindExec, KindACP),
	secrets("env", "variables added to the server's environment", func(a *Agent) *map[string]string { return &a.Env }).of(KindExec, KindACP),
	text("cwd", "the working directory, absolute, of threads that have none of their own", func(a *Agent) *string { return &a.Cwd }).of(KindExec, KindACP),

	text("on_crash", "interrupt or retry: what becomes of a turn whose agent dies or fails for a moment, or whose server is killed", func(a *Agent) *string { return &a.Retry.OnCrash }).of(agentKinds...),
	number("max_attempts", "attempts of a turn in all", func(a *Agent) *int { return &a.Retry.MaxAttempts }).of(agentKinds...),
	seconds("backoff_seconds", "the wait before the second attempt, twice as long before each further one", func(a *Agent) *time.Duration { return &a.Retry.Backoff }).of(agentKinds...),
	seconds("backoff_max_seconds", "the longest wait before an attempt", func(a *Agent) *time.Duration { return &a.Retry.BackoffMax }).of(agentKinds...),

	text("review", "none, on_success, on_failure or always: which ends of turns wait for a review, unless the start of a turn says otherwise", func(a *Agent) *string { return &a.Review.Policy }).of(agentKinds...),
	seconds("review_timeout_seconds", "how long a review waits for a verdict; then it is blocked", func(a *Agent) *time.Duration { return &a.Review.Timeout }).of(agentKinds...),

	boolean("tools", "whether the agent gets the server's tools, for background work, its inbox and timers", func(a *Agent) *bool { return &a.Tools }).of(KindExec, KindACP, KindWorker),
	list("child_agents", "the agents that it may start children with; by default itself", func(a *Agent) *[]string { return &a.ChildAgents }).of(KindExec, KindACP, KindWorker),
	list("work_in", "the threads, beside its child threads, in which it may start work: their ids, or \"*\" for every thread; by default none", func(a *Agent) *[]string { return &a.WorkIn }).of(KindExec, KindACP, KindWorker),

	seconds("lease_seconds", "how long a worker may be silent", func(a *Agent) *time.Duration { return &a.Worker.Lease }).of(KindWorker),
	seconds("claim_timeout_seconds", "how long a turn waits for a worker; 0 for ever", func(a *Agent) *time.Duration { return &a.Worker.ClaimTimeout }).of(KindWorker),

	text("input", "text or json", func(a *Agent) *string { return &a.Exec.Input }).of(KindExec),
	text("output", "text or events", func(a *Agent) *string { return &a.Exec.Output }).of(KindExec),
	text("format", "plain or markdown: what the text of the agent's messages is", func(a *Agent) *string { return &a.Exec.Format }).of(KindExec),
	seconds("kill_after_seconds", "the time between TERM and KILL", func(a *Agent) *time.Duration { return &a.Exec.KillAfter }).of(KindExec),
	size("stderr_tail_bytes", "how much of stderr a failure shows", func(a *Agent) *int { return &a.Exec.StderrTail }).of(KindExec),

	text("permissions", "ask, allow or reject: who answers the agent's requests for permission", func(a *Agent) *string { return &a.ACP.Permissions }).of(KindACP),
	seconds("permission_timeout_seconds", "how long a request waits for a person; 0 for ever", func(a *Agent) *time.Duration { return &a.ACP.PermissionTimeout }).of(KindACP),
	text("permission_default", "the kind of option an expired request takes: reject_once, reject_always, allow_once or allow_always", func(a *Agent) *string { return &a.ACP.PermissionDefault }).of(KindACP),
	text("own_tools", "allow or ask: whether the agent may use the server's tools without asking", func(a *Agent) *string { return &a.ACP.OwnTools }).of(KindACP),
	sessionMode.of(KindACP),
	text("model", "the model of its sessions; empty for the agent's own", func(a *Agent) *string { return &a.ACP.Model }).of(KindACP),
	entry("options", Table, "other settings of its sessions, by the ids that the agent gives them", func(a *Agent) *map[string]any { return &a.ACP.Options }, asOptions, same[map[string]any]).of(KindACP),
	entry("mcp_servers", Table, "servers of tools that the agent is told of, a table each", func(a *Agent) *[]MCPServer { return &a.ACP.MCPServers }, asMCPServers, shownServers).of(KindACP),
	text("start", "lazy starts the agent for its first turn, eager with the server", func(a *Agent) *string { return &a.ACP.Start }).of(KindACP),
	seconds("start_timeout_seconds", "how long a process may take to start, and a session to open", func(a *Agent) *time.Duration { return &a.ACP.StartTimeout }).of(KindACP),
	number("max_processes", "processes of the agent at once; 0, with process_per_thread, for as many as all agents may have", func(a *Agent) *int { return &a.ACP.MaxProcesses }).of(KindACP),
	perThread.of(KindACP),
	seconds("idle_seconds", "how long a process without a turn stays; 0 for ever", func(a *Agent) *time.Duration { return &a.ACP.Idle }).of(KindACP),
	seconds("cancel_seconds", "how long an interrupted agent may take before its process is given up", func(a *Agent) *time.Duration { return &a.ACP.Cancel }).of(KindACP),
	boolean("keep_raw", "keep the agent's own words beside what they became", func(a *Agent) *bool { return &a.ACP.KeepRaw }).of(KindACP),
	boolean("handover", "tell a new session what was said before, where the agent has lost it", func(a *Agent) *bool { return &a.ACP.Handover }).of(KindACP),
}, policyKeys(func(a *Agent) *inbox.Policy { return &a.Inbox }))

// perThread remembers that it was given: its default depends on the other keys.
var perThread = Key[Agent]{
	Name: "process_per_thread", Type: Bool, Help: "whether each thread has a process of its own",
	set: func(a *Agent, v raw) (err error) {
		a.ACP.ProcessPerThread, err = asBool(v)
		a.ACP.perThreadGiven = true
		return err
	},
	get: func(a *Agent) any { return a.ACP.ProcessPerThread },
}

// sessionMode remembers that it was given: its default depends on the other keys.
var sessionMode = Key[Agent]{
	Name: "mode", Type: Text, Help: "the mode of its sessions, as the agent names it; empty for the agent's own",
	set: func(a *Agent, v raw) (err error) {
		a.ACP.Mode, err = asText(v)
		a.ACP.modeGiven = true
		return err
	},
	get: func(a *Agent) any { return a.ACP.Mode },
}

// agents are the tables [agents.NAME].
var agents = tables[Agent]{
	sort: "agents", one: "an agent", keys: AgentKeys, fresh: newAgent, finished: Agent.finished,
	at: func(c *Config) map[string]Agent { return c.Agents },
	kind: func(a Agent) string {
		if kind := a.kind(); slices.Contains(agentKinds, kind) || kind == turns.KindMailbox {
			return kind
		}
		return ""
	},
	check: func(a Agent, name string, source Source) error {
		if name == turns.KindMailbox {
			return a.checkMailbox()
		}
		err := a.Check()
		if err == nil && source.Origin != FromFile {
			// A preset on the command line is to be used now; one in a file may
			// be installed later.
			err = a.Missing()
		}
		return err
	},
}

// kind returns the agent's kind. Without a kind, an agent with a command is an exec
// agent.
func (a Agent) kind() string {
	if a.Kind == "" && len(a.Command) > 0 {
		return KindExec
	}
	return a.Kind
}

// finished fills in the optional parts of an agent's definition.
func (a Agent) finished(name string) Agent {
	if a.Kind = a.kind(); a.Kind == "" && (name == KindEcho || name == turns.KindMailbox) {
		a.Kind = name // they are built in
	}
	if a.Kind == KindExec {
		a.Exec.Output = cmp.Or(a.Exec.Output, "text")
		if a.Exec.Input == "" {
			a.Exec.Input = "text"
			if a.Exec.Output == "events" {
				a.Exec.Input = "json" // an agent that prints events can read answers
			}
		}
	} else {
		a.Exec = ExecAgent{}
	}
	if a.Kind != KindWorker {
		a.Worker = WorkerAgent{}
	}
	if a.Kind != KindACP {
		a.ACP = ACPAgent{}
	} else if preset, ok := PresetOf(name); ok && len(a.Command) == 0 {
		a.Preset, a.Command, a.Env = name, preset.Command, withHints(a.Env, preset.Env)
	}
	if a.Kind == KindACP {
		a.ACP = a.ACP.finished(a.Command, a.Tools)
	}
	switch {
	case a.Kind == KindEcho, a.Kind == turns.KindMailbox:
		a.Tools, a.ChildAgents, a.WorkIn = false, nil, nil
	case a.ChildAgents == nil:
		a.ChildAgents = []string{name}
	}
	return a
}

// finished fills in the defaults that depend on the program and on other keys.
func (a ACPAgent) finished(command []string, tools bool) ACPAgent {
	if !a.perThreadGiven && tools && len(command) > 0 {
		preset, ok := PresetFor(command[0])
		a.ProcessPerThread = ok && preset.MixesSessions
	}
	if a.MaxProcesses == unset {
		a.MaxProcesses = 1
		if a.ProcessPerThread {
			a.MaxProcesses = 0
		}
	}
	if !a.modeGiven && a.Permissions == PermissionsAsk && len(command) > 0 {
		preset, _ := PresetFor(command[0])
		a.Mode = preset.AskMode
	}
	a.perThreadGiven, a.modeGiven = false, false // so that equal settings are equal
	return a
}

// withHints adds a preset's variables to the given ones.
func withHints(given, hints map[string]string) map[string]string {
	if len(hints) == 0 {
		return given
	}
	env := maps.Clone(hints)
	maps.Copy(env, given)
	return env
}

func seconds64(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func shownServers(servers []MCPServer) any {
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = s.Name
	}
	return names
}

// quoted lists words in quotes, as in a file.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strconv.Quote(w)
	}
	return strings.Join(out, " or ")
}
