package timeline

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/rpc/client"
)

// Options configure a Renderer.
type Options struct {
	// Terminal asks for signs, wrapping and the status line; otherwise plain
	// lines are written.
	Terminal bool
	// Color allows colours on a terminal.
	Color bool
	// ASCII restricts the renderer's own signs to ASCII.
	ASCII bool
	// Width returns the terminal's columns and is called before each line; nil
	// means 80.
	Width func() int
	// Height returns the terminal's rows; nil means 24.
	Height func() int
	// Superseded says how to show superseded lines.
	Superseded Superseded
	// Now is the clock of the status line; nil means time.Now.
	Now func() time.Time
	// Threads names the thread of each block: for more than one thread. Terminals then get
	// whole lines below headings.
	Threads bool
	// Short is how ids are shown; nil means whole.
	Short func(id string) string
	// Title asks for the title of a thread of which no event has told it; nil means that
	// there is none.
	Title func(id string) string
	// AskedBelow says that the person is asked each open question below the timeline, which
	// then shows of it only what is asked, in one line.
	AskedBelow bool
	// HowToAnswer says at each question which command answers it.
	HowToAnswer bool
	// Idle is the status while nothing runs; "" shows none.
	Idle string
	// ShortenAfter is after how many lines the output of a tool is cut; 0 = never. ShowAll is
	// the command that shows all of it.
	ShortenAfter int
	ShowAll      string
	// Hint is added to the status while a turn runs.
	Hint string
}

// Renderer shows events one after the other. One goroutine uses it: Event and
// State as they come, Tick a few times a second on a terminal, Close at the end.
type Renderer struct {
	sink    sink
	live    *terminal // of the sink; nil: it writes plain lines
	options Options
	turns   map[string]*turn
	config  map[string]map[string]string // settings of threads' agents that have been shown
	titles  map[string]string            // of threads
	order   []string                     // of turns, oldest first
	items   map[string]*item
	markers markers
	from    *source // of the event that is shown
	lost    string  // the status while the connection is lost
	asking  bool    // a question is on the terminal
	frame   int
	blocks  int
}

// turn is a turn that has not ended.
type turn struct {
	since   time.Time
	state   string
	note    string
	retryAt time.Time // of the next attempt, while the turn waits for it
	waits   int       // child turns that it waits for
	steps   []string  // the running steps
	usage   *usage
	heard   bool       // its agent has said or done something
	child   *childTurn // nil: it is none
}

// item is an item that has not ended.
type item struct {
	from    *source // of its first event
	turn    string
	since   int64 // the seq of that event
	label   label
	content Content
	raw     json.RawMessage // the content of what an agent does: a question may be about it
	clean   sanitize.Stream
	shown   int64  // bytes of the streamed text already shown
	changed string // the changes of files already shown
	begun   bool
	asked   bool
	output  shortened
}

