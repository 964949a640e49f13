package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// Frames of the spinner.
var (
	spinner      = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	spinnerASCII = []string{"|", "/", "-", `\`}
)

// status returns the text of the status: the lost connection, else the oldest turn that
// runs with its time, else the idle text; and a line for each child turn.
func (r *Renderer) status() string {
	frames := spinner
	if r.options.ASCII {
		frames = spinnerASCII
	}
	spin := frames[r.frame%len(frames)]
	var own, children []*turn
	for _, id := range r.order {
		if t := r.turns[id]; t.child != nil {
			children = append(children, t)
		} else {
			own = append(own, t)
		}
	}
	switch {
	case r.asking:
		return ""
	case r.lost != "":
		return spin + " " + r.lost
	case len(r.order) == 0 && r.options.Idle == "":
		return ""
	case len(own) == 0 && (len(children) == 0 || r.options.Idle != ""):
		return spin + " " + r.options.Idle + r.childLines(children)
	case len(own) == 0:
		return spin + " " + CountChildren(len(children)) + r.childLines(children)
	}
	t := own[0]
	parts := []string{t.state}
	if t.waits > 0 {
		parts = []string{"waiting for " + CountChildren(t.waits)}
	}
	if t.note != "" {
		parts = append(parts, t.note)
	}
	if n := len(t.steps); n > 0 {
		parts = append(parts, OneLine(t.steps[n-1]))
	}
	if wait := t.retryAt.Sub(r.options.Now()); wait > 0 {
		parts = append(parts, "again in "+Elapsed(wait))
	}
	took := r.options.Now().Sub(t.since)
	parts = append(parts, Elapsed(took))
	if !t.heard && t.state == "running" && t.waits == 0 && took >= turns.SilentAfter {
		parts = append(parts, "nothing from the agent yet: holon doctor checks it")
	}
	if more := len(own) - 1; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	if r.options.Hint != "" {
		parts = append(parts, r.options.Hint)
	}
	separator := " · "
	if r.options.ASCII {
		separator = " - "
	}
	return spin + " " + strings.Join(parts, separator) + r.childLines(children)
}

// Elapsed writes a duration as people say it: 0.4s, 12s, 3m05s, 2h07m.
func Elapsed(d time.Duration) string {
	d = max(0, d)
	switch {
	case d < 100*time.Millisecond:
		return "<0.1s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
