package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/persist/sqlite"
)

// doctorArea is a group of checks that are printed as one line as far as all is fine. A
// check of no area has a line of its own.
type doctorArea struct {
	name   string
	checks []string                             // their names; one that ends with a blank stands for all that begin so
	fine   func(checks []sqlite.Finding) string // what the line says
}

var doctorAreas = []doctorArea{
	{"log", []string{
		"journal_mode", "user_version", "integrity", "log", "rows", "tries", "markers", "fence", "ends", "inboxes", "inbox items", "cursors", "synchronous",
	}, withText("log", "")},
	{"data", []string{"permissions", "free space", "writable"}, listed("free space", "free: ")},
	{"machine", []string{"environment", "path", "peers"}, listed("", "")},
	{"agents", []string{"agent "}, byName},
	{"bridges", []string{"bridge "}, byName},
}

// withText counts the checks and has the text of one of them, after a word.
func withText(of, word string) func([]sqlite.Finding) string {
	return func(checks []sqlite.Finding) string {
		text := counted(len(checks), "check", "checks")
		if i := slices.IndexFunc(checks, func(f sqlite.Finding) bool { return f.Name == of }); i >= 0 {
			text += "; " + word + checks[i].Text
		}
		return text
	}
}

// listed lists the checks, and has the text of one of them, after a word.
func listed(of, word string) func([]sqlite.Finding) string {
	return func(checks []sqlite.Finding) string {
		var names []string
		text := ""
		for _, f := range checks {
			if f.Name == of {
				text = "; " + word + f.Text
			} else {
				names = append(names, f.Name)
			}
		}
		return strings.Join(names, ", ") + text
	}
}

// byName lists what was checked.
func byName(checks []sqlite.Finding) string {
	var names []string
	for _, f := range checks {
		if _, name, _ := strings.Cut(f.Name, " "); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// area returns the area of a check, nil if it has none.
func area(name string) *doctorArea {
	for i := range doctorAreas {
		for _, is := range doctorAreas[i].checks {
			if name == is || strings.HasSuffix(is, " ") && strings.HasPrefix(name, is) {
				return &doctorAreas[i]
			}
		}
	}
	return nil
}

// print prints the problems, then what is fine: all of it, or a line for each area.
func (r *doctorReport) print(con *console, all bool) error {
	if all {
		for _, f := range r.Findings {
			if err := printFinding(con, f); err != nil {
				return err
			}
		}
		return r.printDifferences(con)
	}
	for _, level := range []sqlite.Level{sqlite.Error, sqlite.Warning} {
		for _, f := range r.Findings {
			if f.Level == level {
				if err := printFinding(con, f); err != nil {
					return err
				}
			}
		}
	}
	for _, f := range fine(r.Findings) {
		if err := printFinding(con, f); err != nil {
			return err
		}
	}
	return r.printDifferences(con)
}

// findingIndent is where the text of a finding begins.
const findingIndent = 24

func printFinding(con *console, f sqlite.Finding) error {
	text := timeline.Clean(f.Text)
	if con.isTerminal(con.out) {
		text = strings.Join(screen.Wrap(text, max(con.columns()-findingIndent, findingIndent)), "\n"+strings.Repeat(" ", findingIndent))
	}
	_, err := fmt.Fprintf(con.out, "%-8s %-14s %s\n", f.Level, f.Name, text)
	return err
}

// fine returns the checks without a problem, those of one area together, in the order in which
// each area comes first.
func fine(findings []sqlite.Finding) (lines []sqlite.Finding) {
	of, done := map[*doctorArea][]sqlite.Finding{}, map[*doctorArea]bool{}
	for _, f := range findings {
		if f.Level == sqlite.OK {
			of[area(f.Name)] = append(of[area(f.Name)], f)
		}
	}
	for _, f := range findings {
		if f.Level != sqlite.OK {
			continue
		}
		in := area(f.Name)
		switch checks := of[in]; {
		case in == nil || len(checks) == 1:
			lines = append(lines, f)
		case !done[in]:
			done[in] = true
			lines = append(lines, sqlite.Finding{Name: in.name, Level: sqlite.OK, Text: in.fine(checks)})
		}
	}
	return lines
}

// printDifferences prints what --refold has found.
func (r *doctorReport) printDifferences(con *console) error {
	if r.Refold == nil {
		return nil
	}
	for _, d := range r.Refold.Differences {
		if _, err := fmt.Fprintf(con.out, "  %s\n", timeline.Clean(d.String())); err != nil {
			return err
		}
	}
	if r.Refold.More {
		_, err := fmt.Fprintln(con.out, "  … and more")
		return err
	}
	return nil
}