// New returns a Renderer that writes to w.
func New(w io.Writer, options Options) *Renderer {
	if options.Width == nil {
		options.Width = func() int { return 80 }
	}
	if options.Height == nil {
		options.Height = func() int { return 24 }
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	r := &Renderer{options: options, turns: map[string]*turn{}, items: map[string]*item{}, config: map[string]map[string]string{}, titles: map[string]string{}}
	if options.Terminal {
		r.live = &terminal{
			w: w, color: options.Color, utf8: !options.ASCII, width: options.Width, height: options.Height,
			many: options.Threads, name: r.threadName, begun: map[string]bool{},
		}
		if r.sink = r.live; options.Threads {
			r.sink = newWholeLines(r.live)
		}
	} else {
		r.sink = newPlain(w, options.Threads, r.threadName)
	}
	return r
}

// Event shows one event. The error is that of the writer.
func (r *Renderer) Event(event client.Event) error {
	var p params
	if len(event.Params) > 0 && json.Unmarshal(event.Params, &p) != nil {
		// The params have a foreign form: show at least the name.
		r.block(event.ThreadID, labelOther, OneLine(event.Method))
		return r.update()
	}
	r.from = sourceOf(event, p)
	defer func() { r.from = nil }()
	if r.stale(r.from) {
		r.outOfView(event, p)
		return r.update()
	}
	switch event.Method {
	case "thread/started", "thread/resumed", "thread/paused", "thread/closed", "thread/updated":
		r.threadEvent(event, p)
	case "turn/queued", "turn/started", "turn/progress", "turn/completed", "turn/interrupted", "turn/failed", "turn/detached", "turn/reviewed":
		r.turnEvent(event, p)
	case "item/created", "item/updated", "item/deleted", "item/delta":
		r.itemEvent(event, p)
	case "step/started", "step/ended":
		r.stepEvent(event, p)
	case "stream/rewind":
		r.rewindEvent(event, p)
	case "turn/late":
		r.outOfView(event, p)
	case "holon/paused":
		text := "server paused: turns wait"
		if p.Until != "" {
			text += " until " + OneLine(p.Until)
		}
		r.block("", labelLink, text+because(p.Reason))
	case "holon/resumed":
		r.block("", labelLink, "server resumed"+because(p.Reason))
	default:
		r.block(event.ThreadID, labelOther, OneLine(event.Method))
	}
	return r.update()
}

// State shows a change of the connection.
func (r *Renderer) State(state client.State) error {
	switch state.Kind {
	case client.Lost:
		r.lost = fmt.Sprintf("connection lost, attempt %d", state.Attempt)
		if state.RetryIn >= time.Second {
			r.lost += fmt.Sprintf(" in %s", state.RetryIn.Round(time.Second))
		}
		if state.Attempt == 1 {
			r.block("", labelLink, fmt.Sprintf("connection lost (%s), resuming after seq %d …", OneLine(fmt.Sprint(state.Reason)), state.AfterSeq))
		}
	case client.Resumed:
		r.lost = ""
		r.block("", labelLink, fmt.Sprintf("resumed after seq %d", state.AfterSeq))
	case client.Connected:
		r.lost = ""
	}
	return r.update()
}

// Note shows a sentence of the command itself.
func (r *Renderer) Note(text string) error {
	r.block("", labelLink, Clean(text))
	return r.update()
}

// Ask hides the status line so that a person can be asked on the terminal;
// Answered shows it again.
func (r *Renderer) Ask() error {
	r.asking = true
	return r.update()
}

// Answered ends Ask. The question and the typed text are on the terminal now.
func (r *Renderer) Answered() error {
	r.asking = false
	r.sink.lose()
	return r.update()
}

// Tick moves the spinner and shows text that was held back.
func (r *Renderer) Tick() error {
	r.frame++
	r.sink.showHeld()
	return r.update()
}

// Close ends open blocks and removes the status line.
func (r *Renderer) Close() error {
	for _, id := range slices.Sorted(maps.Keys(r.items)) {
		r.drain(id, r.items[id], "")
		r.sink.finish(id)
	}
	r.sink.showHeld()
	r.sink.finish("")
	r.sink.status("")
	if r.live != nil {
		r.live.erase()
		r.live.endLine()
	}
	return r.sink.flush()
}

// Held returns the seq of the oldest event whose text may not be printed yet, as
// that of an item that has not ended; 0 = everything is printed. Questions count as
// printed: they wait for days. The view of such an item begins with that event.
func (r *Renderer) Held() (seq int64) {
	for _, it := range r.items {
		if it.asked || it.content.Type == "user_message" || it.content.Type == "plan" {
			continue
		}
		if seq == 0 || it.since < seq {
			seq = it.since
		}
	}
	return seq
}

// block shows one finished block.
func (r *Renderer) block(thread string, l label, text string) {
	r.blocks++
	key := fmt.Sprintf("#%d", r.blocks)
	r.sink.write(key, thread, l, text, r.from)
	r.sink.finish(key)
}

// update refreshes the status line and flushes.
func (r *Renderer) update() error {
	r.sink.status(r.status())
	return r.sink.flush()
}

// because adds a reason to a sentence.
func because(reason string) string {
	if reason = OneLine(reason); reason == "" {
		return ""
	}
	return " (" + reason + ")"
}
