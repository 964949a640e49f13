package config

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// CheckDefaultAgent returns an *Error if there is no agent of that name.
func (l *Loaded) CheckDefaultAgent() error {
	if !slices.Contains(l.agentNames(), l.DefaultAgent) {
		return &Error{Key: "default_agent", Source: l.Sources["default_agent"], Text: fmt.Sprintf(
			"there is no agent %s (there are %s; presets are %s)%s; define it with --agent NAME=acp:COMMAND, --agent NAME=exec:COMMAND or [agents.NAME]",
			quote(l.DefaultAgent), strings.Join(l.agentNames(), ", "), presetNames(),
			nearest.Hint(l.DefaultAgent, slices.Concat(l.agentNames(), PresetNames())))}
	}
	return nil
}

// checkChildAgents returns an error if an agent is to start children with one that
// does not exist.
func (l *Loaded) checkChildAgents() error {
	for _, name := range slices.Sorted(maps.Keys(l.Agents)) {
		for _, child := range l.Agents[name].ChildAgents {
			if !slices.Contains(l.agentNames(), child) {
				full := "agents." + name + ".child_agents"
				return &Error{Key: full, Source: l.Sources[full], Text: fmt.Sprintf("there is no agent %s (there are %s)%s", quote(child), strings.Join(l.agentNames(), ", "), nearest.Hint(child, l.agentNames()))}
			}
		}
	}
	return nil
}

// agentNames returns the names of all agents that turns can be given to.
func (l *Loaded) agentNames() []string {
	names := slices.Sorted(maps.Keys(l.Agents))
	names = slices.DeleteFunc(names, func(name string) bool { return name == turns.KindMailbox })
	if !slices.Contains(names, KindEcho) {
		names = append(names, KindEcho)
	}
	return names
}

// Missing returns an error if the program of a preset is not installed; it says
// how to install it. It is nil for an agent with a given command.
func (a Agent) Missing() error {
	preset, ok := PresetOf(a.Preset)
	if !ok {
		return nil
	}
	if _, err := exec.LookPath(preset.Command[0]); err != nil {
		return fmt.Errorf("%s is not installed (not found in PATH). %s", preset.Command[0], preset.InstallText())
	}
	return nil
}

// checkMailbox returns an error if a table of the agent mailbox, which is built in and runs no
// turns, has more than an inbox.
func (a Agent) checkMailbox() error {
	bare := newAgent().finished(turns.KindMailbox)
	bare.Inbox = a.Inbox
	if !reflect.DeepEqual(a, bare) {
		return fmt.Errorf("the agent %s is built in and runs no turns: only [agents.%s.inbox] can be given; choose another name for an agent of your own", turns.KindMailbox, turns.KindMailbox)
	}
	return nil
}

// EveryThread stands for every thread in WorkIn.
const EveryThread = "*"

// checkWorkIn returns an error if an agent is to start work in what can be no thread.
func checkWorkIn(list []string) error {
	for _, id := range list {
		if id != EveryThread && !threads.ValidID(id) {
			return fmt.Errorf("work_in: %s is no id of a thread; holon threads -o json lists them, and \"*\" stands for every thread", quote(id))
		}
	}
	return nil
}

// Check returns an error if the definition is invalid; it says what to do.
func (a Agent) Check() error {
	if err := checkWorkIn(a.WorkIn); err != nil {
		return err
	}
	switch a.Kind {
	case KindEcho:
		return firstOf(a.Retry.check(), a.Review.check())
	case KindWorker:
		return firstOf(a.Retry.check(), a.Review.check(), a.Worker.check())
	case KindExec, KindACP:
	case "":
		return fmt.Errorf(`kind is missing; give kind = "acp" or kind = "exec" and a command, or kind = "worker" or "echo"`)
	default:
		return fmt.Errorf("kind %s is not one of %s", quote(a.Kind), strings.Join(agentKinds, ", "))
	}
	if len(a.Command) == 0 || a.Command[0] == "" {
		text := `command is missing; give command = ["program", "argument"]`
		if a.Kind == KindACP {
			text += ", or name the agent after a preset: " + presetNames()
		}
		return fmt.Errorf("%s", text)
	}
	if a.Cwd != "" && !filepath.IsAbs(a.Cwd) {
		return fmt.Errorf("cwd %s is relative; write the whole path: what it would be relative to is where the server was started, which its clients do not know", quote(a.Cwd))
	}
	for variable := range a.Env {
		if variable == "" || strings.ContainsAny(variable, "=\x00") {
			return fmt.Errorf("env: %s is no name of a variable", quote(variable))
		}
	}
	if a.Kind == KindExec {
		return firstOf(a.Retry.check(), a.Review.check(), a.Exec.check())
	}
	return firstOf(a.Retry.check(), a.Review.check(), a.ACP.check())
}

func (p RetryPolicy) check() error {
	const longest = turns.MaxBackoffSeconds * time.Second
	return firstOf(
		member("on_crash", oneOf(p.OnCrash, string(turns.CrashInterrupt), string(turns.CrashRetry))),
		member("max_attempts", within(p.MaxAttempts, 1, turns.MaxMaxAttempts)),
		member("backoff_seconds", between(p.Backoff, time.Millisecond, longest)),
		member("backoff_max_seconds", between(p.BackoffMax, time.Millisecond, longest)),
	)
}

func (r Review) check() error {
	return firstOf(
		member("review", oneOf(r.Policy, string(turns.ReviewNone), string(turns.ReviewOnSuccess), string(turns.ReviewOnFailure), string(turns.ReviewAlways))),
		member("review_timeout_seconds", between(r.Timeout, time.Second, turns.MaxTimeout)),
	)
}

func (a WorkerAgent) check() error {
	return firstOf(
		member("lease_seconds", between(a.Lease, 100*time.Millisecond, 24*time.Hour)),
		member("claim_timeout_seconds", between(a.ClaimTimeout, 0, 30*24*time.Hour)),
	)
}

func (a ExecAgent) check() error {
	return firstOf(
		member("input", oneOf(a.Input, "text", "json")),
		member("output", oneOf(a.Output, "text", "events")),
		member("format", oneOf(a.Format, "plain", "markdown")),
		member("kill_after_seconds", between(a.KillAfter, time.Millisecond, time.Hour)),
		member("stderr_tail_bytes", within(a.StderrTail, 1, 1<<20)),
	)
}

func (a ACPAgent) check() error {
	leastProcesses := 1
	if a.ProcessPerThread {
		leastProcesses = 0
	}
	return firstOf(
		member("permissions", oneOf(a.Permissions, PermissionsAsk, PermissionsAllow, PermissionsReject)),
		member("permission_timeout_seconds", between(a.PermissionTimeout, 0, 30*24*time.Hour)),
		member("permission_default", oneOf(a.PermissionDefault, "reject_once", "reject_always", "allow_once", "allow_always")),
		member("own_tools", oneOf(a.OwnTools, OwnToolsAllow, OwnToolsAsk)),
		member("start", oneOf(a.Start, StartLazy, StartEager)),
		member("start_timeout_seconds", between(a.StartTimeout, time.Second, time.Hour)),
		member("max_processes", within(a.MaxProcesses, leastProcesses, 1000)),
		member("idle_seconds", between(a.Idle, 0, 30*24*time.Hour)),
		member("cancel_seconds", between(a.Cancel, 100*time.Millisecond, time.Hour)),
	)
}

// member adds the key to an error.
func member(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
