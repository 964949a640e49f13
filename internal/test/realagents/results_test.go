//go:build linux

package realagents

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// results is the table of outcomes. Its methods may be called from many
// goroutines.
type results struct {
	mu     sync.Mutex
	agents []string
	rows   []string
	cells  map[[2]string]cell // by row and agent
}

type cell struct {
	outcome string // ok, FAILED or not offered
	took    time.Duration
	note    string
	runs    int // of a scenario that runs more than once
	passed  int
}

const (
	passed     = "ok"
	failed     = "FAILED"
	notOffered = "not offered"
)

func newResults() *results { return &results{cells: map[[2]string]cell{}} }

func (r *results) add(agent, row string, c cell) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.agents, agent) {
		r.agents = append(r.agents, agent)
	}
	if !slices.Contains(r.rows, row) {
		r.rows = append(r.rows, row)
	}
	before := r.cells[[2]string{row, agent}]
	c.runs, c.passed = before.runs+1, before.passed
	if c.outcome == passed {
		c.passed++
	}
	if before.outcome == failed { // the first failure is the one to read about
		c.outcome, c.note = failed, before.note
	}
	r.cells[[2]string{row, agent}] = c
}

func (c cell) String() string {
	if c.outcome == "" {
		return "–"
	}
	text := c.outcome
	if c.runs > 1 {
		text += fmt.Sprintf(" (%d of %d passed)", c.passed, c.runs)
	}
	if c.outcome == passed {
		text += fmt.Sprintf(" %.1f s", c.took.Seconds())
	}
	if c.note != "" {
		text += "; " + c.note
	}
	return text
}

// text returns the table for a terminal: one line per scenario and agent.
func (r *results) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, agent := range r.agents {
		for _, row := range r.rows {
			fmt.Fprintf(&b, "%-10s %-34s %s\n", agent, row, r.cells[[2]string{row, agent}])
		}
	}
	return b.String()
}

// markdown returns the table for the documentation: one row per scenario.
func (r *results) markdown() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "| scenario | %s |\n|---|%s\n", strings.Join(r.agents, " | "), strings.Repeat("---|", len(r.agents)))
	for _, row := range r.rows {
		fmt.Fprintf(&b, "| %s |", row)
		for _, agent := range r.agents {
			fmt.Fprintf(&b, " %s |", strings.ReplaceAll(r.cells[[2]string{row, agent}].String(), "|", "\\|"))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
