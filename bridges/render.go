package bridges

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/question"
	"github.com/seed82539d15/holon/turns"
)

// ParseDeliveryID returns the inverse of DeliveryID.
func ParseDeliveryID(id string) (subscriptionID string, seq int64, ok bool) {
	rest, ok := strings.CutPrefix(id, "notif:")
	at := strings.LastIndexByte(rest, ':')
	if !ok || at < 1 {
		return "", 0, false
	}
	seq, err := strconv.ParseInt(rest[at+1:], 10, 64)
	return rest[:at], seq, err == nil && seq > 0
}

// Material is what an envelope is made of besides the event.
type Material struct {
	LogID      string
	Title      string
	Turn       *turns.Turn // of a reviewed end; else nil
	Supersedes []string
	Asked      question.Asked // of a question or an answer: what it is about
	// ConsoleURL is the address of the console, without a slash at the end; "" = unknown, so
	// there is no link.
	ConsoleURL string
}

// Envelope makes what is sent for a chosen event.
func (s *Subscription) Envelope(c *Chosen, m Material) *Envelope {
	e := &Envelope{
		DeliveryID: DeliveryID(s.SubscriptionID, c.Seq), LogID: m.LogID, EventType: c.Type, Final: c.Type == TypeFinal, Seq: c.Seq,
		Type: strings.ReplaceAll(c.Method, "/", "."), Timestamp: c.Header.Timestamp, Supersedes: m.Supersedes,
		Data: Data{
			SubscriptionID: s.SubscriptionID, ThreadID: c.ThreadID, TurnID: c.Header.TurnID, Attempt: c.Header.Attempt,
			Title: oneLine(m.Title, MaxTitleBytes), Method: c.Method, URL: link(m.ConsoleURL, c),
		},
	}
	if e.Supersedes == nil {
		e.Supersedes = []string{}
	}
	b, d := &c.Body, &e.Data
	switch c.Type {
	case TypeFinal:
		s.end(c, m.Turn, d)
	case TypeQuestion:
		d.Question = questionOf(b, m.Asked)
	case TypeAnswer:
		d.Question = questionOf(b, m.Asked)
		d.Outcome, d.ResolvedBy = outcomeOf(b)
	case TypeProgress:
		d.Progress = &Progress{Step: c.Header.Step, Status: string(b.Status)}
		switch {
		case c.Method == notify.TurnStarted:
			d.Progress.State = "started"
		case !c.Ends():
		case c.accepted():
			s.end(c, m.Turn, d)
			d.Progress.State = ProgressEnded
		case c.Method == notify.TurnReviewed:
			s.end(c, m.Turn, d)
			d.Progress.State = ProgressRejected
		default:
			d.Progress.State = ProgressInReview
		}
	case TypeInbox:
		d.Entry = bounded(s.entry(b.Entry))
	case TypeStalled:
		d.Reason = b.Reason
	case TypeSuperseded:
		e.Type = "turn.superseded"
		if c.Header.Step == "" {
			d.NewAttempt = b.NewEpoch
		} else {
			d.Progress = &Progress{Step: c.Header.Step}
		}
		d.Reason = b.Reason
	case TypeEvent:
		// Items and what arrives in inboxes have prompts and the output of tools.
		if s.IncludeText && !strings.HasPrefix(c.Method, "item/") && c.Method != notify.InboxReceived && c.Method != notify.TurnLate {
			d.Event = bounded(jsontext.Value(c.Params))
		}
	}
	return e
}

// Stall explains why nothing wakes the thread, in words.
func (d *Data) Stall() string { return inbox.Stall(d.Reason).Says() }

// link returns the address at which the console shows what an event is about; "" = none. An event
// of an inbox links to the inbox, because the thread of a mailbox shows nothing else.
func link(console string, c *Chosen) string {
	if console == "" || c.ThreadID == "" {
		return ""
	}
	page := "thread"
	if strings.HasPrefix(c.Method, "inbox/") {
		page = "inbox"
	}
	return console + "/#/" + page + "/" + url.PathEscape(c.ThreadID)
}

// entry returns an entry of an inbox as it is sent. The summary of an end has what the agent
// said; without IncludeText it says only what has happened.
func (s *Subscription) entry(v items.Raw) jsontext.Value {
	if s.IncludeText {
		return jsontext.Value(v)
	}
	var e inbox.Entry
	if err := json.Unmarshal(v, &e); err != nil {
		return nil
	}
	if e.Source == inbox.SourceEvents || e.Source == inbox.SourceTurns {
		e.Summary, _, _ = strings.Cut(e.Summary, ": ")
	}
	out, _ := json.Marshal(&e) // it came from JSON
	return out
}

