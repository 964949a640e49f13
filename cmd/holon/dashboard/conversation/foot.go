package conversation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// foot is what is below the timeline: what the text will do, the input line, and a
// sentence, or a line with the keys: draw adds that, once it is known what scrolls.
type foot struct {
	rows []string
	says bool // the last rows are a sentence, so that there are no keys
	x, y int  // of the caret
}

func (d drawing) foot(p *painter) foot {
	if n := d.m.naming; n != nil {
		f := foot{rows: n.Lines(p.styles, p.width)}
		f.x, f.y, _ = n.Cursor(p.width)
		says := d.says(p)
		f.says = len(says) > 0
		f.rows = append(f.rows, says...)
		return f
	}
	f := foot{rows: d.deciding(p)}
	if len(f.rows) == 0 {
		f.rows = []string{d.rule(p)}
	}
	above := len(f.rows)
	most := max(1, min(8, d.m.view.height/4))
	rows, x, y := d.m.input.rows(p.width-2, most)
	sign := p.styles.Dim.Paint(">") + " "
	if d.m.focus == onInput {
		sign = p.styles.Strong.Paint(">") + " "
	}
	f.x, f.y = x+2, y+above
	if d.m.input.text == "" {
		rows = []string{p.styles.Dim.Paint(screen.Fit(d.placeholder(), p.width-2))}
	}
	for i, row := range rows {
		if i > 0 {
			sign = "  "
		} else {
			row = d.m.mark(p.styles.Working, row)
		}
		f.rows = append(f.rows, sign+row)
	}
	says := d.says(p)
	f.says = len(says) > 0
	f.rows = append(f.rows, says...)
	return f
}

func (d drawing) placeholder() string {
	switch {
	case d.m.outbox != "":
		return "sending …"
	case d.m.thread.State == "closed":
		return "the thread is closed"
	case d.m.focus == onInput:
		return "write to the agent"
	case d.m.focus == onQuestion:
		return "Esc, then Tab writes to the agent"
	case d.m.history.byKey[d.m.view.selected] != nil: // Enter opens that
		return "Tab writes to the agent"
	}
	return "Tab or Enter writes to the agent"
}

// rule returns the line above the input line: what the text will do, what the turn does, and
// what is new below the window.
func (d drawing) rule(p *painter) string {
	s := p.styles
	does := "starts a turn"
	switch {
	case d.m.aim().turn != "":
		does = "steers the turn"
	case d.paused():
		does = "is queued until holon resume " + screen.ShortID(d.m.options.Thread)
	case d.m.turns.queued() > 0:
		does = "is queued as a turn"
	}
	left := "─ A text " + does + " "
	if d.m.focus == onInput {
		left = "─ Enter " + does + " "
	}
	if command := d.m.commandRule(does); command != "" && d.m.focus == onInput {
		left = command
	} else if t := d.m.turns.active(); t != nil && t.ProgressMessage != "" {
		left += "─ " + screen.Fit(screen.OneLine(t.ProgressMessage), p.width/2) + " "
	}
	right := ""
	switch {
	case d.m.view.below > 0:
		right = fmt.Sprintf(" %d new below ─", d.m.view.below)
	case !d.m.view.follow:
		right = " scrolled up ─"
	}
	line := screen.Fit(left, max(4, p.width-screen.Width(right)))
	line += strings.Repeat("─", max(0, p.width-screen.Width(line)-screen.Width(right)))
	if d.m.view.below > 0 {
		return s.Dim.Paint(line) + s.Notice.Paint(right)
	}
	return s.Dim.Paint(line + right)
}

// deciding returns what the person must decide, in place of the line above the input line;
// empty if there is nothing.
func (d drawing) deciding(p *painter) (rows []string) {
	text := d.m.ask()
	switch {
	case text != "":
	case d.m.sure != nil:
		text = d.m.sure.Question
	case !d.m.closeAt.IsZero():
		left := d.m.closeAt.Sub(p.now)
		d.redrawIn(p.now, left%time.Second+1)
		text = fmt.Sprintf("“%s” is closed in %s. u keeps it open.", d.m.Title(), screen.Span(left+time.Second-1))
	default:
		return nil
	}
	for _, line := range screen.Wrap("! "+text, p.width) {
		rows = append(rows, p.styles.Waiting.Paint(line))
	}
	return rows
}

