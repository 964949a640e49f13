package dashboard

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/overview"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// newPage returns the page of a thread, and what it asks for at its beginning.
func newPage(styles screen.Styles, t overview.Thread) (screen.Page, []screen.Action) {
	return &glance{styles: styles, thread: t}, []screen.Action{screen.Seen{Thread: t.ID, Seq: t.LatestSeq}}
}

// glance is a page with the summary of a thread. It implements screen.Page.
type glance struct {
	styles screen.Styles
	thread overview.Thread
}

// Update implements screen.Page.
func (g *glance) Update(_ time.Time, msg tea.Msg) []screen.Action {
	if key, ok := msg.(tea.KeyPressMsg); ok {
		switch key.String() {
		case "esc", "q", "left":
			return []screen.Action{screen.Back{}}
		case "w":
			return []screen.Action{screen.Next{}}
		case "y":
			return []screen.Action{screen.Copy{Text: g.thread.ID}, screen.Say{Text: "Copied " + screen.OneLine(g.thread.ID)}}
		}
	}
	return nil
}

// Lines implements screen.Page.
func (g *glance) Lines(_ time.Time, width, height int) []string {
	if width < overview.MinWidth || height < overview.MinHeight {
		return overview.TooSmall(width, height)
	}
	t := g.thread
	lines := []string{g.styles.Title.Paint(screen.Fit(t.Summary.Title, width)), screen.Fit(t.Agent+"  "+t.Cwd, width), ""}
	lines = append(lines, screen.Wrap(t.Summary.Text, width)...)
	help := screen.HelpLine(g.styles, []screen.Key{{Name: "w", Does: "next that waits"}, {Name: "y", Does: "copy id"}, {Name: "Esc", Does: "back"}}, width)
	return append(screen.Fill(lines, width, height-1), screen.Pad(help, width))
}

// Changes implements screen.Page.
func (g *glance) Changes(time.Time) time.Time { return time.Time{} }

// Cursor implements screen.Page.
func (g *glance) Cursor(int, int) (x, y int, show bool) { return 0, 0, false }