// end fills in the end of a turn. That of a reviewed one is in the row of the turn.
func (s *Subscription) end(c *Chosen, t *turns.Turn, d *Data) {
	b := c.Body
	d.State, d.Error, d.Reason, d.StopReason, d.Usage = b.State, b.Error, b.Reason, b.StopReason, jsontext.Value(b.Usage)
	message, format := b.Message, b.Format
	if c.Method == notify.TurnReviewed {
		d.Review, d.Reason = &Review{Verdict: b.Verdict, Note: oneLine(b.Note, MaxTextBytes)}, ""
		if t != nil {
			d.State, d.Error, d.Reason, d.StopReason, message, format = t.State, t.Error, t.Reason, t.StopReason, t.Message, t.Format
			if t.Usage != nil {
				d.Usage, _ = json.Marshal(t.Usage) // it came from JSON
			}
		}
	}
	if d.Error != nil {
		failure := *d.Error
		failure.Message = cutText(Redact(sanitize.Plain(failure.Message)), MaxTitleBytes*5)
		d.Error = &failure
	}
	d.Reason, d.StopReason = oneLine(d.Reason, MaxTitleBytes), oneLine(d.StopReason, MaxTitleBytes)
	if s.IncludeText && d.State == turns.Completed {
		d.Text = cutText(Redact(cutText(sanitize.Plain(message), 2*MaxTextBytes)), MaxTextBytes)
	}
	if d.Text != "" {
		d.Format = format
	}
}

func questionOf(b *Body, asked question.Asked) *Question {
	q := &Question{ItemID: b.ItemID}
	content, err := items.Decode(b.Content)
	if err != nil {
		return q // of a question that was withdrawn
	}
	if c, ok := content.(items.PermissionRequest); ok {
		for _, o := range c.Options {
			q.Options = append(q.Options, Option{ID: o.OptionID, Label: oneLine(o.Name, MaxTitleBytes)})
		}
	}
	asked.Content, asked.Redact = []byte(b.Content), redactParted
	q.Title = oneLine(question.Phrase(asked), MaxTitleBytes*5)
	return q
}

func outcomeOf(b *Body) (outcome jsontext.Value, resolvedBy string) {
	content, err := items.Decode(b.Content)
	if err == nil {
		switch c := content.(type) {
		case items.PermissionRequest:
			resolvedBy = c.ResolvedBy
			if c.Outcome != nil {
				outcome, _ = json.Marshal(c.Outcome)
			}
		case items.Question: // never the answer itself: it may be a secret
			if c.Outcome != nil {
				outcome, _ = json.Marshal(c.Outcome)
			}
		}
	}
	if outcome == nil {
		outcome, _ = json.Marshal(items.Outcome{Type: cmp.Or(string(b.Status), "deleted")})
	}
	return outcome, resolvedBy
}

// bounded returns the value, redacted; nil if it is too large to send.
func bounded(v jsontext.Value) jsontext.Value {
	if len(v) == 0 || len(v) > MaxEventBytes {
		return nil
	}
	return RedactJSON(v)
}

// oneLine makes text one line without control characters and secrets, cut at a
// character. Secrets are removed after escape sequences, which may split a secret, and
// before the cut.
func oneLine(s string, maxBytes int) string {
	return cutText(Redact(sanitize.Line(s, len(s)+1)), maxBytes)
}

// redactParted works like Redact, for text in which control characters stay: they may part
// a secret.
func redactParted(s string) string {
	if plain := sanitize.Plain(s); Redact(plain) != plain {
		return Redact(plain)
	}
	return s
}

// cutText cuts text at a character and says so.
func cutText(s string, maxBytes int) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) <= maxBytes {
		return s
	}
	n := maxBytes - len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// OutgoingID returns the identity of a delivery at its receiver. A log that was restored
// has another id, so an id is never used for two events.
func OutgoingID(logID, deliveryID string) string {
	return fmt.Sprintf("%s:%s", logID[max(0, len(logID)-8):], deliveryID)
}

// RedactJSON works like Redact, for a JSON value; nil if nothing valid is left.
func RedactJSON(v jsontext.Value) jsontext.Value {
	if out := jsontext.Value(Redact(string(v))); out.IsValid() {
		return out
	}
	return nil
}
