package dashboard

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// watched is the output of a dashboard. It presses q as soon as the terminal is set.
type watched struct {
	bytes.Buffer
	keys *io.PipeWriter
	left sync.Once
}

// Write implements io.Writer. The program writes from one goroutine at a time.
func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Buffer.Write(b)
	if bytes.Contains(w.Bytes(), []byte(setTerminal)) {
		w.left.Do(func() {
			go func() {
				_, _ = w.keys.Write([]byte("q")) // nobody reads it once the program ends
			}()
		})
	}
	return n, err
}

// left is all that a terminal gets of a dashboard without a server that is left by q.
func left(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	in, keys := io.Pipe()
	defer in.Close()
	out := &watched{keys: keys}
	if _, err := Run(ctx, Options{Data: "/data", In: in, Out: out, Environ: []string{"TERM=xterm-256color"}}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The mouse stays the terminal's: people select and copy as everywhere. The wheel scrolls,
// because the terminal sends it as arrow keys. What was set is restored.
func TestTheMouseIsNotTaken(t *testing.T) {
	out := left(t)
	on, off := strings.Index(out, "\x1b[?1007s\x1b[?1007h"), strings.LastIndex(out, "\x1b[?1007r")
	if on < 0 || off < on {
		t.Errorf("alternate scroll is set at %d and restored at %d of %q", on, off, out)
	}
	saved, restored := strings.Index(out, "\x1b[22;2t"), strings.LastIndex(out, "\x1b[23;2t")
	if saved < 0 || restored < saved {
		t.Errorf("the title is saved at %d and restored at %d of %q", saved, restored, out)
	}
	if modes := regexp.MustCompile(`\x1b\[\?(9|1000|1001|1002|1003|1005|1006|1015|1016)h`).FindAllString(out, -1); modes != nil {
		t.Errorf("the mouse is captured: %q", modes)
	}
	p, _ := testProgram(t, Options{})
	p.Update(waiting(1))
	for _, page := range []string{"the overview", "a thread"} {
		if mode := p.View().MouseMode; mode != tea.MouseModeNone {
			t.Errorf("%s captures the mouse: %v", page, mode)
		}
		p.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	}
	if p.page == screen.Page(p.overview) {
		t.Error("no thread was shown")
	}
}

// NO_COLOR leaves weights: nothing depends on colours.
func TestColoursAreOptional(t *testing.T) {
	for _, c := range []struct {
		environ  []string
		coloured bool
	}{
		{nil, true}, {[]string{"NO_COLOR="}, true}, {[]string{"NO_COLOR=1"}, false}, {[]string{"NO_COLOR=1", "NO_COLOR="}, true}, {[]string{"NO_COLORS=1"}, true},
	} {
		p := newProgram(t.Context(), Options{Environ: c.environ})
		p.page = p.overview
		p.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
		p.Update(waiting(2))
		shown := p.View().Content
		if coloured := regexp.MustCompile(`\x1b\[[0-9;]*3[0-7]m`).MatchString(shown); coloured != c.coloured {
			t.Errorf("%q: there are colours: %v, want %v in %q", c.environ, coloured, c.coloured, shown)
		}
		if !strings.Contains(shown, "\x1b[1") || !strings.Contains(shown, "\x1b[7m") {
			t.Errorf("%q: there are no weights in %q", c.environ, shown)
		}
	}
}
