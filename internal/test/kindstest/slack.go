package kindstest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SlackWebhook is the path of the incoming webhook of a Slack.
const SlackWebhook = "/services/T0000001/B0000001/abcdefghijklmnopqrstuvwx"

// SlackMessage is a message in a channel.
type SlackMessage struct {
	Channel  string         `json:"channel"`
	TS       string         `json:"ts"`
	ThreadTS string         `json:"thread_ts,omitzero"`
	Text     string         `json:"text"`
	Blocks   []SlackBlock   `json:"blocks"`
	Metadata jsontext.Value `json:"metadata,omitzero"`
	Edits    int            `json:"-"`

	// Of requests.
	Oldest      string `json:"oldest,omitzero"`
	Limit       int    `json:"limit,omitzero"`
	Markdown    *bool  `json:"mrkdwn"`
	Parse       string `json:"parse"`
	LinkNames   bool   `json:"link_names"`
	UnfurlLinks *bool  `json:"unfurl_links"`
	UnfurlMedia *bool  `json:"unfurl_media"`
}

// SlackBlock is a block: a section with text, or a rich text.
type SlackBlock struct {
	Type string `json:"type"`
	Text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"text"`
	Elements []struct {
		Type     string         `json:"type"`
		Elements []SlackElement `json:"elements"`
	} `json:"elements"`
}

// SlackElement is a part of a line of a rich text.
type SlackElement struct {
	Type string `json:"type"`
	URL  string `json:"url"`
	Text string `json:"text"`
}

// valid reports whether Slack takes a block of one of the types that are known here.
func (b SlackBlock) valid() bool {
	switch b.Type {
	case "section":
		return b.Text.Text != "" && (b.Text.Type == "plain_text" || b.Text.Type == "mrkdwn") && b.Elements == nil
	case "rich_text":
		for _, line := range b.Elements {
			if line.Type != "rich_text_section" || slices.ContainsFunc(line.Elements, func(e SlackElement) bool { return e.Type == "link" && e.URL == "" }) {
				return false
			}
		}
		return len(b.Elements) > 0 && b.Text.Type == ""
	}
	return false
}

// Links returns the links of rich texts, as "text address".
func (m SlackMessage) Links() (all []string) {
	for _, b := range m.Blocks {
		for _, line := range b.Elements {
			for _, e := range line.Elements {
				all = append(all, e.Text+" "+e.URL)
			}
		}
	}
	return all
}

// takes reports whether Slack takes the blocks of a message.
func (m SlackMessage) takes() bool {
	return !slices.ContainsFunc(m.Blocks, func(b SlackBlock) bool { return !b.valid() })
}

// Seen returns what a person sees of a message.
func (m SlackMessage) Seen() string {
	if len(m.Blocks) == 0 {
		return m.Text
	}
	var all []string
	for _, b := range m.Blocks {
		if b.Text.Text != "" {
			all = append(all, b.Text.Text)
		}
	}
	all = append(all, m.Links()...)
	return strings.Join(all, "\n")
}

// Slack has the methods of Slack that bridges call, below /api
// (https://docs.slack.dev/reference/methods), and an incoming webhook.
type Slack struct {
	*Listener
	Token string
	// History says that the bot may read the channels' history.
	History bool

	mu       sync.Mutex
	channels map[string]string // ids by name
	state    map[string]string // what is wrong with a channel, by id
	messages []SlackMessage
	errors   map[string][]string
	last     int
}

// NewSlack starts a Slack with the channels C0GENERAL (general) and C0OTHER1
// (other).
func NewSlack(t testing.TB, token string) *Slack {
	s := &Slack{Token: token, History: true, channels: map[string]string{"general": "C0GENERAL", "other": "C0OTHER1"}, state: map[string]string{}, errors: map[string][]string{}}
	s.Listener = Listen(t, s.Handler())
	return s
}

// APIURL returns the api_url of the server.
func (s *Slack) APIURL() string { return s.URL + "/api" }

// Break lets all posts to a channel fail with an error such as is_archived; "" =
// they work again.
func (s *Slack) Break(channel, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state[channel] = problem
}

// FailNext lets the next call of a method answer ok: false.
func (s *Slack) FailNext(method, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors[method] = append(s.errors[method], problem)
}

// Messages returns the messages that can be seen.
func (s *Slack) Messages() []SlackMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Shown returns their texts.
func (s *Slack) Shown() (all []string) {
	for _, m := range s.Messages() {
		all = append(all, m.Seen())
	}
	return all
}

// Delete removes a message as a person does.
func (s *Slack) Delete(ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = slices.DeleteFunc(s.messages, func(m SlackMessage) bool { return m.TS == ts })
}

// Age makes all messages older.
func (s *Slack) Age(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.messages {
		s.messages[i].TS = fmt.Sprintf("%d.%06d", time.Now().Add(-by).Unix(), i)
	}
}

// Handler serves the methods.
func (s *Slack) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == SlackWebhook {
			s.incoming(w, r)
			return
		}
		method, ok := strings.CutPrefix(r.URL.Path, "/api/")
		if !ok || r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		refuse := func(problem string) { answer(w, http.StatusOK, map[string]any{"ok": false, "error": problem}) }
		if list := s.errors[method]; len(list) > 0 {
			s.errors[method] = list[1:]
			refuse(list[0])
			return
		}
		switch token(r) {
		case s.Token:
		case "":
			refuse("not_authed")
			return
		default:
			refuse("invalid_auth")
			return
		}
		var m SlackMessage
		if json.Unmarshal(readAll(r), &m) != nil {
			refuse("invalid_json")
			return
		}
		result, problem := s.call(method, m)
		if problem != "" {
			refuse(problem)
			return
		}
		result["ok"] = true
		answer(w, http.StatusOK, result)
	})
}

func (s *Slack) call(method string, m SlackMessage) (result map[string]any, problem string) {
	channel, ok := s.channel(m.Channel)
	if !ok {
		return nil, "channel_not_found"
	}
	at := slices.IndexFunc(s.messages, func(o SlackMessage) bool { return o.Channel == channel && o.TS == m.TS })
	if !m.takes() {
		return nil, "invalid_blocks"
	}
	switch method {
	case "chat.postMessage":
		if s.state[channel] != "" {
			return nil, s.state[channel]
		}
		if m.Text == "" && len(m.Blocks) == 0 {
			return nil, "no_text"
		}
		m.Channel = channel
		made := s.add(m)
		return map[string]any{"channel": channel, "ts": made.TS, "message": map[string]any{"text": made.Text, "ts": made.TS}}, ""
	case "chat.update":
		if m.Channel != channel { // unlike post, it takes ids only
			return nil, "channel_not_found"
		}
		if at < 0 {
			return nil, "message_not_found"
		}
		s.messages[at].Text, s.messages[at].Blocks = m.Text, m.Blocks
		s.messages[at].Edits++
		return map[string]any{"channel": channel, "ts": m.TS, "text": m.Text, "message": map[string]any{"text": m.Text}}, ""
	case "chat.delete":
		if at < 0 {
			return nil, "message_not_found"
		}
		s.messages = slices.Delete(s.messages, at, at+1)
		return map[string]any{"channel": channel, "ts": m.TS}, ""
	case "conversations.history", "conversations.replies":
		if !s.History {
			return nil, "missing_scope"
		}
		if m.Channel != channel {
			return nil, "channel_not_found"
		}
		list := []SlackMessage{}
		for _, o := range s.messages {
			if o.Channel == channel && (method == "conversations.history") == (o.ThreadTS == "") && o.TS > m.Oldest {
				list = append(list, o)
			}
		}
		if method == "conversations.history" {
			slices.Reverse(list)
		}
		return map[string]any{"messages": list[:min(len(list), m.Limit)], "has_more": len(list) > m.Limit}, ""
	}
	return nil, "unknown_method"
}

// channel finds a channel by its id or name.
func (s *Slack) channel(name string) (id string, ok bool) {
	if id, ok = s.channels[strings.TrimPrefix(name, "#")]; ok {
		return id, true
	}
	for _, id := range s.channels {
		if id == name {
			return id, true
		}
	}
	return "", false
}

// add shows a message.
func (s *Slack) add(m SlackMessage) SlackMessage {
	s.last++
	m.TS = fmt.Sprintf("%d.%06d", time.Now().Unix(), s.last)
	s.messages = append(s.messages, m)
	return m
}

// incoming serves the incoming webhook.
func (s *Slack) incoming(w http.ResponseWriter, r *http.Request) {
	var m SlackMessage
	if json.Unmarshal(readAll(r), &m) != nil || m.Text == "" && len(m.Blocks) == 0 || !m.takes() {
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m.Channel = "C0GENERAL"
	if s.state[m.Channel] == "is_archived" {
		http.Error(w, "channel_is_archived", http.StatusGone)
		return
	}
	s.add(m)
	fmt.Fprint(w, "ok")
}
