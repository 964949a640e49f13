package conversation

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	wording "github.com/seed82539d15/holon/question"
)

// Ask is an open question, or a review, on another page than that of its thread. It looks
// and is answered as there, but what it is about is not scrolled: Enter opens the thread.
type Ask struct {
	q       *question
	open    bool
	end     string          // why nobody can answer any more, unless it is open
	raw     json.RawMessage // its content as it was read
	subject json.RawMessage // what it is about, as it was read
	line    editor
	why     string // why the last key did not answer

	attention
}

// ReadAsk returns the question of an answer to item/read.
func ReadAsk(now time.Time, result json.RawMessage) *Ask {
	var r struct {
		Item itemRow `json:"item"`
	}
	decode(result, &r)
	it := r.Item.item()
	return &Ask{q: newQuestion(it), open: r.Item.Status == "pending", end: overBy(it), raw: r.Item.Content, attention: attention{since: now}}
}

// ReadReview returns the review of a turn as turn/read and turn/list return it.
func ReadReview(now time.Time, turn json.RawMessage) *Ask {
	var t turnRow
	decode(turn, &t)
	return &Ask{q: newReview(turn), open: t.inReview(), end: reviewed(&t), raw: turn, attention: attention{since: now}}
}

// ID returns the id of the question, or of the turn that is reviewed.
func (a *Ask) ID() string { return a.q.id }

// Attempt returns the attempt of a turn that is reviewed, 0 for a question.
func (a *Ask) Attempt() int {
	if a.q.review == nil {
		return 0
	}
	return a.q.review.attempt
}

// LeaveNote goes back from the note of a verdict to the verdicts; false if none is typed.
func (a *Ask) LeaveNote() bool { return a.q.leaveNote() }

// Open reports whether nobody has answered.
func (a *Ask) Open() bool { return a.open }

// End explains why nobody can answer any more, if it is not open.
func (a *Ask) End() string { return a.end }

// Same reports whether another reading of the question says the same.
func (a *Ask) Same(other *Ask) bool { return a.q.id == other.q.id && bytes.Equal(a.raw, other.raw) }

// Subject returns the id of the item that the question is about, "" if it has none.
func (a *Ask) Subject() string { return a.q.content.Subject.ItemID }

// TakeSubject takes the answer to item/read of Subject. If it says something new, the
// keys of the question are dead again.
func (a *Ask) TakeSubject(now time.Time, result json.RawMessage, err error) {
	var r struct {
		Item itemRow `json:"item"`
	}
	switch decode(result, &r); {
	case err != nil:
		a.q.unread = a.q.subject == nil
	case r.Item.ItemID != a.Subject():
	case !bytes.Equal(a.subject, r.Item.Content):
		a.q.subject, a.q.unread, a.subject = r.Item.item(), false, r.Item.Content
		a.q.subject.raw = r.Item.Content
		a.touched(now)
	}
}

// Alive returns when the keys of the question begin to do something.
func (a *Ask) Alive() time.Time { return a.alive() }

// dead reports whether keys do nothing: the question is new, or what it is about is not on
// the screen yet.
func (a *Ask) dead(now time.Time) bool {
	return a.q.over == "" && (a.attention.dead(now) || a.q.sent || a.reading())
}

// reading reports whether what it is about is still being read.
func (a *Ask) reading() bool { return a.q.reading() }

// Reading is said of a key for a question that is not on the screen yet.
const Reading = "One moment: reading the question."

// Early takes a letter that comes too early, and says why it does nothing; "" if it does
// something or the answer is on its way.
func (a *Ask) Early(now time.Time, letter string) (why string) {
	switch {
	case a.q.sent:
		return ""
	case a.q.over == "" && a.reading():
		why = Reading
	case a.dead(now):
		why = "One moment: the question is new."
	case !a.Typed() && a.within(now, letter):
		why = strayedHere
	default:
		return ""
	}
	a.strays(now, letter)
	return why
}

