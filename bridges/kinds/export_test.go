package kinds

import (
	"io"
	"net/http"
	"strings"

	"github.com/seed82539d15/holon/bridges"
)

// NotRecorded is the error of an attempt whose program could not be recorded.
var NotRecorded = notRecorded

// StubWebhook is a webhook without a network. seen are the headers of its last
// request.
func StubWebhook(c Config) (ch bridges.Channel, seen func() http.Header) {
	var last http.Header
	client := NewClient(ClientConfig{})
	client.send = func(r *http.Request) (*http.Response, error) {
		last = r.Header
		return &http.Response{StatusCode: http.StatusNoContent, Body: io.NopCloser(strings.NewReader(""))}, nil
	}
	return &channel{newWebhook(c, client), c}, func() http.Header { return last }
}
