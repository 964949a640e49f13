package question

import (
	"path"
	"strings"

	"github.com/seed82539d15/holon/internal/sanitize"
)

// phrase sets in one line what is asked for: a verb and its object where that is known, else
// the agent's own words.
func (w *wording) phrase() {
	verb, about, is := "", first(w.content.text("title"), w.content.text("message")), words
	switch {
	case w.content.text("type") == "question":
		about = first(w.content.text("message"), about)
	case w.command != "":
		verb, about, is = "run ", w.command, aCommand
	case len(w.changes) > 0:
		for _, c := range w.changes {
			w.has(aPath, c.path)
			w.has(aPath, c.oldPath)
		}
		w.out.Phrase = changesPhrase(w.changes, w.directory())
		return
	case w.subject.text("type") == "tool_call":
		verb, about, is = w.use(about)
	}
	if about = strings.TrimRight(about, "\n"); w.asked.Redact != nil {
		about = w.asked.Redact(about)
	}
	text := OneLine(about)
	if is == words { // how they are spaced does not matter
		text = strings.Join(strings.Fields(sanitize.Literal(about)), " ")
	}
	short := cut(text, mostPhrase)
	if short != sanitize.Literal(about) {
		w.rest = about
	}
	if w.out.Phrase = verb + short; strings.TrimSpace(w.out.Phrase) == "" {
		w.out.Phrase = "(a question without words)"
	}
	w.has(is, about)
	if is == words && verb == "" && w.content.text("type") != "question" { // it is all that the person is asked to allow
		w.exact = append(w.exact, shown{aCommand, about})
	}
}

// has notes that the phrase has a text, or the lines that follow have it.
func (w *wording) has(is role, text string) {
	w.said, w.exact = append(w.said, normal(text)), append(w.exact, shown{is, text})
}

// directory returns the directory that paths are compared with: that of the thread.
func (w *wording) directory() string { return first(w.asked.Cwd, w.cwd) }

// use describes what is done with a tool, and to what.
func (w *wording) use(title string) (verb, about string, is role) {
	in := w.subject.object("input")
	switch kind := w.subject.text("kind"); kind {
	case "read", "edit", "delete", "move":
		where := ""
		if l := w.subject.list("locations"); len(l) > 0 {
			where = l[0].text("path")
		}
		if where = first(where, in.text("path"), in.text("file_path"), in.text("filePath")); where != "" {
			w.has(aPath, where)
			text, outside := relativeTo(where, w.directory())
			if outside {
				kind += " outside of its directory:"
			}
			return kind + " ", text, aPath
		}
	case "fetch":
		if url := in.text("url"); url != "" {
			return "fetch ", url, aURL
		}
	}
	title = first(title, w.subject.text("title"))
	name := w.subject.text("name")
	if name == "" && !strings.ContainsAny(title, " \t\n") {
		name = title
	}
	switch server := w.subject.text("server"); {
	case name == "":
		return "", title, words
	case server != "" && !strings.Contains(name, server):
		return "use ", name + " of " + server, words
	}
	return "use ", name, words
}

// verbs are what operations are called in a phrase.
var verbs = map[string]string{"add": "write", "create": "write", "modify": "edit", "update": "edit"}

func verbOf(operation string) string {
	if verb := verbs[operation]; verb != "" {
		return verb
	}
	return first(operation, "edit")
}

// changesPhrase returns the phrase for changes of files.
func changesPhrase(changes []change, cwd string) string {
	text := changes[0].phrase(cwd)
	if len(changes) > 1 {
		verb := verbOf(changes[0].operation)
		for _, c := range changes[1:] {
			if verbOf(c.operation) != verb {
				verb = "change"
			}
		}
		text = doneTo(verb, changes[0].path, cwd) + " and " + plural(len(changes)-1, "more file")
	}
	return text
}

func (c change) phrase(cwd string) string {
	text := doneTo(verbOf(c.operation), first(c.oldPath, c.path), cwd)
	if c.oldPath != "" && c.oldPath != c.path {
		to, out := relativeTo(c.path, cwd)
		if text += " to " + OneLine(to); out {
			text += ", which is outside of its directory"
		}
	}
	return text
}

// doneTo returns a verb and a path, which says if that is outside of the directory.
func doneTo(verb, where, cwd string) string {
	text, outside := relativeTo(where, cwd)
	if outside {
		verb += " outside of its directory:"
	}
	return OneLine(verb + " " + text)
}

// relativeTo returns a path as it is shown, relative to the directory if it is in it, and whether it
// is outside of that. Links are not followed.
func relativeTo(where, cwd string) (text string, outside bool) {
	full := where
	if !path.IsAbs(full) && !windows(full) {
		full = path.Join(cwd, full) // without a directory, what begins with .. is outside of any
	}
	target, dir := path.Clean(full), path.Clean(cwd)
	switch {
	case target == ".." || strings.HasPrefix(target, "../"):
		return where, true
	case !path.IsAbs(cwd) || windows(full) || dir == "/" || target == dir:
		return where, false
	case !strings.HasPrefix(target, dir+"/"):
		return where, true
	case where == target:
		return strings.TrimPrefix(target, dir+"/"), false
	}
	return where, false
}

// windows reports whether a path begins with the letter of a drive, or with a share.
func windows(where string) bool {
	return len(where) > 2 && where[1] == ':' && strings.ContainsRune(`\/`, rune(where[2])) || strings.HasPrefix(where, `\\`)
}

// cut returns the beginning of a text in at most n characters. It ends with … if it was cut.
func cut(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
