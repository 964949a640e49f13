package conversation

import (
	"encoding/json"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/notify/fold"
)

// item is an item of the thread as the timeline needs it: its long texts are in body
// and diffs, bounded, and not in content.
type item struct {
	id        string
	turn      string
	status    string
	lineage   []fold.Ref
	created   int64 // seq
	updated   int64 // seq of the newest event that is in it
	content   timeline.Content
	body      body
	diffs     []diff
	truncated bool
	// raw is the content of a question, or of what a question may be about, until that ends:
	// a person who decides needs all of it.
	raw json.RawMessage
}

// itemRow is an item as lists and reads give it.
type itemRow struct {
	ItemID          string          `json:"item_id"`
	ThreadID        string          `json:"thread_id"`
	TurnID          string          `json:"turn_id"`
	Attempt         int             `json:"attempt"`
	Status          string          `json:"status"`
	Lineage         []fold.Ref      `json:"lineage"`
	Content         json.RawMessage `json:"content"`
	Truncated       bool            `json:"truncated"`
	CreatedSeq      int64           `json:"created_seq"`
	UpdatedSeq      int64           `json:"updated_seq"`
	SupersededBySeq int64           `json:"superseded_by_seq"`
}

func (row itemRow) item() *item {
	it := &item{
		id: row.ItemID, turn: row.TurnID, status: row.Status, lineage: row.Lineage,
		created: row.CreatedSeq, updated: row.UpdatedSeq, truncated: row.Truncated,
	}
	it.take(row.Content)
	return it
}

// open reports whether the item has not ended.
func (it *item) open() bool { return it.status == "in_progress" || it.status == "pending" }

// asks reports whether the item is a question.
func (it *item) asks() bool {
	return it.content.Type == "permission_request" || it.content.Type == "question"
}

// take reads a whole content.
func (it *item) take(raw json.RawMessage) {
	c := timeline.ReadContent(raw)
	if it.raw = nil; it.open() && c.Acts() {
		it.raw = raw
	}
	switch c.Type {
	case "user_message", "agent_message":
		it.body.set(c.MessageText(), it.open())
	case "file_change":
		it.diffs = nil
		for _, change := range c.Changes {
			title := change.Operation + " " + change.Path
			if change.OldPath != "" {
				title = change.Operation + " " + change.OldPath + " to " + change.Path
			}
			it.diffs = append(it.diffs, compare(title, change.OldText, change.NewText))
		}
	default:
		it.body.set(c.Stream(), it.open())
	}
	c.Parts, c.Text, c.Output, c.Changes = nil, "", "", nil
	if len(c.Input) > keepText {
		c.Input = nil
	}
	for _, text := range []*string{&c.Title, &c.Description, &c.Command, &c.Error, &c.Message} {
		if len(*text) > keepText {
			*text = (*text)[:keepText] + "…" // the sanitizer mends a character that is cut
		}
	}
	it.content = c
}

// bytes estimates the memory that the item takes.
func (it *item) bytes() int {
	n := 512 + len(it.raw) + len(it.body.text) + len(it.content.Input) + len(it.content.Message) + len(it.content.Command)
	for _, d := range it.diffs {
		for _, line := range d.lines {
			n += len(line.text) + 24
		}
	}
	return n
}

// summary returns the item in one line, cleaned for this page: the timeline's own Clean keeps
// emoji joined, whose width depends on the terminal.
func (it *item) summary() string {
	switch it.content.Type {
	case "user_message", "agent_message", "reasoning":
		text := string(it.body.text[:min(len(it.body.text), 400)])
		return screen.OneLine(text)
	case "file_change":
		var titles []string
		for _, d := range it.diffs {
			titles = append(titles, d.title)
		}
		return screen.OneLine(strings.Join(titles, ", "))
	}
	return screen.OneLine(it.content.Summary(it.status))
}

// resolution describes how a question was answered, in one line.
func (it *item) resolution() string { return screen.OneLine(it.content.Resolution(it.status)) }
