package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed82539d15/holon/agents/acp"
	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/cmd/holon/daemon"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// probes is how many agents are started at the same time: each may use a few
// hundred MB.
const probes = 2

// startsAgents reports whether examineAgents starts any.
func startsAgents(loaded *config.Loaded) bool {
	for _, agent := range loaded.Agents {
		if agent.Kind == config.KindACP {
			return true
		}
	}
	return false
}

// examineAgents tries every configured agent and adds the findings, in the
// order of their names. c is the server that was asked, or nil.
func (r *doctorReport) examineAgents(ctx context.Context, loaded *config.Loaded, c *client.Client, patience time.Duration) {
	names := slices.Sorted(maps.Keys(loaded.Agents))
	names = slices.DeleteFunc(names, func(name string) bool { return name == turns.KindMailbox }) // it is always there
	findings := make([]sqlite.Finding, len(names))
	slots := make(chan struct{}, probes)
	var wg sync.WaitGroup
	for i, name := range names {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			findings[i] = examineAgent(ctx, name, loaded.Agents[name], patience)
		})
	}
	wg.Wait()
	findings = append(findings, servedAgents(ctx, loaded, c)...)
	findings = append(findings, missingThreads(ctx, loaded, c)...)
	name := "agent " + loaded.DefaultAgent
	if none, ok := errors.AsType[*config.Error](loaded.CheckDefaultAgent()); ok && !slices.ContainsFunc(findings, func(f sqlite.Finding) bool { return f.Name == name }) {
		findings = append(findings, sqlite.Finding{Name: name, Level: sqlite.Error, Text: none.Text})
	}
	for _, f := range findings {
		r.Findings = append(r.Findings, f)
		r.OK = r.OK && f.Level != sqlite.Error
	}
}

// servedAgents asks the running server about agents that only it knows, because
// they were named at its start. c may be nil: there is no server.
func servedAgents(ctx context.Context, loaded *config.Loaded, c *client.Client) (findings []sqlite.Finding) {
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	var result struct {
		Agents []agentRow `json:"agents"`
	}
	if err := c.Call(ctx, "agent/list", nil, &result); err != nil {
		return []sqlite.Finding{{Name: "server", Level: sqlite.Warning, Text: "the running server does not list its agents: " + err.Error()}}
	}
	for _, a := range result.Agents {
		if _, configured := loaded.Agents[a.Name]; configured || a.Kind == config.KindEcho || a.Kind == turns.KindMailbox {
			continue
		}
		f := sqlite.Finding{Name: "agent " + a.Name, Level: sqlite.OK, Text: "of the running server, " + a.State}
		switch {
		case a.State == turns.AgentFailed:
			f.Level, f.Text = sqlite.Error, "of the running server: "+a.LastError
		case a.Warning != "":
			f.Level, f.Text = sqlite.Warning, f.Text+"; "+a.Warning
		case a.Mode != "":
			f.Text += "; sessions open in the mode " + a.Mode
		}
		findings = append(findings, f)
	}
	if text := usedMemory(result.Agents); text != "" {
		findings = append(findings, sqlite.Finding{Name: "memory", Level: sqlite.OK, Text: text})
	}
	return findings
}

// missingThreads asks the running server for the threads in which agents may start work. c may be
// nil: there is no server.
func missingThreads(ctx context.Context, loaded *config.Loaded, c *client.Client) (findings []sqlite.Finding) {
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(loaded.Agents)) {
		var missing []string
		for _, id := range loaded.Agents[name].WorkIn {
			if id != config.EveryThread && client.IsKind(c.Call(ctx, "thread/read", map[string]any{"thread_id": id}, nil), string(api.KindThreadNotFound)) {
				missing = append(missing, id)
			}
		}
		if len(missing) > 0 {
			findings = append(findings, sqlite.Finding{Name: "agent " + name, Level: sqlite.Warning, Text: fmt.Sprintf(
				"work_in names what is no thread of the running server: %s. It takes ids: holon threads -o json lists them", strings.Join(missing, ", "))})
		}
	}
	return findings
}

