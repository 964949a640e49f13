package daemon

import (
	"fmt"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/agents/acp"
	"github.com/seed82539d15/holon/agents/echo"
	"github.com/seed82539d15/holon/agents/exec"
	"github.com/seed82539d15/holon/agents/mailbox"
	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/agents/worker"
	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// agents are the configured agents, and the server's address, which some of
// them pass to their processes once it is known.
type agents struct {
	list   []turns.Agent
	acp    map[string]*acp.Agent
	url    atomic.Pointer[string]
	closes []func()
	kills  []func()
}

func newAgents(cfg *config.Config, version string, room *acp.Room, records *process.Records, agentTokens *tokens.AgentTokens, log *zap.Logger) (*agents, error) {
	a := &agents{acp: map[string]*acp.Agent{}}
	if _, ok := cfg.Agents[config.KindEcho]; !ok {
		a.list = append(a.list, echo.New(config.KindEcho)) // always available: it needs no set-up
	}
	a.list = append(a.list, mailbox.New(turns.KindMailbox)) // always available, for the inboxes of people
	for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
		c := cfg.Agents[name]
		policy := policyOf(c.Retry)
		var tools turns.Granter // nil = the agent gets none
		if c.Tools {
			tools = granter{agentTokens, a.address}
		}
		switch c.Kind {
		case config.KindEcho:
			a.list = append(a.list, echoAgent{echo.New(name), policy})
		case config.KindExec:
			agent, err := exec.New(name, exec.Config{
				Command: c.Command, Env: c.Env, Cwd: c.Cwd, Input: c.Exec.Input, Output: c.Exec.Output, Format: items.Format(c.Exec.Format), URL: a.address,
				KillAfter: c.Exec.KillAfter, StderrTail: c.Exec.StderrTail, Records: records, Tools: tools,
			})
			if err != nil {
				return nil, fmt.Errorf("agents.%s: %w", name, err)
			}
			a.list = append(a.list, execAgent{agent, policy})
			a.closes = append(a.closes, func() { _ = agent.Close() })
			a.kills = append(a.kills, func() { _ = agent.Close() })
		case config.KindACP:
			if err := c.Missing(); err != nil {
				log.Warn("an agent is not installed", zap.String("agent", name), zap.Error(err))
			}
			conf := ACPConfig(c, version, log.Named(name))
			conf.Room, conf.Records, conf.Tools = room, records, tools
			agent, err := acp.New(name, conf)
			if err != nil {
				return nil, fmt.Errorf("agents.%s: %w", name, err)
			}
			a.list = append(a.list, acpAgent{agent, policy})
			a.acp[name] = agent
			a.closes = append(a.closes, func() { _ = agent.Close() })
			a.kills = append(a.kills, agent.Kill)
		case config.KindWorker:
			a.list = append(a.list, worker.New(name, leasesOf(c.Worker), turns.RetryPolicy(policy), tools))
		case turns.KindMailbox: // it is there already
		default:
			return nil, fmt.Errorf("agents.%s: kind %q is unknown: use echo, exec, acp or worker", name, c.Kind)
		}
	}
	return a, nil
}

// policy makes an agent a turns.Retrier. The types below embed it beside an
// agent, so that the agent's other interfaces stay visible.
type policy turns.RetryPolicy

// RetryPolicy implements turns.Retrier.
func (p policy) RetryPolicy() turns.RetryPolicy { return turns.RetryPolicy(p) }

type (
	echoAgent struct {
		*echo.Agent
		policy
	}
	execAgent struct {
		*exec.Agent
		policy
	}
	acpAgent struct {
		*acp.Agent
		policy
	}
)

func policyOf(p config.RetryPolicy) policy {
	return policy{
		OnCrash: turns.OnCrash(p.OnCrash), MaxAttempts: p.MaxAttempts,
		BackoffSeconds: p.Backoff.Seconds(), BackoffMaxSeconds: p.BackoffMax.Seconds(),
	}
}

// reviewRules returns what the configuration says about reviews, by agent.
func reviewRules(cfg *config.Config) map[string]turns.ReviewRule {
	rules := make(map[string]turns.ReviewRule, len(cfg.Agents))
	for name, a := range cfg.Agents {
		rules[name] = turns.ReviewRule{Policy: turns.ReviewPolicy(a.Review.Policy), Timeout: a.Review.Timeout}
	}
	return rules
}

