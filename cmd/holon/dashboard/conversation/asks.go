package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/form"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	wording "github.com/seed82539d15/holon/question"
)

// deadFor is how long the keys of a question do nothing after it has appeared or
// changed, or after a letter that is no answer: what was typed just then was not meant for it.
const deadFor = 500 * time.Millisecond

// keptQuestions is how many open questions are held.
const keptQuestions = 100

// question is an open question of the agent.
type question struct {
	id      string
	turn    string
	seq     int64 // of the newest event that is in it
	content timeline.Content
	subject *item      // what it is about; nil: it is not known …
	unread  bool       // … and cannot be read
	form    *form.Form // nil: one answer for the whole question
	choice  int        // the option that Enter gives
	sent    bool       // an answer is on its way
	why     string     // what was wrong with the last answer
	over    string     // why nobody can answer any more, "": it is open
	line    string     // the typed answer that is on its way
	review  *review    // it asks for a verdict; nil: the agent asks

	raw       json.RawMessage // the content
	truncated bool            // it is not all of it
	made      *wording.Words
	from      wordsOf // what they are made of
	drawn     []string
	drawnAt   int // the width
	rows      int // how many there are …
	seen      int // … of which so many have been on the screen, from the first on
	whole     bool
}

// wordsOf is what the words of a question are made of, besides itself.
type wordsOf struct {
	subject *item
	unread  bool
	cwd     string
}

// asks are the open questions, the oldest first. The first one is shown.
type asks struct {
	open []*question
	left *question // it is over, and shown until the person who types into it leaves it
	attention
}

// attention tells when the keys of a question answer: not just after it has appeared or
// changed, and not within a text that somebody types there by mistake.
type attention struct {
	since   time.Time // when it appeared or changed
	stray   string    // the last key that has answered nothing …
	strayed time.Time // … and when it came
}

// touched notes that the shown question is another one, or another text.
func (a *attention) touched(now time.Time) { a.since = now }

// dead reports whether no key answers yet.
func (a *attention) dead(now time.Time) bool { return now.Sub(a.since) < deadFor }

// alive returns when keys begin to answer.
func (a *attention) alive() time.Time { return a.since.Add(deadFor) }

// strays notes a key that answers nothing.
func (a *attention) strays(now time.Time, key string) { a.stray, a.strayed = key, now }

// within reports whether a key seems to be part of a text: another one has just strayed. The
// same one again is a person who waits.
func (a *attention) within(now time.Time, key string) bool {
	return a.stray != "" && key != a.stray && now.Sub(a.strayed) < deadFor
}

// strayedHere is said of such a key.
const strayedHere = "One moment: press it again if it is your answer."

// front returns the question that is shown, nil if none is open.
func (a *asks) front() *question {
	if a.left != nil {
		return a.left
	}
	if len(a.open) == 0 {
		return nil
	}
	return a.open[0]
}

// put adds an open question or changes it.
func (a *asks) put(now time.Time, it *question) {
	i := slices.IndexFunc(a.open, func(q *question) bool { return q.id == it.id })
	if i >= 0 {
		q := a.open[i]
		if bytes.Equal(q.raw, it.raw) {
			return
		}
		it.subject = q.subject
		a.open[i] = it
	} else {
		if len(a.open) >= keptQuestions {
			return // they are asked for again when these are answered
		}
		a.open = append(a.open, it)
		i = len(a.open) - 1
	}
	if i == 0 {
		a.touched(now)
	}
}

func newQuestion(it *item) *question {
	q := &question{id: it.id, turn: it.turn, seq: it.updated, content: it.content, raw: it.raw, truncated: it.truncated}
	if q.content.Type == "question" && q.content.URL == "" {
		q.form = form.New(q.content.Schema)
	}
	if i := q.optionOf("allow"); i >= 0 {
		q.choice = i
	}
	return q
}

// gone removes a question that is answered or withdrawn.
func (a *asks) gone(now time.Time, id string) {
	i := slices.IndexFunc(a.open, func(q *question) bool { return q.id == id })
	if i < 0 {
		return
	}
	a.open = slices.Delete(a.open, i, i+1)
	if i == 0 {
		a.touched(now)
	}
}

