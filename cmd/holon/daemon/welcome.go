package daemon

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/config"
)

// welcome shows the person who has started the server on a terminal what to do next:
// how to open it, and how to use the coding agents of this machine.
func (d *daemon) welcome() {
	holon, data := shellWord(program()), ""
	if d.cfg.Data != config.Defaults().Data {
		data = " --data " + shellWord(d.cfg.Data)
	}
	if urls := d.consoleURLs(); len(urls) > 0 {
		d.say("\nIn a browser:\n  %s", strings.Join(urls, "\n  "))
	}
	d.say("\nIn another terminal:")
	d.say("  %s%s", holon, data)
	d.say("  %s run%s --agent %s \"hello\"     # costs nothing", holon, data, config.KindEcho)
	d.sayAgents(holon, data)
	d.say("\nCtrl-C stops the server; everything that was said is kept.")
}

// sayAgents prints how to use the agents of the server, and the coding agents of this
// machine that it could have.
func (d *daemon) sayAgents(holon, data string) {
	names := slices.Sorted(maps.Keys(d.cfg.Agents))
	names = slices.DeleteFunc(names, func(name string) bool { return name == config.KindEcho }) // was said already
	if len(names) > 0 {
		d.say("\nAgents of this server:")
	}
	for _, name := range names {
		d.say("  %-9s %s", name, d.howToUse(holon, data, name))
	}
	found := slices.DeleteFunc(config.FindAgents(), func(f config.Found) bool {
		return slices.ContainsFunc(names, func(name string) bool { return runs(d.cfg.Agents[name], f) })
	})
	switch {
	case len(found) > 0 && len(names) > 0:
		d.say("\nMore coding agents on this machine:")
	case len(found) > 0:
		d.say("\nCoding agents on this machine:")
	case len(names) == 0:
		d.say("\nNo coding agent is on the PATH. How to install one: %s doctor%s --agent opencode, or docs/agents.md", holon, data)
	}
	for _, f := range found {
		d.say("  %-9s %s", f.Name, d.howToAdd(holon, f))
	}
}

// runs reports whether an agent is one that was found on the PATH, under any name.
func runs(a config.Agent, f config.Found) bool {
	return a.Kind == config.KindACP && f.Ready && len(a.Command) > 0 && filepath.Base(a.Command[0]) == f.Command[0]
}

// howToUse returns the instruction to run a turn of an agent of the server.
func (d *daemon) howToUse(holon, data, name string) string {
	a := d.cfg.Agents[name]
	if err := a.Missing(); err != nil {
		return err.Error() + "; then restart the server"
	}
	which, prompt, note := " --agent "+name, "hello", ""
	if name == d.cfg.DefaultAgent {
		which = ""
	}
	switch a.Kind {
	case config.KindACP:
		prompt = "what does this project do?"
	case config.KindWorker:
		note = "     # waits for a worker"
	}
	return fmt.Sprintf("%s run%s%s \"%s\"%s", holon, data, which, prompt, note)
}

// howToAdd returns the instruction to give the server an agent that was found.
func (d *daemon) howToAdd(holon string, f config.Found) string {
	again := append(slices.Clone(d.Welcome), "--agent", f.Name)
	for i := range again {
		again[i] = shellWord(again[i])
	}
	start := holon + " " + strings.Join(again, " ")
	if f.Ready {
		return "restart the server with it: " + start
	}
	return strings.Replace(f.InstallText(), "Install it with: ", "", 1) + "; then " + start
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellWord returns a word as a shell reads it.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
