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
