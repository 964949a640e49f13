package question

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/internal/sanitize"
)

// Asked is what is known of a question.
type Asked struct {
	Content   json.RawMessage // of the permission_request or the question
	Subject   json.RawMessage // the content of the item that it is about; nil = it has none, or it is not known
	Cwd       string          // the directory of the thread; "" = unknown
	Unread    bool            // the item that it is about cannot be read
	Truncated bool            // the server has kept the question, or that item, without the middle of its texts

	// Redact removes secrets from the words or the command in the phrase, before they are cut;
	// nil = nothing is removed. It is for what leaves the server.
	Redact func(string) string
}

// Words are a question in words.
type Words struct {
	Phrase string // one line: what is asked for, such as "write main.go", or the beginning of the agent's question
	Lines  []Line // everything that the phrase does not say, in the order in which it matters
}

// Line is a line about a question. Its text has no line feed.
type Line struct {
	Kind Kind
	Text string
}

// Kind says what a line is.
type Kind string

// The kinds of line.
const (
	Command   Kind = "command" // of the command that will run
	Message   Kind = "message" // of the question that the agent asks, or of what it names so
	Directory Kind = "directory"
	URL       Kind = "url"
	Says      Kind = "says" // words of the agent about it
	File      Kind = "file" // a file that is changed, and how
	Added     Kind = "added"
	Removed   Kind = "removed"
	Same      Kind = "same" // it is near a changed one
	Gap       Kind = "gap"  // lines that stay the same and are not listed
	Input     Kind = "input"
	Note      Kind = "note" // what a person must know besides
)

// mostPhrase is how many characters of a command or a message are in the phrase: as much as
// a person reads at a glance.
const mostPhrase = 200

// Of puts a question into words.
func Of(a Asked) Words {
	w := begin(a)
	w.lines()
	return w.out
}

// Phrase returns the phrase of a question alone: no file is compared for it.
func Phrase(a Asked) string { return begin(a).out.Phrase }

// begin reads a question, and makes its phrase.
func begin(a Asked) *wording {
	w := &wording{asked: a, content: objectOf(a.Content), subject: objectOf(a.Subject)}
	w.about = w.content.object("subject")
	w.command = first(w.about.text("command"), w.subject.text("command"))
	w.cwd = first(w.about.text("cwd"), w.subject.text("cwd"), a.Cwd)
	w.changes = changesOf(w.subject)
	w.phrase()
	return w
}

// wording puts one question into words.
type wording struct {
	asked   Asked
	content object
	subject object
	about   object // what the content itself says of the subject
	command string
	cwd     string
	changes []change
	said    []string // what the lines and the phrase say already, normalized
	exact   []shown  // what they have character by character
	rest    string   // the command or the words of which the phrase does not have all
	out     Words
}

// lines adds what the phrase does not say.
func (w *wording) lines() {
	isQuestion := w.content.text("type") == "question"
	switch {
	case w.rest == "":
	case w.command != "" && !isQuestion:
		w.add(Command, w.rest)
	default:
		w.add(Message, w.rest)
	}
	if is := w.subject.text("command"); is != "" && is != w.command && !isQuestion {
		w.one(Note, "The call that it is about has another command:")
		w.add(Command, is)
		w.exact = append(w.exact, shown{aCommand, is})
	}
	if isQuestion {
		w.address()
		w.notes()
		return
	}
	if w.cwd != "" {
		w.one(Directory, "in "+w.cwd)
		w.exact = append(w.exact, shown{aDirectory, w.cwd})
	}
	if is := w.subject.text("cwd"); is != "" && is != w.cwd {
		w.one(Note, "The call that it is about has another directory: "+is)
		w.exact = append(w.exact, shown{aDirectory, is})
	}
	w.address()
	for _, text := range []string{w.content.text("title"), w.content.text("description")} {
		w.says(text)
	}
	for _, c := range w.changes {
		w.change(c)
	}
	w.input()
	w.notes()
}

// add adds a text, line by line.
func (w *wording) add(kind Kind, text string) {
	for line := range strings.SplitSeq(sanitize.Literal(strings.TrimSuffix(text, "\n")), "\n") {
		w.out.Lines = append(w.out.Lines, Line{kind, line})
	}
}

// one adds a text that is one line.
func (w *wording) one(kind Kind, text string) {
	w.out.Lines = append(w.out.Lines, Line{kind, OneLine(text)})
}

