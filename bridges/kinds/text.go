package kinds

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/turns"
)

// message is what a person is shown of an envelope. What, label, Next and Link are
// words of our own, and Page leads to a host that the server's configuration names; everything else may have been written by an agent, and each kind
// escapes it for its target.
type message struct {
	what    string // what has happened, such as "Completed"
	title   string // of what: one line
	details []detail
	text    string // the agent's last message; several lines
	next    string // what to do next, such as a command; "" = nothing
	link    string // of the console, which shows it; "" = none
	page    string // where the newest item of an entry can be looked at, outside of the server; "" = nowhere
	host    string // of the page, which is shown with it
	urgency urgency
	sign    string // the name of an emoji
}

// detail is a line about what has happened.
type detail struct {
	label string
	value string // one line
}

// urgency says how much a message wants attention. Its numbers are the priorities
// of ntfy.
type urgency int

const (
	quiet    urgency = 2
	normal   urgency = 3
	pressing urgency = 4
)

// The bounds of a message, in runes.
const (
	maxTitle  = 150
	maxDetail = 500
)

// describe makes the message of an envelope.
func describe(e *bridges.Envelope) message {
	d := &e.Data
	m := message{title: oneLine(d.Title, maxTitle), text: d.Text, urgency: normal}
	if consoleLink.MatchString(d.URL) {
		m.link = d.URL
	}
	switch e.EventType {
	case bridges.TypeFinal:
		m.final(d)
	case bridges.TypeQuestion:
		m.question(d)
	case bridges.TypeAnswer:
		m.answer(d)
	case bridges.TypeProgress:
		m.progress(d)
	case bridges.TypeSuperseded:
		m.what, m.sign, m.urgency = "No longer true", "leftwards_arrow_with_hook", quiet
		if d.NewAttempt > 0 {
			m.add("Tried again", "attempt "+strconv.Itoa(d.NewAttempt)+" has begun")
		} else {
			m.add("Reason", "the step is tried again")
		}
	case bridges.TypeInbox:
		m.inbox(d)
	case bridges.TypeStalled:
		m.what, m.sign, m.urgency = "Not woken any more", "zzz", pressing
		m.add("Reason", d.Stall()+"; new entries start no turn")
		m.next = toType("To wake it", "inbox wake", d.ThreadID)
	case bridges.TypeTest:
		m.what, m.sign = "Test", "bell"
		m.next = "This bridge works. There is nothing to do."
	default:
		m.what, m.sign = "Event", "bell"
		m.add("Event", d.Method)
	}
	return m
}

func (m *message) final(d *bridges.Data) {
	switch d.State {
	case turns.Completed:
		m.what, m.sign = "Completed", "white_check_mark"
		if turns.StopsEarly(d.StopReason) {
			m.what, m.sign, m.urgency = "Stopped early", "warning", pressing
			m.add("Stop reason", d.StopReason)
		}
	case turns.Failed:
		m.what, m.sign, m.urgency = "Failed", "x", pressing
		m.next = toType("To try again", "retry", d.TurnID)
	case turns.Interrupted:
		m.what, m.sign = "Interrupted", "stop_button"
	default:
		m.what, m.sign = "Ended", "white_check_mark"
	}
	if d.Review != nil {
		m.add("Review", d.Review.Verdict)
		m.add("Note", d.Review.Note)
		switch turns.ReviewState(d.Review.Verdict) {
		case turns.Blocked:
			m.what, m.sign, m.urgency = "Blocked by its review", "no_entry", pressing
		case turns.Rejected: // and nothing continues it
			m.what, m.sign, m.urgency = "Rejected by its review", "no_entry", pressing
		}
	}
	if d.Error != nil {
		m.add("Error", d.Error.Kind+": "+d.Error.Message)
	}
	m.add("Reason", d.Reason)
	if m.next == "" {
		m.next = toType("To read it", "items --turn", d.TurnID)
	}
}

func (m *message) question(d *bridges.Data) {
	m.what, m.sign, m.urgency = "Waits for your answer", "question", pressing
	if d.Question == nil {
		return
	}
	m.add("Question", d.Question.Title)
	for i, o := range d.Question.Options {
		m.add("Answer "+strconv.Itoa(i+1), o.Label)
	}
	m.next = toType("To answer", "respond", d.Question.ItemID)
}

func (m *message) answer(d *bridges.Data) {
	m.what, m.sign, m.urgency = "Answered", "ballot_box_with_check", quiet
	var outcome struct {
		Type     string `json:"type"`
		OptionID string `json:"option_id"`
	}
	_ = json.Unmarshal(d.Outcome, &outcome) // another form says less
	switch outcome.Type {
	case "cancelled":
		m.what = "No longer asked"
	case "expired":
		m.what = "Not answered in time"
	}
	if d.Question != nil {
		m.add("Question", d.Question.Title)
		for _, o := range d.Question.Options {
			if o.ID == outcome.OptionID && outcome.OptionID != "" {
				m.add("Answer", o.Label)
			}
		}
	}
	m.add("By", d.ResolvedBy)
}