// over removes a question that nobody can answer any more. If a person types into it, it
// stays with the reason until they leave it: else the rest of what they type would be
// commands, or an answer to the next question.
func (m *Model) over(now time.Time, id, why string) {
	if q := m.asks.find(id); q != nil && q == m.asks.front() && m.focus == onQuestion && q.typed() && !q.sent {
		q.over, q.why = why, ""
		m.asks.left = q
	}
	m.asks.gone(now, id)
}

// Reasons why nobody can answer a question any more.
const (
	overAnswered  = "It was answered elsewhere."
	overWithdrawn = "It was withdrawn."
	overEnded     = "Its turn has ended."
	overExpired   = "Nobody answered in time."
	overUnknown   = "It was answered or withdrawn meanwhile."
	overReviewed  = "It was reviewed elsewhere."
	overAttempt   = "That was about an earlier attempt."
	overRetried   = "Its turn is tried again."
)

// overBy explains why nobody can answer a question any more: what the answer is and who gave
// it, as far as that is known, in at most 40 columns.
func overBy(it *item) string {
	answer := it.resolution()
	switch answer {
	case "cancelled", "deleted":
		return overWithdrawn
	case "interrupted", "failed":
		return overEnded
	}
	if it.content.Outcome != nil && it.content.Outcome.Type == "expired" {
		return overExpired
	}
	by := screen.OneLine(it.content.ResolvedBy)
	if by == "client" {
		by = ""
	}
	known := answer != "" && answer != "completed" && answer != "answered"
	head := "Answered elsewhere: "
	switch {
	case !known && by == "":
		return overAnswered
	case !known:
		return "It was answered by " + by + "."
	case by != "":
		head = "Answered by " + screen.Fit(by, 14) + ": "
	}
	return head + screen.Fit(answer, 39-screen.Width(head)) + "."
}

// find returns an open question, nil if it is not open.
func (a *asks) find(id string) *question {
	for _, q := range a.open {
		if q.id == id {
			return q
		}
	}
	return nil
}

// optionOf returns the index of the option that a verb (allow, reject) means; -1 = none.
func (q *question) optionOf(verb string) int {
	kinds := make([]string, len(q.content.Options))
	for i, o := range q.content.Options {
		kinds[i] = o.Kind
	}
	return wording.Choose(kinds, verb)
}

// reading reports whether what the question is about is still being read.
func (q *question) reading() bool {
	return q.content.Subject.ItemID != "" && q.subject == nil && !q.unread
}

// words returns the question in words, made again only if more of it is known. What has been
// seen of it counts no more then.
func (q *question) words(cwd string) wording.Words {
	if q.review != nil {
		return q.review.words
	}
	from := wordsOf{q.subject, q.unread, cwd}
	if q.made != nil && q.from == from {
		return *q.made
	}
	a := wording.Asked{Content: q.raw, Cwd: cwd, Unread: q.unread, Truncated: q.truncated}
	if q.subject != nil {
		a.Subject, a.Truncated = q.subject.raw, a.Truncated || q.subject.truncated
	}
	words := wording.Of(a)
	q.made, q.from, q.drawn = &words, from, nil
	q.seen, q.rows, q.whole = 0, 0, false
	return words
}

// see notes that the rows from top to end of all its rows are on the screen.
func (q *question) see(top, end, all int) {
	if q.rows != all { // broken into rows anew
		q.seen, q.rows = 0, all
	}
	if top <= q.seen {
		q.seen = max(q.seen, end)
	}
	q.whole = q.whole || q.seen >= all
}

// holds explains why an option is not taken: it allows what was not shown yet; "" = it is taken.
func (q *question) holds(i int) string {
	switch {
	case i < 0 || i >= len(q.content.Options) || !wording.Allows(q.content.Options[i].Kind):
	case q.reading():
		return Reading
	case !q.whole:
		return "Not " + q.yes() + " yet: " + wording.More(max(1, q.rows-q.seen)) + "."
	}
	return ""
}

// yes returns the name of an answer that lets the agent have its way.
func (q *question) yes() string {
	if q.review != nil {
		return "approved"
	}
	return "allowed"
}

