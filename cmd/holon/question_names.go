package main

import (
	"encoding/json"
	"fmt"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

// answeredLookedAt is how many questions of each type are looked at for one that has been
// answered: it was open a moment ago.
const answeredLookedAt = 200

// question returns the id of the open question that a person names: by its id, or, if they are
// shown it before they answer, by its thread if one question is open there, or as the latest.
// Somebody who comes second may also name one that has just been answered.
func (f finder) question(name string, shown bool) (string, error) {
	by := f
	by.tell = f.tell && (shown || name != latest) // it is said in the refusal
	found, err := by.find(name, &questionNames)
	if err == nil && name == latest && !shown && !f.exact {
		return "", mustBeNamed(f, "latest is", found)
	}
	if f.exact || name == latest || !client.IsKind(err, questionNames.notFound) {
		return found.id, err
	}
	quiet := f.ender()
	quiet.tell = false
	if thread, err := quiet.find(name, &threadNames); err == nil {
		return questionIn(f, name, thread, shown)
	} else if !client.IsKind(err, threadNames.notFound) {
		return "", err
	}
	for _, kind := range []string{"permission_request", "question"} {
		rows, err := questionRows(f, map[string]any{"type": kind}, answeredLookedAt)
		if err != nil {
			return "", err
		}
		if of := partly(rows, name, true); len(of) == 1 {
			return of[0].id, nil
		}
	}
	return "", &hintedError{err, "holon respond lists the open questions."}
}

// questionIn returns the id of the one open question of a thread. Whoever answers without being
// shown it must name it: it may be another one than the one that they have seen.
func questionIn(f finder, name string, thread named, shown bool) (string, error) {
	open, err := questionRows(f, map[string]any{"status": "pending", "thread_id": thread.id}, maxNamed)
	switch {
	case err != nil:
		return "", err
	case len(open) == 0:
		return "", &hintedError{fmt.Errorf("no question of %s is open", inQuotes(name)), "holon respond lists those that are."}
	case len(open) > 1:
		return "", f.ambiguous(name, open)
	case !shown:
		return "", mustBeNamed(f, inQuotes(name)+" asks", open[0])
	case f.tell:
		f.note("%s asks: %s", timeline.OneLine(name), open[0].shown(f.console))
	}
	return open[0].id, nil
}

// mustBeNamed returns the error for an answer to a question that is named by what may be of another
// question by now.
func mustBeNamed(f finder, is string, question named) error {
	return usagef("%s %s. Name the question, because another one may be open by now: holon respond %s", is, question.shown(f.console), shownID(f.console, question.id))
}

// questionRows returns the newest items of a filter, the newest last.
func questionRows(f finder, filter map[string]any, limit int) (rows []named, err error) {
	found, err := itemListing.fetch(f.ctx, f.client, filter, limit)
	if err != nil {
		return nil, err
	}
	for _, raw := range found.rows {
		var r row
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, fmt.Errorf("read a row of item/list: %w", err)
		}
		rows = append(rows, r.named(&questionNames))
	}
	return rows, nil
}

// answeredAlready adds to an error what was answered and by whom, if another client was first.
func answeredAlready(c *caller, err error, id any) error {
	if !client.IsKind(err, "already_resolved") {
		return err
	}
	asked, status, readErr := readQuestion(c.ctx, c.client, "", fmt.Sprint(id))
	if readErr != nil {
		return err
	}
	return &hintedError{err, howItEnded(asked.content, status)}
}

// howItEnded describes what became of a question.
func howItEnded(content timeline.Content, status string) string {
	text := content.Resolution(status)
	if by := timeline.OneLine(content.ResolvedBy); by != "" && by != "client" {
		text += ", by " + by
	}
	return "It was: " + text
}
