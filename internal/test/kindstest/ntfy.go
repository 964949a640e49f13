package kindstest

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
)

// Notification is a message that a ntfy client shows.
type Notification struct {
	ID         string   `json:"id"`
	Event      string   `json:"event"`
	Topic      string   `json:"topic"`
	Title      string   `json:"title"`
	Message    string   `json:"message"`
	Priority   int      `json:"priority"`
	Tags       []string `json:"tags"`
	Click      string   `json:"click,omitzero"`
	Markdown   bool     `json:"markdown,omitzero"`
	SequenceID string   `json:"sequence_id,omitzero"`

	Actions []NtfyAction `json:"actions,omitzero"`
}

// NtfyAction is a button of a notification.
type NtfyAction struct {
	Action string `json:"action"`
	Label  string `json:"label"`
	URL    string `json:"url"`
}

// Ntfy takes publications in JSON at its root (https://docs.ntfy.sh/publish/).
type Ntfy struct {
	*Listener
	// Token, unless empty, is required.
	Token string
	// Old says that the server is older than 2.16: it ignores sequence ids.
	Old bool

	mu    sync.Mutex
	seen  []Notification // as a client shows them
	all   []Notification
	rings int
}

// NewNtfy starts a server.
func NewNtfy(t testing.TB) *Ntfy {
	n := &Ntfy{}
	n.Listener = Listen(t, n.Handler())
	return n
}

// ntfyName is the form of topics and sequence ids.
var ntfyName = regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)

// Handler serves the API.
func (n *Ntfy) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Token != "" && token(r) != n.Token {
			ntfyError(w, http.StatusUnauthorized, 40101, "unauthorized")
			return
		}
		if topic, id, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); ok && r.Method == http.MethodDelete && !n.Old && ntfyName.MatchString(id) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.seen = slices.DeleteFunc(n.seen, func(s Notification) bool { return s.Topic == topic && s.SequenceID == id })
			answer(w, http.StatusOK, Notification{Event: "message_delete", Topic: topic, SequenceID: id})
			return
		}
		if r.Method != http.MethodPost || r.URL.Path != "/" {
			ntfyError(w, http.StatusNotFound, 40401, "page not found")
			return
		}
		var p Notification
		if json.Unmarshal(readAll(r), &p) != nil {
			ntfyError(w, http.StatusBadRequest, 40024, "invalid request: request body must be message JSON")
			return
		}
		if !ntfyName.MatchString(p.Topic) {
			ntfyError(w, http.StatusBadRequest, 40009, "invalid request: topic invalid")
			return
		}
		if len(p.Message) > 4096 {
			ntfyError(w, http.StatusBadRequest, 40014, "invalid request: attachments not allowed")
			return
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.Old {
			p.SequenceID = ""
		} else if p.SequenceID != "" && !ntfyName.MatchString(p.SequenceID) {
			ntfyError(w, http.StatusBadRequest, 40049, "invalid request: sequence ID invalid")
			return
		}
		p.ID, p.Event = fmt.Sprintf("msg%09d", len(n.all)), "message"
		n.all = append(n.all, p)
		if p.Priority >= 3 {
			n.rings++
		}
		n.seen = slices.DeleteFunc(n.seen, func(s Notification) bool {
			return p.SequenceID != "" && s.Topic == p.Topic && s.SequenceID == p.SequenceID
		})
		n.seen = append(n.seen, p)
		answer(w, http.StatusOK, p)
	})
}

func ntfyError(w http.ResponseWriter, status, code int, text string) {
	answer(w, status, map[string]any{"code": code, "http": status, "error": text, "link": "https://ntfy.sh/docs/publish/"})
}

// Notifications returns those that a client shows.
func (n *Ntfy) Notifications() []Notification {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.seen)
}

// Published returns all that were published.
func (n *Ntfy) Published() []Notification {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

// Shown returns the texts of the notifications.
func (n *Ntfy) Shown() (all []string) {
	for _, s := range n.Notifications() {
		all = append(all, s.Title+"\n"+s.Message)
	}
	return all
}

// answer answers with JSON.
func answer(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// readAll reads a body that the Listener has read already.
func readAll(r *http.Request) []byte {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	return b
}
