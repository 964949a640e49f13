package kinds

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/bridges"
)

// TestTheQueryOfAURLIsRemovedFromAnswers: a receiver that says what it was asked for
// shows no token.
func TestTheQueryOfAURLIsRemovedFromAnswers(t *testing.T) {
	config := Config{Kind: bridges.KindWebhook, URL: "https://example.com/a?token=hunter2&pin=12&key=a%2Fb%20c", Secret: NewWebhookSecret()}
	client := NewClient(ClientConfig{})
	client.send = func(r *http.Request) (*http.Response, error) {
		text := "no page /a?token=hunter2&pin=12&key=a%2Fb%20c; token hunter2, pin=12, key a/b c"
		return &http.Response{StatusCode: http.StatusNotFound, Body: io.NopCloser(strings.NewReader(text))}, nil
	}
	r := newWebhook(config, client).Send(t.Context(), &bridges.Outgoing{ID: "1", Body: []byte("{}")})
	for _, value := range []string{"hunter2", "=12", "a/b c", "a%2Fb"} {
		if strings.Contains(string(r.Answer), value) {
			t.Errorf("the answer has %s: %s", value, r.Answer)
		}
	}
	if !strings.Contains(string(r.Answer), "no page") {
		t.Errorf("%+v", r)
	}
}
