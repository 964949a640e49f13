package timeline

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/question"
	"github.com/seed82539d15/holon/rpc/client"
)

// itemEvent shows an event of an item. Streamed text is written at once; the
// last update adds what deltas left out. No text is written twice.
func (r *Renderer) itemEvent(event client.Event, p params) {
	id := event.ItemID
	it := r.items[id]
	switch event.Method {
	case "item/deleted":
		if it != nil {
			r.drain(id, it, "")
			r.sink.finish(id)
			delete(r.items, id)
		}
		r.block(event.ThreadID, labelOther, "an item was withdrawn")
		return
	case "item/delta":
		if it == nil {
			// The stream began in the middle of this item.
			it = &item{from: r.from, turn: event.TurnID, since: event.Seq, label: labelAgent, shown: p.Offset}
			r.items[id] = it
			r.write(event, it, "… ")
		}
		r.delta(event, it, p)
		return
	}
	content := ReadContent(p.Content)
	ended := p.Status != "in_progress" && p.Status != "pending"
	if it == nil {
		if content.Acts() {
			r.pauseSpeech(event.TurnID)
		}
		it = &item{from: r.from, turn: event.TurnID, since: event.Seq}
		r.items[id] = it
		if t := r.turns[event.TurnID]; t != nil && content.Type != "user_message" && content.Type != "notice" {
			t.heard = true
		}
	}
	it.content = content
	if content.Acts() {
		it.raw = p.Content
	}
	if !it.begun || it.label.word == "" {
		it.label = labelOf(content)
	}
	r.show(event, it, p, ended)
	if ended {
		r.drain(id, it, event.ThreadID)
		r.noteHidden(id, event.ThreadID, it)
		r.sink.finish(id)
		delete(r.items, id)
		r.ending(event, it, p)
	}
}

// pauseSpeech shows what the agent has said so far in a turn: it does something now, or
// asks, and may go on with the same message afterwards.
func (r *Renderer) pauseSpeech(turnID string) {
	var open []string
	for id, it := range r.items {
		speaks := it.content.Type == "agent_message" || it.content.Type == "reasoning"
		if speaks && it.turn == turnID {
			open = append(open, id)
		}
	}
	slices.SortFunc(open, func(a, b string) int { return cmp.Compare(r.items[a].since, r.items[b].since) })
	for _, id := range open {
		r.sink.pause(id)
	}
}

// labelOf chooses an item's label.
func labelOf(c Content) label {
	switch c.Type {
	case "user_message":
		return labelUser
	case "agent_message":
		return labelAgent
	case "reasoning":
		return labelThought
	case "plan":
		return labelPlan
	case "tool_call":
		return labelTool
	case "command_execution":
		return labelCommand
	case "file_change":
		return labelFile
	case "permission_request", "question":
		return labelAsk
	case "error":
		return labelError
	case "notice":
		switch c.Severity {
		case "warning":
			return labelWarning
		case "error":
			return labelError
		}
		return labelNotice
	}
	return labelOther
}

// show writes the part of an item's content that has not been shown.
func (r *Renderer) show(event client.Event, it *item, p params, ended bool) {
	c := it.content
	switch c.Type {
	case "agent_message", "reasoning":
		r.catchUp(event, it, p)
	case "tool_call", "command_execution":
		if !it.begun {
			it.begun = true
			r.block(event.ThreadID, it.label, c.Headline())
			it.label = labelOutput
		}
		r.catchUp(event, it, p)
	case "user_message":
		if !it.begun {
			it.begun = true
			r.block(event.ThreadID, it.label, Clean(c.MessageText()))
		}
	case "plan":
		var lines []string
		for _, entry := range c.Entries {
			lines = append(lines, PlanMark(entry.Status)+OneLine(entry.Content))
		}
		r.block(event.ThreadID, it.label, strings.Join(lines, "\n"))
	case "permission_request", "question":
		if !it.asked {
			it.asked = true
			r.block(event.ThreadID, it.label, r.question("", p.Content, c, event.ItemID, !ended))
		}
	case "file_change":
		// Also before its end: a permission request may be about it.
		switch text := c.Diffs("pending"); {
		case text == "" && ended && it.changed == "":
			r.block(event.ThreadID, it.label, OneLine(c.Title)) // a summary has no more
		case text == "", !ended && !c.showsTexts():
		case text != it.changed:
			it.changed = text
			r.block(event.ThreadID, it.label, c.Diffs(p.Status))
		case p.Status == "completed":
			r.block(event.ThreadID, it.label, c.changes(p.Status))
		}
	case "usage":
		if t := r.turns[event.TurnID]; t != nil && c.TotalTokens > 0 {
			t.usage = &it.content.usage
		}
	default:
		if ended {
			r.block(event.ThreadID, it.label, otherText(c, event))
		}
	}
}

