package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	wording "github.com/seed82539d15/holon/question"
	"github.com/seed82539d15/holon/rpc/client"
)

// firstRows is how many rows of a question are written before its answers: they stay on the
// screen together.
const firstRows = 16

// readQuestion reads what an open question is about, and puts it into words.
func readQuestion(ctx context.Context, c *client.Client, threadID, id string) (asked question, status string, err error) {
	type result struct {
		Item struct {
			itemRow
			Truncated bool `json:"truncated"`
		} `json:"item"`
	}
	var read, subject result
	if err := c.Call(ctx, "item/read", map[string]any{"item_id": id}, &read); err != nil {
		return question{}, "", err
	}
	asked = newQuestion(id, timeline.ReadContent(read.Item.Content))
	a := wording.Asked{Content: read.Item.Content, Truncated: read.Item.Truncated}
	if asked.content.Type == "permission_request" {
		var thread struct {
			Thread struct {
				Summary struct {
					Cwd string `json:"cwd"`
				} `json:"summary"`
			} `json:"thread"`
		}
		if threadID == "" {
			threadID = read.Item.ThreadID
		}
		if c.Call(ctx, "thread/read", map[string]any{"thread_id": threadID}, &thread) == nil {
			a.Cwd = thread.Thread.Summary.Cwd
		}
	}
	if about := asked.content.Subject.ItemID; about != "" {
		a.Unread = c.Call(ctx, "item/read", map[string]any{"item_id": about}, &subject) != nil
		a.Subject, a.Truncated = subject.Item.Content, a.Truncated || subject.Item.Truncated
	}
	asked.worded(wording.Of(a))
	return asked, read.Item.Status, nil
}

// describe puts the question of an event into words, with what it is about. What cannot be
// read is said.
func (q *question) describe(ctx context.Context, c *client.Client, threadID string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	read, _, err := readQuestion(ctx, c, threadID, q.id)
	if err != nil {
		words := wording.Words{Phrase: q.content.Phrase}
		words.Lines = append(words.Lines, wording.Line{Kind: wording.Note, Text: "What it is about cannot be read."})
		q.worded(words)
		return
	}
	q.phrase, q.rows = read.phrase, read.rows
}

// worded sets the words of the question.
func (q *question) worded(w wording.Words) { q.phrase, q.rows = w.Phrase, wording.Rows(w.Lines) }

// first returns the rows that are written first: the first ones, and how many follow.
func (q *question) first() []string {
	if q.written = len(q.rows); q.written > firstRows {
		q.written = firstRows - 1
	}
	out := q.rows[:q.written:q.written]
	if more := len(q.rows) - q.written; more > 0 {
		out = append(out, wording.More(more)+", which come before it is allowed")
	}
	return out
}

// rest returns the rows that the person must have before this answer is taken; none if they have
// them, or if it allows nothing.
func (q *question) rest(answer map[string]any) []string {
	id, chosen := answer["option_id"]
	if !chosen {
		return nil
	}
	for _, o := range q.content.Options {
		if o.ID == id && !wording.Allows(o.Kind) {
			return nil
		}
	}
	out := q.rows[q.written:]
	q.written = len(q.rows)
	return out
}

// askAgain is written below the rest of a question.
const askAgain = "That was all of it. What is your answer?"

// writeRows writes rows with an indent.
func writeRows(w io.Writer, rows []string) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "  %s\n", strings.Join(rows, "\n  "))
	return err
}
