package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// Server is a server that the person may choose at the start.
type Server struct {
	Data string // its data directory
	URL  string
}

// Options are what a dashboard needs to run.
type Options struct {
	// Client is of the server; nil if none runs. The caller closes it.
	Client *client.Client
	// Data is the data directory on which a server is to be started if none runs,
	// and Elsewhere are servers of this user on other ones.
	Data      string
	Elsewhere []Server
	// Connect returns a client of the server of a data directory. It starts the
	// server of Data if none runs. It is called off the update loop; Run closes
	// the client.
	Connect func(ctx context.Context, data string) (*client.Client, error)
	// Cwd is the directory of new threads unless the person gives another, if Here says
	// that the server of a client, which has this log, has the directories of this
	// terminal; nil = it does not. Here is called off the update loop.
	Cwd  string
	Here func(c *client.Client, logID string) bool
	// Explain returns what to do about an error, "" if there is nothing to say.
	Explain func(error) string
	// Bell rings the terminal's bell when a thread begins to wait.
	Bell bool

	In      io.Reader
	Out     io.Writer
	Environ []string
}

// Counts are what a dashboard has done, for tests of its bounds.
type Counts struct {
	Renders  int // screens that were drawn
	Rows     int // rows of the overview that were drawn
	Requests int // requests to the server
}

// framesPerSecond bounds how often the terminal is written to.
const framesPerSecond = 30

// Run shows the dashboard until the person leaves it or ctx ends. It must own the
// terminal.
func Run(ctx context.Context, o Options) (Counts, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := newProgram(ctx, o)
	defer p.work.Wait()
	defer cancel()
	t := tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(screen.Input(o.In)), tea.WithOutput(o.Out),
		tea.WithEnvironment(o.Environ), tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler())
	p.send = t.Send
	_, err := t.Run()
	fmt.Fprint(o.Out, restoreTerminal)
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	p.sendPending()
	return p.counts(), err
}

// The wheel of a mouse sends arrow keys on the alternate screen (DECSET 1007), so
// that it scrolls without a capture of the mouse. The terminal's own setting and its
// title are saved and restored (XTSAVE, XTWINOPS); what a terminal does not know it
// ignores.
const (
	setTerminal     = "\x1b[22;2t\x1b[?1007s\x1b[?1007h"
	restoreTerminal = "\x1b[?1007r\x1b[23;2t"
)

// colourOf reports whether colours are wanted (no-color.org).
func colourOf(environ []string) bool {
	colour := true
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, "NO_COLOR="); ok {
			colour = value == ""
		}
	}
	return colour
}

// styles returns the styles of all pages.
func styles(environ []string) screen.Styles { return screen.NewStyles(colourOf(environ)) }