// PlanMark shows how far a step of a plan is.
func PlanMark(status string) string {
	switch status {
	case "completed":
		return "[x] "
	case "in_progress":
		return "[>] "
	}
	return "[ ] "
}

// questionRows is how many rows of a question are shown where nobody is asked.
const questionRows = 16

// question shows a question: in one line if the person is asked below, else with what it is
// about.
func (r *Renderer) question(before string, raw json.RawMessage, c Content, itemID string, open bool) string {
	if r.options.AskedBelow && open {
		return before + c.Phrase
	}
	asked := question.Asked{Content: raw}
	if subject := r.items[c.Subject.ItemID]; subject != nil {
		asked.Subject = subject.raw
	}
	words := question.Of(asked)
	lines := append([]string{before + words.Phrase}, question.Rows(words.Lines)...)
	if more := len(lines) - 1 - questionRows; more > 0 {
		lines = append(lines[:1+questionRows:1+questionRows], question.More(more))
	}
	if r.options.HowToAnswer && open {
		lines = append(lines, "answer with: holon respond "+r.options.id(itemID))
	}
	return strings.Join(lines, "\n")
}

// otherText returns the text of the kinds that do not stream.
func otherText(c Content, event client.Event) string {
	switch c.Type {
	case "notice", "error":
		return Clean(c.Message)
	case "extension":
		return OneLine(c.NativeKind)
	case "":
		return Clean(c.Text)
	}
	return OneLine(c.Type + " " + event.ItemID)
}

// ending adds how an item ended, unless that is obvious.
func (r *Renderer) ending(event client.Event, it *item, p params) {
	c := it.content
	switch c.Type {
	case "agent_message", "reasoning":
		if p.Truncated {
			r.block(event.ThreadID, labelOther, "the text was too long and is kept with its middle cut out")
		}
		if p.Status != "completed" {
			what := "message"
			if c.Type == "reasoning" {
				what = c.Type
			}
			r.block(event.ThreadID, labelOther, what+" "+OneLine(p.Status))
		}
	case "tool_call", "command_execution":
		if text := c.Ending(p.Status); text != "" {
			l := labelStop
			if p.Status == "failed" || c.ExitCode != nil && *c.ExitCode != 0 {
				l = labelError
			}
			l.word = it.label.word
			r.block(event.ThreadID, l, text)
		}
	case "file_change":
		if p.Status != "completed" {
			r.block(event.ThreadID, labelOther, strings.TrimSpace("change "+OneLine(p.Status)+because(c.Error)))
		}
	case "permission_request", "question":
		r.block(event.ThreadID, labelAnswer, c.Resolution(p.Status))
	case "user_message":
		if p.Status == "interrupted" {
			r.block(event.ThreadID, labelWarning, "this message did not reach the agent")
		}
	}
}

// catchUp writes the part of a streamed text that was in no delta. A truncated
// text has lost its middle, so positions in it have no meaning.
func (r *Renderer) catchUp(event client.Event, it *item, p params) {
	whole := it.content.Stream()
	if p.Truncated && it.shown > 0 {
		return
	}
	if int64(len(whole)) > it.shown {
		r.write(event, it, whole[it.shown:])
		it.shown = int64(len(whole))
	}
}

// delta writes the part of a delta that is new.
func (r *Renderer) delta(event client.Event, it *item, p params) {
	text := p.Delta.Text
	if known := it.shown - p.Offset; known > 0 {
		if known >= int64(len(text)) {
			return
		}
		text = text[known:]
	}
	r.write(event, it, text)
	it.shown = p.Offset + int64(len(p.Delta.Text))
}

// write sanitizes a piece of text and shows it.
func (r *Renderer) write(event client.Event, it *item, text string) {
	it.begun = true
	if clean := it.clean.Append(nil, text); len(clean) > 0 {
		r.put(event.ItemID, event.ThreadID, it, string(clean), r.from)
	}
}

// drain shows the text that the sanitizer has held back at the end of an item's
// text.
func (r *Renderer) drain(id string, it *item, thread string) {
	if rest := it.clean.Finish(nil); len(rest) > 0 {
		r.put(id, thread, it, string(rest), it.from)
	}
}
