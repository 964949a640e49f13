package dashboard

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/overview"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// start is the page without a server: it offers to start one, or to open one that
// runs elsewhere. It implements screen.Page.
type start struct {
	styles    screen.Styles
	data      string
	elsewhere []Server
	connect   func(data string) connected // blocks
	chosen    int                         // 0: start one
	busy      bool
	problem   string
}

const gap = 2 // blanks between columns

// startFailed says why no server could be started or reached.
type startFailed struct{ text string }

func newStart(styles screen.Styles, data string, elsewhere []Server, connect func(string) connected) *start {
	return &start{styles: styles, data: data, elsewhere: elsewhere, connect: connect}
}

// Update implements screen.Page.
func (s *start) Update(_ time.Time, msg tea.Msg) []screen.Action {
	switch msg := msg.(type) {
	case startFailed:
		s.busy, s.problem = false, msg.text
	case tea.KeyPressMsg:
		return s.key(msg)
	}
	return nil
}

func (s *start) key(key tea.KeyPressMsg) []screen.Action {
	if key.String() == "q" || key.String() == "esc" {
		return []screen.Action{screen.Quit{}}
	}
	if s.busy {
		return nil
	}
	switch key.String() {
	case "up", "k":
		s.chosen = max(s.chosen-1, 0)
	case "down", "j":
		s.chosen = min(s.chosen+1, len(s.elsewhere))
	case "enter":
		s.busy, s.problem = true, ""
		data := s.data
		if s.chosen > 0 {
			data = s.elsewhere[s.chosen-1].Data
		}
		return []screen.Action{screen.Work{Do: func() any { return s.connect(data) }}}
	}
	return nil
}

// Lines implements screen.Page.
func (s *start) Lines(_ time.Time, width, height int) []string {
	if width < overview.MinWidth || height < overview.MinHeight {
		return overview.TooSmall(width, height)
	}
	lines := []string{s.styles.Title.Paint("No server runs on this data directory:")}
	lines = append(lines, "  "+screen.FitLeft(screen.OneLine(s.data), width-2), "")
	first := len(lines)
	lines = append(lines, "Start a server there")
	for i, server := range s.elsewhere {
		if i == 0 {
			lines = append(lines, "")
			lines = append(lines, s.styles.Title.Paint("Servers of yours that run elsewhere:"))
		}
		url := screen.OneLine(server.URL)
		room := width - len("> ") - screen.Width(url) - gap
		lines = append(lines, screen.FitLeft(screen.OneLine(server.Data), max(room, 16))+"  "+url)
	}
	at := first
	if s.chosen > 0 {
		at = first + 2 + s.chosen
	}
	for i := first; i < len(lines); i++ {
		switch {
		case i == at:
			lines[i] = s.styles.Selected.Paint(screen.Pad("> "+lines[i], width))
		case i == first || i > first+2:
			lines[i] = "  " + lines[i]
		}
	}
	lines = append(lines, "")
	if s.busy {
		lines = append(lines, "Connecting …")
		if s.chosen == 0 {
			lines[len(lines)-1] = "Starting the server …"
		}
	}
	for _, line := range screen.Wrap(screen.Clean(s.problem), width) {
		lines = append(lines, s.styles.Failed.Paint(line))
	}
	if over := len(lines) - (height - 1); over > 0 && at > height/2 {
		lines = lines[min(over, at-1):]
	}
	keys := []screen.Key{{Name: "Enter", Does: "start"}, {Name: "q", Does: "leave"}}
	if s.chosen > 0 {
		keys[0].Does = "open"
	}
	if len(s.elsewhere) > 0 {
		keys = append([]screen.Key{{Name: "↑ ↓", Does: "choose"}}, keys...)
	}
	return append(screen.Fill(lines, width, height-1), screen.Pad(screen.HelpLine(s.styles, keys, width), width))
}

// Changes implements screen.Page.
func (s *start) Changes(time.Time) time.Time { return time.Time{} }

// Cursor implements screen.Page.
func (s *start) Cursor(int, int) (x, y int, show bool) { return 0, 0, false }