// inboxDefaults returns what the configuration says about the policies of inboxes.
func inboxDefaults(cfg *config.Config) inbox.Defaults {
	d := inbox.Defaults{All: cfg.Inbox, Agents: make(map[string]inbox.Policy, len(cfg.Agents))}
	for name, a := range cfg.Agents {
		d.Agents[name] = a.Inbox
	}
	return d
}

// leasesOf turns the file's 0 ("forever") into the engine's -1.
func leasesOf(w config.WorkerAgent) turns.LeasePolicy {
	if w.ClaimTimeout == 0 {
		w.ClaimTimeout = -1
	}
	return turns.LeasePolicy{Lease: w.Lease, ClaimTimeout: w.ClaimTimeout}
}

// ACPConfig returns the configuration of an agent of kind acp; holon doctor uses it
// too.
func ACPConfig(c config.Agent, version string, log *zap.Logger) acp.Config {
	preset, _ := config.PresetFor(c.Command[0])
	out := acp.Config{
		Command: c.Command, Env: c.Env, Cwd: c.Cwd,
		Permissions: c.ACP.Permissions, PermissionTimeout: c.ACP.PermissionTimeout, PermissionDefault: c.ACP.PermissionDefault,
		Install: installHint(c), Eager: c.ACP.Start == config.StartEager, StartTimeout: c.ACP.StartTimeout, MaxProcesses: c.ACP.MaxProcesses,
		ProcessPerThread: c.ACP.ProcessPerThread, OwnTools: c.ACP.OwnTools, IdleAfter: c.ACP.Idle, CancelAfter: c.ACP.Cancel,
		KeepRaw: c.ACP.KeepRaw, Handover: c.ACP.Handover, ClientVersion: version, Log: log,
	}
	out.Mode, out.Model, out.Unasked, out.AskedBy = c.ACP.Mode, c.ACP.Model, preset.Unasked, preset.AskedBy
	if preset.Asks != nil && preset.Asks(variables(c.Env)) {
		out.Unasked = asking(preset.Unasked)
	}
	out.KeepsDirectory = preset.KeepsDirectory
	for id, value := range c.ACP.Options {
		if out.Options == nil {
			out.Options = map[string]jsontext.Value{}
		}
		out.Options[id], _ = json.Marshal(value) // a text of TOML, true or false
	}
	if c.ACP.Idle == 0 {
		out.IdleAfter = -1 // 0 in the configuration means never
	}
	for _, s := range c.ACP.MCPServers {
		server := acp.MCPServer{Name: s.Name, Env: s.Env, URL: s.URL, Headers: s.Headers}
		if s.Type == config.MCPStdio {
			server.Command, server.Args = absolute(s.Command[0]), s.Command[1:]
		} else {
			server.Type = s.Type
		}
		out.MCPServers = append(out.MCPServers, server)
	}
	return out
}

// variables reads the environment of an agent's process: the server's, with the agent's own.
func variables(own map[string]string) func(string) string {
	return func(name string) string {
		if value, ok := own[name]; ok {
			return value
		}
		return os.Getenv(name)
	}
}

// asking returns these modes of an agent that asks in each of them.
func asking(modes map[string]string) map[string]string {
	out := make(map[string]string, len(modes))
	for mode := range modes {
		out[mode] = ""
	}
	return out
}

// installHint describes how to install a known program, "" for others.
func installHint(c config.Agent) string {
	preset, ok := config.PresetFor(c.Command[0])
	if !ok {
		return ""
	}
	return preset.InstallText()
}

// absolute returns the absolute path of a program, as the protocol requires. A
// program that is not found stays unchanged: the agent then reports that it
// cannot start it.
func absolute(program string) string {
	path, err := osexec.LookPath(program)
	if err != nil {
		return program
	}
	if path, err = filepath.Abs(path); err != nil {
		return program
	}
	return path
}

// address returns the value of HOLON_URL; "" before the server listens.
func (a *agents) address() string {
	if p := a.url.Load(); p != nil {
		return *p
	}
	return ""
}

// memory returns how much memory the processes of an agent use; 0 = none, or not known.
func (a *agents) memory(name string) int64 {
	for _, agent := range a.list {
		if m, ok := agent.(turns.Measured); ok && agent.Info().Name == name {
			return m.Memory()
		}
	}
	return 0
}

// close ends the agents' processes in order.
func (a *agents) close() { together(a.closes) }

// kill ends the agents' processes at once.
func (a *agents) kill() { together(a.kills) }

func together(all []func()) {
	var wg sync.WaitGroup
	for _, f := range all {
		wg.Go(f)
	}
	wg.Wait()
}
