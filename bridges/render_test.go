package bridges

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/notify"
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