// typed reports whether the answer is typed, as opposed to chosen.
func (q *question) typed() bool {
	return len(q.content.Options) == 0 || q.review != nil && q.review.noting >= 0
}

// keys returns the keys that answer a question, wherever it is shown.
func (q *question) keys() (list []screen.Key) {
	switch {
	case q.typed() && q.review != nil:
		return []screen.Key{{Name: "Enter", Does: "reject"}}
	case q.typed():
		return []screen.Key{{Name: "Enter", Does: "answer"}}
	}
	yes, numbers := "allow", "1"
	if q.review != nil {
		yes = "approve"
	}
	if n := min(len(q.content.Options), 9); n > 1 {
		numbers = fmt.Sprintf("1-%d", n)
	}
	list = append(list, screen.Key{Name: numbers, Does: "choose"})
	if q.optionOf("allow") >= 0 {
		list = append(list, screen.Key{Name: "y", Does: yes})
	}
	if q.optionOf("reject") >= 0 {
		list = append(list, screen.Key{Name: "n", Does: "reject"})
	}
	return list
}

// back describes what Esc does.
func (q *question) back() string {
	if q.review != nil && q.typed() {
		return "back"
	}
	return "later"
}

// NoAnswer is said of a letter that chooses none of the answers.
const NoAnswer = "No answer has this key."

// chooses reports whether a key is that of an answer.
func (q *question) chooses(i int) bool { return i >= 0 && i < len(q.content.Options) }

// pick returns the option that a key of an open question chooses, -1 if it chooses none.
func (q *question) pick(name, text string) int {
	switch {
	case name == "y":
		return q.optionOf("allow")
	case name == "n":
		return q.optionOf("reject")
	case len(text) == 1 && text[0] >= '1' && text[0] <= '9':
		return int(text[0] - '1')
	}
	return -1
}

// choose answers with an option; ready is false if there is none, or something is typed
// before.
func (q *question) choose(i int) (answer screen.Action, ready bool) {
	switch {
	case i < 0 || i >= len(q.content.Options):
		return nil, false
	case q.review != nil:
		return q.review.give(q.id, i)
	}
	return screen.Respond{Item: q.id, Option: q.content.Options[i].ID}, true
}

// take answers with a typed line; ready is false if another field follows or why says
// what is wrong.
func (q *question) take(line string) (action screen.Action, ready bool) {
	q.why = ""
	line = strings.TrimSpace(line)
	if q.review != nil {
		action, q.why = q.review.take(q.id, line)
		return action, q.why == ""
	}
	answer := screen.Respond{Item: q.id}
	if q.form != nil {
		if q.form.Done() { // the answer was refused: from the beginning
			q.form = form.New(q.content.Schema)
		}
		if q.why = q.form.Take(line); q.why != "" || !q.form.Done() {
			return answer, false
		}
		answer.Answer = q.form.Answer()
		return answer, true
	}
	lower := strings.ToLower(line)
	switch {
	case q.content.URL != "" && (lower == "n" || lower == "no"):
		answer.Cancel = true
	case line == "" && q.content.URL == "":
		q.why = "An answer is needed."
		return answer, false
	case line == "":
		answer.Answer = json.RawMessage(`"done"`)
	case json.Valid([]byte(line)):
		answer.Answer = json.RawMessage(line)
	default:
		answer.Answer, _ = json.Marshal(line) // a text always encodes
	}
	return answer, true
}

// widensShort works like widensLong, for a window with little room.
func widensShort(q *question, i int) string {
	kind := q.content.Options[i].Kind
	switch {
	case q.review != nil:
		return q.review.verdicts[i].Does
	case strings.HasSuffix(kind, "_always"):
		return "from now on, without asking"
	case !wording.Once(kind):
		return "perhaps not only this once"
	}
	return ""
}

// widensLong describes in words what an option allows or forbids beyond this one time, or what
// follows from a verdict, "" for nothing.
func widensLong(q *question, i int) string {
	if q.review != nil {
		return q.review.verdicts[i].Does
	}
	if more := wording.Widens(q.content.Options[i].Kind); more != "" {
		return "and " + more
	}
	return ""
}
