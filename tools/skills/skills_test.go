package skills

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// Each page has a table of cases, is short enough to be read in one answer of a tool, and names no
// member that no tool has.
func TestPages(t *testing.T) {
	files, err := fs.Glob(pages, "pages/*.md")
	if err != nil || len(files) != len(Names()) {
		t.Fatalf("%d pages, %d names: %v", len(files), len(Names()), err)
	}
	for _, s := range List() {
		if s.Says == "" || !strings.HasPrefix(s.Page, "# "+s.Name+": "+s.Says+"\n\n") {
			t.Errorf("%s: its heading says %q", s.Name, s.Says)
		}
		if !strings.Contains(s.Page, "\n| case | what you call | what follows |\n|---|---|---|\n") || len(s.Page) > 4<<10 {
			t.Errorf("%s: no table, or %d bytes", s.Name, len(s.Page))
		}
		if found := regexp.MustCompile(`(?i)attention.?polic|run_in_background|silent_background`).FindString(s.Page); found != "" {
			t.Errorf("%s: %q is nothing that an agent can say", s.Name, found)
		}
		if got, ok := Of(s.Name); !ok || got != s {
			t.Errorf("%s is not found", s.Name)
		}
	}
	p, _ := Of("background")
	for _, row := range []string{"| a command of your own in the background", "| work whose end is told to nobody"} {
		if !strings.Contains(p.Page, "\n"+row) {
			t.Errorf("no row begins %q", row)
		}
	}
	if _, ok := Of("nothing"); ok {
		t.Error("something is found")
	}
}
