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

// welcome tells the person who has started the server on a terminal what to do next:
// how to open it, and how to use the coding agents of this machine.
func (d *daemon) welcome() {
	holon, data := shellWord(program()), ""
	if d.cfg.Data != config.Defaults().Data {
		data = " --data " + shellWord(d.cfg.Data)
	}
	d.say("\nIn another terminal:")
	d.say("  %s%s", holon, data)
	d.say("  %s run%s --agent %s \"hello\"     # costs nothing", holon, data, config.KindEcho)
	found := config.FindAgents()
	if len(found) == 0 {
		d.say("\nNo coding agent is on the PATH. How to install one: %s doctor%s --agent opencode, or docs/agents.md", holon, data)
	} else {
		d.say("\nCoding agents on this machine:")
	}
	for _, f := range found {
		d.say("  %-9s %s", f.Name, d.howToUse(holon, data, f))
	}
	d.say("\nCtrl-C stops the server; everything that was said is kept.")
}

// howToUse is what to do to run a turn of an agent.
func (d *daemon) howToUse(holon, data string, f config.Found) string {
	for _, name := range slices.Sorted(maps.Keys(d.cfg.Agents)) {
		a := d.cfg.Agents[name]
		if a.Kind != config.KindACP || !f.Ready || len(a.Command) == 0 || filepath.Base(a.Command[0]) != f.Command[0] {
			continue
		}
		which := " --agent " + name
		if name == d.cfg.DefaultAgent {
			which = ""
		}
		return fmt.Sprintf("%s run%s%s \"what does this project do?\"", holon, data, which)
	}
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

// shellWord is a word as a shell reads it.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
