//go:build linux

package realagents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/agents/process"
)

// leavesMarkers looks at the environment of a command: what the agent has added by which a
// program knows that the agent runs it must not come from a server that such a command has
// started to that server's agents.
func leavesMarkers(r *run) {
	threadID, cwd := r.thread()
	turnID := r.turn(threadID, "ENVIRONMENT please")
	v := r.until(turnID, "a permission or the end", func(v *turnView) bool {
		return v.state != "" || len(v.of("permission_request")) > 0
	})
	if len(v.of("permission_request")) > 0 { // one that opens sessions in the mode auto does not ask
		r.respond(r.question(turnID, "permission_request"), "allow_once")
	}
	r.end(turnID, "completed")
	command, err := os.ReadFile(filepath.Join(cwd, "environment.txt"))
	if err != nil {
		r.fail("the command has not run: %v", err)
	}
	given := map[string]bool{}
	for _, pid := range r.leaders() {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			r.fail("%v", err)
		}
		for _, name := range namesOf(environ) {
			given[name] = true
		}
	}
	if len(given) == 0 {
		r.fail("the agent has no process")
	}
	var added, markers []string
	for _, name := range namesOf(command) {
		switch {
		case given[name]:
		case len(process.LeftOut([]string{name + "="})) > 0:
			markers = append(markers, name)
		default:
			added = append(added, name)
		}
	}
	if !slices.Equal(markers, r.agent.Markers) {
		r.fail("its markers are %q, recorded are %q", markers, r.agent.Markers)
	}
	for _, name := range added {
		if r.agent.marks(name) && !slices.Contains(r.agent.Settings, name) {
			r.fail("a command gets %s: is it a marker, which servers leave out, or a setting?", name)
		}
	}
	r.remark("%s", strings.Join(markers, ", "))
}

// namesOf are the names of the variables of an environment with NUL bytes, in order.
func namesOf(environ []byte) (names []string) {
	for kv := range strings.SplitSeq(string(environ), "\x00") {
		if name, _, is := strings.Cut(kv, "="); is && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