// says returns what has happened, else what is wrong, in as many rows as it needs; none if there
// is nothing to say.
func (d drawing) says(p *painter) []string {
	style, text := p.styles.Notice, ""
	switch {
	case d.m.loader.jumps:
		text = "Reading the beginning of the thread …"
	case d.m.status != "":
		text = d.m.status
	case d.m.offline:
		style, text = p.styles.Failed, screen.Offline(time.Time{}, d.m.why, p.width)
	case d.m.loader.failed != "" && len(d.m.history.entries) > 0:
		style, text = p.styles.Failed, d.m.loader.failed
	default:
		return nil
	}
	return screen.NoticeLines(style, text, p.width, d.m.view.height)
}

// keys returns a line with the keys that matter now.
func (d drawing) keys(p *painter) string { return screen.HelpLine(p.styles, d.help(p.now), p.width) }

// help returns the keys that matter now.
func (d drawing) help(now time.Time) []screen.Key {
	if d.m.sure != nil {
		return d.m.sure.Keys
	}
	if d.m.naming != nil {
		return screen.NamingKeys
	}
	switch d.m.focus {
	case onInput:
		does := "start a turn"
		if d.m.aim().turn != "" {
			does = "steer"
		} else if d.paused() || d.m.turns.queued() > 0 {
			does = "queue a turn"
		}
		if strings.TrimSpace(d.m.input.text) == helpCommand {
			does = "show the keys"
		}
		list := []screen.Key{{Name: "Enter", Does: does}, {Name: "Alt-Enter", Does: "new line"}}
		if d.m.view.scrolls {
			list = append(list, screen.Key{Name: "PgUp", Does: "scroll"})
		}
		return append(list, screen.Key{Name: "Esc", Does: "keys"})
	case onChildren:
		return []screen.Key{{Name: "Enter", Does: "open"}, {Name: "↑ ↓", Does: "choose"}, {Name: "Esc", Does: "back"}}
	case onQuestion:
		return d.answerKeys(d.m.asks.front())
	}
	list := []screen.Key{}
	if q := d.m.asks.front(); q != nil {
		does := "answer"
		if q.review != nil {
			does = "review"
		}
		list = append(list, screen.Key{Name: "a", Does: does})
	}
	if e := d.m.history.byKey[d.m.view.selected]; e != nil && e.child != nil {
		list = append(list, screen.Key{Name: "Enter", Does: "open the child"})
	} else if e != nil && e.expanded {
		list = append(list, screen.Key{Name: "Enter", Does: "fold"})
	} else if e != nil {
		list = append(list, screen.Key{Name: "Enter", Does: "unfold"})
	}
	list = append(list, screen.Key{Name: "Tab", Does: "write"})
	for _, key := range lineKeys {
		switch {
		case key.Name == "Tab", key.Name == "a":
		case (key.Name == "↑ ↓" || key.Name == "g G") && !d.m.view.scrolls:
		case (key.Name == "j k" || key.Name == "Space") && !slices.ContainsFunc(d.m.history.entries, (*entry).selectable):
		case key.Name == screen.WakeKey && d.m.notTold(now) == "":
		case key.Name == "r" && d.m.turns.retryable() == nil:
		case (key.Name == "t" || key.Name == "x") && d.m.thread.State == "closed":
		case key.Name == "i" && d.m.turns.active() == nil, key.Name == "c" && len(d.m.children.threads) == 0:
		default:
			list = append(list, key)
		}
	}
	return list
}

// answerKeys returns the keys for a question: those that do something.
func (d drawing) answerKeys(q *question) []screen.Key {
	if q.over != "" {
		return []screen.Key{{Name: "Esc", Does: "leave"}}
	}
	list := q.keys()
	if !q.typed() {
		list = append(list, screen.Key{Name: "Enter", Does: "take ▸"})
	}
	if d.m.view.subjectMost > 0 {
		list = append(list, screen.Key{Name: "PgDn", Does: "more"})
	}
	return append(list, screen.Key{Name: "Esc", Does: q.back()})
}
