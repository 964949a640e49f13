package bridges

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// TestNoPromptAndNoOutputOfToolsIsSent, also for a subscription that names the events
// that have them.
func TestNoPromptAndNoOutputOfToolsIsSent(t *testing.T) {
	s := &Subscription{SubscriptionID: "s", IncludeText: true, Methods: []string{
		notify.ItemCreated, notify.ItemUpdated, notify.InboxReceived, notify.TurnLate, notify.ThreadStarted,
	}}
	for _, method := range s.Methods {
		c, err := s.Choose(Event{Seq: 1, ThreadID: "a", Method: method, Params: []byte(`{"seq":1,"thread_id":"a","timestamp":"2026-11-21T10:00:00.000Z",` +
			`"content":{"type":"tool_call","output":"SENTINEL"},"payload":"SENTINEL","event":{"params":"SENTINEL"},"title":"SENTINEL"}`)})
		if err != nil || c == nil || c.Type != TypeEvent {
			t.Fatalf("%s: %+v, %v", method, c, err)
		}
		sent := strings.Contains(string(s.Envelope(c, Material{LogID: "log_12345678", Title: "a"}).Data.Event), "SENTINEL")
		if sent != (method == notify.ThreadStarted) {
			t.Errorf("%s: the event is sent: %v", method, sent)
		}
	}
}

// TestTextIsCutAfterItsSecretsAreRemoved: what an agent said is sent only to who wants
// it, up to MaxTextBytes. No part of a secret at the cut is left.
func TestTextIsCutAfterItsSecretsAreRemoved(t *testing.T) {
	const most, secret = 16 << 10, "ghp_SENTINEL0123456789abcdefghijklmnopqr"
	for _, before := range []int{0, most - 20, most, 2*most - 20, 3 * most} {
		message := strings.Repeat("ü ", before/3) + secret + strings.Repeat(" ü", most)
		for _, wanted := range []bool{false, true} {
			s := &Subscription{SubscriptionID: "s", IncludeText: wanted, On: []On{OnFinal}}
			c, err := s.Choose(Event{Seq: 1, ThreadID: "a", Method: notify.TurnCompleted, Params: []byte(
				`{"seq":1,"thread_id":"a","turn_id":"t","timestamp":"2026-11-21T10:00:00.000Z","state":"completed","message":"` + message + `"}`)})
			if err != nil || c == nil || c.Type != TypeFinal {
				t.Fatalf("%+v, %v", c, err)
			}
			text := s.Envelope(c, Material{LogID: "log_12345678"}).Data.Text
			switch {
			case !wanted && text != "":
				t.Errorf("%d bytes that nobody wants", len(text))
			case wanted && (len(text) > most || len(text) < most-3 || !strings.HasSuffix(text, "…")):
				t.Errorf("with a secret at %d the text has %d bytes", before, len(text))
			case strings.Contains(text, "SENT"):
				t.Errorf("a secret at %d is sent", before)
			}
		}
	}
}

// TestAnEntryHasTheWordsOfAnAgentOnlyWithText: other entries are as they are in the inbox.
func TestAnEntryHasTheWordsOfAnAgentOnlyWithText(t *testing.T) {
	for _, c := range []struct{ source, summary, without string }{
		{"events", "a turn of b completed: SENTINEL: more", "a turn of b completed"},
		{"events", "a turn of b was interrupted", "a turn of b was interrupted"},
		{"turns", "completed: look: SENTINEL", "completed"},
		{"github", "3 comments on holon: two by ann", "3 comments on holon: two by ann"},
	} {
		for _, text := range []bool{false, true} {
			s := &Subscription{SubscriptionID: "s", IncludeText: text, On: []On{OnInbox}}
			e, err := s.Choose(Event{Seq: 9, ThreadID: "a", Method: notify.InboxPosted, Params: []byte(
				`{"seq":9,"thread_id":"a","timestamp":"2026-11-21T10:00:00.000Z","reason":"item","entry":{"entry_id":"entry_9","kind":"item","source":"` + c.source +
					`","summary":"` + c.summary + `","count":1,"last_raw_id":"raw_8","first_at":"2026-11-21T10:00:00.000Z","last_at":"2026-11-21T10:00:00.000Z","posted_at":"2026-11-21T10:00:00.000Z"}}`)})
			if err != nil || e == nil || e.Type != TypeInbox {
				t.Fatalf("%+v, %v", e, err)
			}
			want := c.without
			if text {
				want = c.summary
			}
			sent := string(s.Envelope(e, Material{LogID: "log_12345678"}).Data.Entry)
			if !strings.Contains(sent, `"summary":"`+want+`"`) || !strings.Contains(sent, `"last_raw_id":"raw_8"`) {
				t.Errorf("%s, text %v: %s", c.summary, text, sent)
			}
		}
	}
}

// TestTitlesHaveNoEscapeSequences: nor do these hide a secret by parting it.
func TestTitlesHaveNoEscapeSequences(t *testing.T) {
	for title, want := range map[string]string{
		"\x1b[31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\a\n\u202etwo": "red link two",
		"\u009b1m👩\u200d🔬 \x00 lab":                                          "👩\u200d🔬 lab",
		"ghp_SENTINEL01\x1b[1m23456789abcdefghijklmnopqr":                    "[redacted]",
		strings.Repeat("\x1b[31m", 1000) + "end":                             "end",
	} {
		s := &Subscription{SubscriptionID: "s", On: []On{OnFinal}}
		c, err := s.Choose(Event{Seq: 1, ThreadID: "a", Method: notify.TurnCompleted, Params: []byte(
			`{"seq":1,"thread_id":"a","turn_id":"t","timestamp":"2026-11-21T10:00:00.000Z","state":"completed"}`)})
		if err != nil || c == nil {
			t.Fatalf("%+v, %v", c, err)
		}
		if got := s.Envelope(c, Material{LogID: "log_12345678", Title: title}).Data.Title; got != want {
			t.Errorf("%q is sent as %q, want %q", title, got, want)
		}
	}
}