func (w *wording) address() {
	if url := w.content.text("url"); url != "" {
		w.one(URL, "open "+url)
		w.exact = append(w.exact, shown{aURL, url})
	}
}

// says adds words of the agent unless they only repeat something.
func (w *wording) says(text string) {
	is := normal(text)
	repeats := slices.Contains(w.said, is) || strings.Contains(normal(w.out.Phrase), is)
	w.said = append(w.said, is)
	if repeats || is == "" {
		return
	}
	if objectOf([]byte(text)) != nil {
		if left, some := w.unshown([]byte(text)); some {
			w.add(Input, layout(left))
		}
		return
	}
	w.add(Says, text)
	w.exact = append(w.exact, shown{words, text})
}

// shown is a text that the phrase or a line has, and what it is there.
type shown struct {
	is   role
	text string
}

// role is what a text is to the agent.
type role string

const (
	aCommand   role = "command"
	aDirectory role = "directory"
	aPath      role = "path"
	aURL       role = "url"
	words      role = "words"
)

// plain are the names of members that say no more than their text does once that is shown
// as the same thing. Under another name the same text is another matter: {"path": "a",
// "delete": "a"}; and so it is in another role: a directory that is only named in the agent's
// words is not the one in which a person believes that the command runs.
var plain = map[json.Token]role{
	"command": aCommand, "cmd": aCommand, "script": aCommand,
	"cwd": aDirectory, "workdir": aDirectory, "directory": aDirectory,
	"path": aPath, "file": aPath, "file_path": aPath, "filePath": aPath,
	"url": aURL, "description": words,
}

// unshown returns an object without the plain members that are shown elsewhere, and whether any
// member that is left has something to say. What is left keeps its source text and its order.
// A text that differs in a blank or in the case of a letter is another one: it may be another
// file.
func (w *wording) unshown(raw json.RawMessage) (left json.RawMessage, some bool) {
	var members [][]byte
	d := json.NewDecoder(bytes.NewReader(raw))
	_, err := d.Token()
	for err == nil && d.More() {
		begin := d.InputOffset()
		var value json.RawMessage
		var name json.Token
		if name, err = d.Token(); err == nil {
			err = d.Decode(&value)
		}
		text, ok := textOf(value)
		if is := plain[name]; ok && is != "" && slices.Contains(w.exact, shown{is, text}) {
			continue
		}
		members = append(members, bytes.TrimLeft(raw[begin:d.InputOffset()], ", \t\r\n"))
		some = some || !ok || text != ""
	}
	if err != nil { // it is shown as it is
		return raw, true
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}")), some
}

// input adds what the tool is called with, if something of it is not shown yet.
func (w *wording) input() {
	raw := w.subject["input"]
	if isNone(raw) {
		return
	}
	if objectOf(raw) != nil {
		var some bool
		if raw, some = w.unshown(raw); !some {
			return
		}
	}
	w.add(Input, layout(raw))
}

func (w *wording) notes() {
	switch {
	case w.asked.Unread:
		w.one(Note, "What it is about cannot be read.")
	case w.asked.Truncated:
		w.one(Note, "It was too long: the server has kept it without its middle.")
	}
}

// normal returns a text without what only decorates it, for a comparison.
func normal(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.Trim(sanitize.Literal(text), "` ")), " "))
}

// OneLine returns a text on one line, with hidden characters visible. A line feed is shown as a
// sign, and runs of blanks stay.
func OneLine(text string) string {
	return strings.NewReplacer("\n", "⏎", "\t", " ").Replace(sanitize.Literal(text))
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// object is a JSON object of which not more is known. One with a member of another type
// than expected is still read.
type object map[string]json.RawMessage

// objectOf reads an object; nil if it is none.
func objectOf(raw []byte) object {
	var o object
	if len(raw) == 0 || json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

func (o object) object(name string) object { return objectOf(o[name]) }

func (o object) text(name string) string {
	text, _ := textOf(o[name])
	return text
}

func (o object) list(name string) (out []object) {
	var list []json.RawMessage
	if json.Unmarshal(o[name], &list) != nil {
		return nil
	}
	for _, raw := range list {
		out = append(out, objectOf(raw))
	}
	return out
}

func textOf(raw json.RawMessage) (text string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return text, json.Unmarshal(raw, &text) == nil
}

// isNone reports whether a tool was called with nothing.
func isNone(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "{}", "[]", `""`:
		return true
	}
	return false
}
