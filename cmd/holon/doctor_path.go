package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/rpc/client"
)

// examinePath compares the PATH of the running server with that of doctor: an agent that a
// shell finds may not be installed for a server that something else has started. A server
// from before this rule does not say what it has.
func examinePath(g *globals) []sqlite.Finding {
	record, err := client.ReadServerFile(g.loaded.Data)
	here := g.env("PATH")
	if err != nil || !record.Alive() || record.Path == "" || here == "" {
		return nil
	}
	f := sqlite.Finding{Name: "path", Level: sqlite.OK, Text: "the server looks for agents where this shell does"}
	var missing []string
	for _, program := range agentPrograms(g.loaded.Config) {
		if dir := dirOf(program, here); dir != "" && dirOf(program, record.Path) == "" {
			missing = append(missing, fmt.Sprintf("%s is in %s", program, dir))
		}
	}
	switch {
	case len(missing) > 0:
		f.Level, f.Text = sqlite.Warning, strings.Join(missing, ", ")+", which is not on the server's PATH: start the server with it, "+
			"in a unit of systemd with Environment=PATH=…; or give the agent's command its whole path"
	case record.Path != here:
		f.Text = "the server looks for agents elsewhere than this shell, and finds the same"
	}
	return []sqlite.Finding{f}
}

// agentPrograms returns the commands of the agents that are configured or known, and node, which
// many of them are programs of. What is named by its path needs no PATH.
func agentPrograms(c *config.Config) []string {
	programs := map[string]bool{"node": true}
	for _, a := range c.Agents {
		if len(a.Command) > 0 && !strings.Contains(a.Command[0], "/") {
			programs[a.Command[0]] = true
		}
	}
	for _, program := range config.KnownPrograms() {
		programs[program] = true
	}
	return slices.Sorted(maps.Keys(programs))
}

// dirOf returns the first directory of a PATH in which a program can be run, "" for none.
func dirOf(program, path string) string {
	for _, dir := range filepath.SplitList(path) {
		info, err := os.Stat(filepath.Join(dir, program))
		if err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return dir
		}
	}
	return ""
}