// What the agent said, and why it failed, is shown without escape sequences in the end: so
// a secret that one parts is whole again there.
func TestTextHasNoSecretThatAnEscapeSequenceParts(t *testing.T) {
	const parted = "the key is ghp_SENTINEL01\x1b[0m23456789\u200babcdefghijklmnopqr\nand more"
	const want = "the key is [redacted]\nand more"
	s := &Subscription{SubscriptionID: "s", On: []On{OnFinal}, IncludeText: true}
	for method, members := range map[string]string{
		notify.TurnCompleted: `"state":"completed","message":%q`,
		notify.TurnFailed:    `"state":"failed","error":{"kind":"agent_error","message":%q}`,
	} {
		said, _ := json.Marshal(parted) // a string always encodes
		c, err := s.Choose(Event{Seq: 1, ThreadID: "a", Method: method, Params: []byte(
			`{"seq":1,"thread_id":"a","turn_id":"t","timestamp":"2026-11-21T10:00:00.000Z",` + strings.Replace(members, "%q", string(said), 1) + `}`)})
		if err != nil || c == nil {
			t.Fatalf("%+v, %v", c, err)
		}
		d := s.Envelope(c, Material{LogID: "log_12345678"}).Data
		got := d.Text
		if d.Error != nil {
			got = d.Error.Message
		}
		if got != want {
			t.Errorf("%s is sent as %q, want %q", method, got, want)
		}
	}
}

// What the agent said is sent with its format, as is the accepted end of a reviewed turn;
// without the text there is none.
func TestTextIsSentWithItsFormat(t *testing.T) {
	turn := &turns.Turn{State: turns.Completed, Message: "__init__.py", Format: items.FormatPlain}
	for method, members := range map[string]string{
		notify.TurnCompleted: `"state":"completed","message":"__init__.py","format":"plain"`,
		notify.TurnReviewed:  `"verdict":"approved"`,
	} {
		for text, want := range map[bool]items.Format{false: "", true: items.FormatPlain} {
			s := &Subscription{SubscriptionID: "s", On: []On{OnFinal}, IncludeText: text}
			c, err := s.Choose(Event{Seq: 1, ThreadID: "a", Method: method, Params: []byte(
				`{"seq":1,"thread_id":"a","turn_id":"t","timestamp":"2026-11-21T10:00:00.000Z",` + members + `}`)})
			if err != nil || c == nil {
				t.Fatalf("%+v, %v", c, err)
			}
			if d := s.Envelope(c, Material{LogID: "log_12345678", Turn: turn}).Data; d.Format != want || (d.Text != "") != text {
				t.Errorf("%s with text %v: %q of format %q", method, text, d.Text, d.Format)
			}
		}
	}
}

// TestEnvelopesHaveTheAddressOfTheirThread, if the server knows how browsers reach it.
func TestEnvelopesHaveTheAddressOfTheirThread(t *testing.T) {
	header := `{"seq":1,"thread_id":%q,"turn_id":"t","timestamp":"2026-11-21T10:00:00.000Z",`
	for _, c := range []struct{ method, thread, members, want string }{
		{notify.TurnCompleted, "thread_01", `"state":"completed"`, "/#/thread/thread_01"},
		{notify.TurnStarted, "thread_01", `"state":"active"`, "/#/thread/thread_01"},
		{notify.ItemCreated, "thread_01", `"item_id":"i","status":"pending","content":{"type":"question","message":"?"}`, "/#/thread/thread_01"},
		{notify.InboxPosted, "me", `"entry":{}`, "/#/inbox/me"},
		{notify.InboxStalled, "me", `"a":1`, "/#/inbox/me"},
		{notify.ThreadClosed, "a_B-9", `"a":1`, "/#/thread/a_B-9"},
		{notify.ThreadClosed, "a/../b?c#d>|)", `"a":1`, "/#/thread/a%2F..%2Fb%3Fc%23d%3E%7C%29"},
		{notify.BridgePaused, "", `"a":1`, ""},
	} {
		s := &Subscription{SubscriptionID: "s", On: []On{OnFinal, OnQuestions, OnProgress, OnInbox}, Methods: []string{notify.ThreadClosed, notify.BridgePaused, notify.InboxStalled}}
		e, err := s.Choose(Event{Seq: 1, ThreadID: c.thread, Method: c.method, Params: []byte(fmt.Sprintf(header, c.thread) + c.members + "}")})
		if err != nil || e == nil {
			t.Fatalf("%s: %+v, %v", c.method, e, err)
		}
		for _, console := range []string{"", "https://holon.example", "http://127.0.0.1:8080"} {
			want := console + c.want
			if console == "" || c.want == "" {
				want = ""
			}
			m := Material{LogID: "log_12345678", ConsoleURL: console}
			if got := s.Envelope(e, m).Data.URL; got != want {
				t.Errorf("%s of %q: %q, want %q", c.method, c.thread, got, want)
			}
		}
	}
}