// Over explains why nobody can answer any more, "" as long as somebody can.
func (a *Ask) Over() string { return a.q.over }

// TakeOver takes another reading of the question, by which it is over, or nil if there is none.
// What is typed stays, but is no answer any more.
func (a *Ask) TakeOver(other *Ask) {
	if a.q.over, a.q.why = overUnknown, ""; other != nil {
		a.q.over = other.end
	}
}

// Keys returns the keys that answer, and what Esc does.
func (a *Ask) Keys() []screen.Key {
	list := a.q.keys()
	if !a.Typed() {
		list = append(list, screen.Key{Name: "Enter", Does: "the thread"})
	}
	return append(list, screen.Key{Name: "Esc", Does: a.q.back()})
}

// Why explains why the last key that chose an option did not answer, "" if it did.
func (a *Ask) Why() string { return a.why }

// Typed reports whether the answer is typed.
func (a *Ask) Typed() bool { return a.q.typed() }

// Sent notes that an answer is on its way, or that it was not taken: then it is typed again.
func (a *Ask) Sent(sent bool) {
	if a.q.sent && !sent && a.q.form == nil {
		a.line.set(a.q.line)
	}
	a.q.sent = sent
}

// Key takes a key. ok tells whether it completes an answer.
func (a *Ask) Key(now time.Time, key tea.KeyPressMsg) (answer screen.Action, ok bool) {
	switch {
	case a.dead(now):
		return answer, false
	case !a.Typed():
		choice := a.q.pick(key.String(), key.Text)
		if a.why = ""; key.Text != "" && !a.q.chooses(choice) {
			a.why = NoAnswer
			a.strays(now, key.Text)
			return answer, false
		}
		if a.why = a.q.holds(choice); a.why != "" {
			a.why += " Enter opens the thread, which shows all."
			return answer, false
		}
		return a.q.choose(choice)
	case key.String() != "enter":
		if !a.line.key(key.String()) && key.Text != "" {
			a.line.insert(key.Text)
		}
		return answer, false
	}
	if a.q.over != "" {
		return answer, false
	}
	a.q.line = a.line.text
	answer, ok = a.q.take(a.q.line)
	if a.q.why == "" {
		a.line.set("")
	}
	return answer, ok
}

// Paste puts a pasted text into the line, unless it is too long. It never answers.
func (a *Ask) Paste(text string) (fits bool) {
	if !a.Typed() || a.q.sent {
		return true
	}
	return a.line.insert(strings.Join(strings.Fields(text), " "))
}

// Lines draws the question in at most height lines, at least 2: its subject, then the
// answers. The subject is shortened to one line before an answer is hidden; hidden answers
// are counted. cwd is the directory of its thread. x and y say where the caret is, x is -1
// if nothing is typed.
func (a *Ask) Lines(now time.Time, styles screen.Styles, cwd string, width, height int) (lines []string, x, y int) {
	p := &painter{styles: styles, width: width, now: now, cwd: screen.OneLine(cwd)}
	how := answering{focused: true, dead: a.dead(now), line: &a.line}
	lines = p.about(a.q, cwd)
	answers, x, y := p.answersIn(a.q, how, height-min(len(lines), 3)) // its subject is more than long names
	if over := len(answers) - (height - 1); over > 0 {
		more := wording.More(over+1) + ", Enter opens the thread"
		answers = append(answers[:max(height-2, 0)], styles.Dim.Paint(screen.Widest(width, "  "+more, more, "… Enter opens the thread")))
	}
	if room := max(height-len(answers), 1); len(lines) > room && room > 1 {
		a.q.see(0, room-1, len(lines))
		more := wording.More(len(lines)-room+1) + ", Enter opens the thread"
		lines = append(lines[:room-1:room-1], styles.Dim.Paint(screen.Widest(width, "  "+more, more, "… Enter opens the thread")))
	} else {
		a.q.see(0, min(room, len(lines)), len(lines))
		lines = lines[:min(room, len(lines))]
	}
	y += len(lines)
	return append(lines, answers...), x, y
}