// usedMemory describes how much memory the agents of the running server use; "" = none, or it is
// not known.
func usedMemory(agents []agentRow) string {
	var all int64
	var each []string
	for _, a := range agents {
		if a.Memory > 0 {
			all += a.Memory
			each = append(each, fmt.Sprintf("%s %s in %s", a.Name, a.memory(), counted(a.Processes, "process", "processes")))
		}
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("the agents of the running server use %s: %s", memoryText(all), strings.Join(each, ", "))
}

// examineAgent describes one agent for a person, or says why it cannot be used
// and what to do.
func examineAgent(ctx context.Context, name string, agent config.Agent, patience time.Duration) sqlite.Finding {
	f := sqlite.Finding{Name: "agent " + name, Level: sqlite.Error}
	if err := errors.Join(config.CheckName(name), agent.Check(), agent.Missing()); err != nil {
		f.Text = strings.ReplaceAll(err.Error(), "\n", "; ")
		if len(agent.Command) > 0 { // the name of the check is before it
			f.Text = strings.TrimPrefix(f.Text, agent.Command[0]+" is ")
		}
		return f
	}
	switch agent.Kind {
	case config.KindExec:
		path, err := exec.LookPath(agent.Command[0])
		if err != nil {
			f.Text = fmt.Sprintf("the command %s cannot be run: %v", inQuotes(agent.Command[0]), err)
			if errors.Is(err, exec.ErrNotFound) {
				f.Text = fmt.Sprintf("the command %s is not in PATH. Install it, or name it by its whole path", inQuotes(agent.Command[0]))
			}
			return f
		}
		f.Level, f.Text = sqlite.OK, "runs "+path
	case config.KindACP:
		began := time.Now()
		info, err := probe(ctx, name, agent, patience)
		if err != nil {
			f.Text = problemText(agent, err, patience)
			return f
		}
		f.Level, f.Text = sqlite.OK, probedText(info, time.Since(began))
		switch {
		case info.Warning != "":
			f.Level, f.Text = sqlite.Warning, f.Text+"; "+info.Warning
		case info.Mode != "":
			f.Text += ", in the mode " + info.Mode
		}
	case config.KindWorker:
		f.Level, f.Text = sqlite.OK, fmt.Sprintf("its turns wait for workers to claim them; leases of %s", agent.Worker.Lease)
	default:
		f.Level, f.Text = sqlite.OK, "built in"
	}
	return f
}

// probe starts the agent, separately from a server, and ends it.
func probe(ctx context.Context, name string, agent config.Agent, patience time.Duration) (turns.AgentInfo, error) {
	a, err := acp.New(name, daemon.ACPConfig(agent, version, nil))
	if err != nil {
		return turns.AgentInfo{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return a.Probe(ctx)
}

// problemText adds the advice of a known program to its problem.
func problemText(agent config.Agent, err error, patience time.Duration) string {
	var p *acp.Problem
	if !errors.As(err, &p) {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Sprintf("it did not open a session within %s; run %q by hand to see whether it waits for something", patience, strings.Join(agent.Command, " "))
		}
		return err.Error()
	}
	text := strings.TrimRight(p.Message, ". \n")
	preset, known := config.PresetFor(agent.Command[0])
	switch {
	case known && p.Kind == acp.ProblemLogin:
		return text + ". To log in, " + preset.Login
	case known && p.Kind == acp.ProblemNode && preset.Needs != "":
		return text + ". It needs " + preset.Needs + ", first in PATH"
	case p.Hint != "":
		return text + ". " + p.Hint
	}
	for said, do := range preset.Troubles {
		if strings.Contains(text, said) {
			return text + ". " + do
		}
	}
	return text
}

// probedText lists what an agent has reported of itself.
func probedText(info turns.AgentInfo, took time.Duration) string {
	row := agentRow{Version: info.Version, Protocol: info.Protocol}
	c := info.Capabilities
	row.Capabilities.Steering, row.Capabilities.Load, row.Capabilities.Resume = c.Steering, c.Load, c.Resume
	row.Capabilities.Fork, row.Capabilities.Images = c.Fork, c.Images
	row.Capabilities.Modes, row.Capabilities.Models = c.Modes, c.Models
	parts := []string{}
	if row.Version != "" {
		parts = append(parts, "version "+row.Version)
	}
	parts = append(parts, row.Protocol)
	if can := row.can(); can != "" {
		parts = append(parts, "can "+can)
	}
	return strings.Join(parts, ", ") + "; a session opened after " + timeline.Elapsed(took)
}