func (m *message) progress(d *bridges.Data) {
	if p := d.Progress; p != nil {
		switch p.State {
		case bridges.ProgressEnded, bridges.ProgressRejected:
			m.final(d)
			m.urgency = quiet
			return
		case bridges.ProgressInReview:
			m.what, m.sign, m.urgency = "Waits for a review", "mag", quiet
			m.next = toType("To review it", "review", d.TurnID)
			return
		}
	}
	m.what, m.sign, m.urgency = "In progress", "hourglass_flowing_sand", quiet
	if d.Attempt > 1 {
		m.add("Attempt", strconv.Itoa(d.Attempt))
	}
	if p := d.Progress; p != nil {
		m.add("State", p.State)
		m.add("Step", strings.TrimSpace(p.Step+" "+p.Status))
		m.add("Progress", p.Message)
	}
}

func (m *message) inbox(d *bridges.Data) {
	m.what, m.sign = "In your inbox", "inbox_tray"
	var entry struct {
		Summary string `json:"summary"`
		Source  string `json:"source"`
		Count   int    `json:"count"`
		Link    string `json:"link"`
	}
	_ = json.Unmarshal(d.Entry, &entry)
	m.add("From", entry.Source)
	if entry.Count > 1 {
		m.add("Items", strconv.Itoa(entry.Count))
	}
	m.add("Summary", entry.Summary)
	if !strings.Contains(entry.Link, bridges.Redacted) { // then it leads nowhere
		m.page, m.host, _ = sanitize.Link(entry.Link) // again: a stored envelope may have anything
	}
	m.next = toType("To read it", "inbox", d.ThreadID)
}

// add adds a detail unless it is empty.
func (m *message) add(label, value string) {
	if value = oneLine(value, maxDetail); value != "" {
		m.details = append(m.details, detail{label, value})
	}
}

// toType returns the command to type in a terminal; "" without a valid id, or if a shell would
// interpret the id.
func toType(what, verb, id string) string {
	if len(id) > 80 || !typedID.MatchString(id) {
		return ""
	}
	return fmt.Sprintf("%s: holon %s %s", what, verb, id)
}

var typedID = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)

// linkLabel is what a person sees of a link.
const linkLabel = "Open it in the console"

// pageLabel returns the text that a person sees of the page: where it leads, since the words of a
// link do not tell that.
func (m *message) pageLabel() string { return m.host + " ↗" }

// consoleLink is the form of links to the console. The server makes them of its configuration
// and an id. The form is checked again because a stored envelope may have anything, and so
// that no character has a meaning at a target.
var consoleLink = regexp.MustCompile(`^https?://[A-Za-z0-9._~:/%\[\]-]{1,256}/#/(thread|inbox)/[A-Za-z0-9._~%-]{1,200}$`)

// plain lays a message out for targets without markup, in at most n bytes: title
// and body. escape is used for what is not ours.
func (m *message) plain(n int, escape func(string) string) (title, body string) {
	title = m.what
	if m.title != "" {
		title += ": " + escape(m.title)
	}
	var parts []string
	for _, d := range m.details {
		parts = append(parts, d.label+": "+escape(d.value))
	}
	if text := lines(m.text); text != "" {
		parts = append(parts, "", escape(text))
	}
	body = strings.TrimSpace(strings.Join(parts, "\n"))
	tail := ""
	if m.next != "" {
		tail = "\n\n" + m.next
	}
	return title, strings.TrimSpace(shorten(body, n-len(tail)) + tail)
}

// cutMark says that a text was shortened.
const cutMark = "\n… (shortened)"

// shorten cuts a text to at most n bytes, and says so. It cuts no escape such as
// &amp; in two.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = cut(s, max(n-len(cutMark), 0))
	if at := strings.LastIndexByte(s, '&'); at >= 0 && at > len(s)-len("&amp;") && !strings.Contains(s[at:], ";") {
		s = s[:at]
	}
	return strings.TrimRight(s, " \n") + cutMark
}

// oneLine makes one line of at most n runes of any text.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(visible(s)), " ")
	if r := []rune(s); len(r) > n {
		s = string(r[:n-1]) + "…"
	}
	return s
}

// lines makes lines of any text.
func lines(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(s)
	all := strings.Split(s, "\n")
	for i, l := range all {
		all[i] = strings.TrimRight(visible(l), " ")
	}
	return strings.Trim(strings.Join(all, "\n"), "\n")
}

// visible removes invisible characters that change how the rest is shown: escape sequences,
// control characters, directions of writing, characters without width, and invalid bytes.
// What separates words becomes a space.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '\u2028', r == '\u2029':
			return ' '
		case r == '\u200d', r == '\ufe0f': // they make one emoji of several characters
			return r
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			return -1
		}
		return r
	}, sanitize.Plain(s))
}

// unlinked breaks what programs take for addresses, by a character without width:
// "https://", "www." and names such as "evil.example"; also "main.go", which looks like one.
func unlinked(s string) string {
	s = strings.NewReplacer("://", ":"+gap+"//", "@", "@"+gap, "mailto:", "mailto"+gap+":", "tel:", "tel"+gap+":").Replace(s)
	var b strings.Builder
	r := []rune(s)
	for i, c := range r {
		if c == '.' && i > 0 && i+1 < len(r) && isNameRune(r[i-1]) && isNameRune(r[i+1]) {
			b.WriteString(gap)
		}
		b.WriteRune(c)
	}
	return b.String()
}

// gap is an invisible place at which a line may break.
const gap = "\u200b"

func isNameRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '-' || r == '_'
}
