//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/test/kindstest"
)

// targets are where bridges of all kinds deliver to.
type targets struct {
	hook   *kindstest.Receiver
	ntfy   *kindstest.Ntfy
	slack  *kindstest.Slack
	plain  *kindstest.Slack // with an incoming webhook
	github *kindstest.GitHub
	file   string // the program adds each envelope to it
}

const (
	slackToken  = "xoxb-1-slack-of-the-test"
	githubToken = "ghp_githubOfTheTest0123"
	ntfyToken   = "tk_ntfyOfTheTest0123"
)

func newTargets(t *testing.T) *targets {
	all := &targets{
		hook: kindstest.NewReceiver(t, sendSecret), ntfy: kindstest.NewNtfy(t), slack: kindstest.NewSlack(t, slackToken),
		plain: kindstest.NewSlack(t, ""), github: kindstest.NewGitHub(t, githubToken), file: filepath.Join(t.TempDir(), "envelopes"),
	}
	all.ntfy.Token = ntfyToken
	return all
}

// config names them all.
func (x *targets) config() string {
	return fmt.Sprintf(`
[bridges.webhook]
kind = "webhook"
url = "%s/hook"
secret = %q
allow_private = true
[bridges.ntfy]
kind = "ntfy"
server = %q
topic = "builds"
token = %q
allow_private = true
[bridges.slack]
kind = "slack"
api_url = %q
token = %q
allow_private = true
[bridges.plain]
kind = "slack"
webhook_url = "%s%s"
allow_private = true
[bridges.github]
kind = "github"
api_url = %q
token = %q
allow_private = true
[bridges.command]
kind = "command"
command = ["sh", "-c", "cat >> '%s'"]
`, x.hook.URL, sendSecret, x.ntfy.URL, ntfyToken, x.slack.APIURL(), slackToken, x.plain.URL, kindstest.SlackWebhook, x.github.APIURL(), githubToken, x.file)
}

// bridgeKinds are the bridges of targets, most by their kinds, with the target of each.
var bridgeKinds = map[string]object{
	"webhook": {}, "ntfy": {}, "command": {}, "plain": {}, "slack": {"channel": "C0GENERAL"}, "github": {"repository": "octo/parser", "number": 1},
}

// subscribe sends ends and questions of all threads through the bridge of each kind.
func (x *targets) subscribe(t *testing.T, s *server) (ids []string) {
	t.Helper()
	for kind, to := range bridgeKinds {
		s.must(t, "subscription/create", object{"subscription_id": kind, "bridge_id": kind, "target": to, "on": []string{"final", "questions"}, "include_text": true})
		ids = append(ids, kind)
	}
	return ids
}

// A person and a program hear of a question and its answer, of an end, of a retry that
// takes an end back, and of the end after it: each once, through every kind of bridge
// in the way of its target.
func TestEveryKindTellsWhatHappensOnce(t *testing.T) {
	t.Parallel()
	x, p := newTargets(t), newTestbed(t)
	p.configure(t, x.config())
	s := p.serve(t, nil)
	subs := x.subscribe(t, s)
	settle := func() {
		t.Helper()
		if err := s.delivered(subs...); err != nil {
			t.Fatal(err)
		}
	}
	idle := func() {
		t.Helper()
		if err := s.idle(startWithin); err != nil {
			t.Fatal(err)
		}
		settle()
	}
	s.must(t, "thread/start", object{"thread_id": "a"})
	first := s.must(t, "turn/start", turn("a", "/ask May I run make?\n/say it was made"))
	var list struct {
		Items []struct {
			ItemID string `json:"item_id"`
		} `json:"items"`
	}
	eventually(t, "the agent asks", func() bool {
		s.must(t, "item/list", object{"thread_id": "a", "status": "pending"}).decode(t, &list)
		return len(list.Items) == 1
	})
	settle()
	item := list.Items[0].ItemID
	s.must(t, "item/respond", object{"item_id": item, "kind": "allow_once"})
	idle()
	second := s.must(t, "turn/start", turn("a", "/transient 1\n/say mended"))
	idle()
	s.must(t, "turn/retry", object{"turn_id": second.TurnID})
	idle()
	s.stop(t)
	p.doctor(t)

	read, again := "To read it: holon items --turn ", "To try again: holon retry "
	shown := []string{
		"new 1: Waits for your answer: echo in a|Question: May I run make?|Answer 1: Allow|Answer 2: Reject|To answer: holon respond " + item,
		"change 1: Answered: echo in a|Question: May I run make?|Answer: Allow|By: client",
		"new 2: Completed: echo in a|it was made|" + read + first.TurnID,
		"new 3: Failed: echo in a|Error: agent_failed: it may go better another time: /transient|" + again + second.TurnID,
		"change 3: No longer true: echo in a|Tried again: attempt 2 has begun",
		"new 4: Completed: echo in a|mended|" + read + second.TurnID,
		"remove 3",
	}
	alike(t, "slack", x.slackActs(t), shown)
	alike(t, "github", x.githubActs(t), shown)
	// An incoming webhook changes nothing: each is a message of its own.
	var texts, posted []string
	for _, act := range shown[:6] {
		_, text, _ := strings.Cut(act, ": ")
		texts = append(texts, text)
	}
	for _, text := range x.plain.Shown() {
		posted = append(posted, oneLine(text))
	}
	alike(t, "slack with an incoming webhook", posted, texts)
	// A new message of ntfy with the id of an earlier one replaces it, and rings.
	replaced := slices.Clone(shown[:6])
	replaced[5] = strings.Replace(replaced[5], "new 4", "change 3", 1)
	alike(t, "ntfy", x.ntfyActs(t, "builds"), replaced)

	envelopes := []string{
		"question item.created of attempt 1 supersedes []: May I run make?",
		"answer item.updated of attempt 1 supersedes []: May I run make? allow_once",
		"final turn.completed of attempt 1 supersedes []: it was made",
		"final turn.failed of attempt 1 supersedes []: agent_failed",
		"superseded turn.superseded of attempt 0 supersedes [the 4th]: attempt 2",
		"final turn.completed of attempt 2 supersedes []: mended",
	}
	var bodies []string
	for _, r := range x.hook.Requests() {
		bodies = append(bodies, string(r.Body))
	}
	alike(t, "webhook", envelopeActs(t, bodies), envelopes)
	// The receiver takes what the library of Standard Webhooks verifies.
	alike(t, "verified webhooks", x.hook.Shown(), bodies)
	printed, err := os.ReadFile(x.file)
	if err != nil {
		t.Fatal(err)
	}
	alike(t, "command", envelopeActs(t, slices.Collect(strings.Lines(string(printed)))), envelopes)
}

func alike(t *testing.T, what string, have, want []string) {
	t.Helper()
	if !slices.Equal(have, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

// slackActs are the requests that a Slack has received, with the numbers of messages
// in the place of their times.
func (x *targets) slackActs(t *testing.T) (acts []string) {
	t.Helper()
	for _, r := range x.slack.Requests() {
		var m kindstest.SlackMessage
		if err := json.Unmarshal(r.Body, &m); err != nil {
			t.Fatal(err)
		}
		_, number, _ := strings.Cut(m.TS, ".") // Slack counts in them
		number = strings.TrimLeft(number, "0")
		switch r.Path {
		case "/api/chat.postMessage":
			acts = append(acts, fmt.Sprintf("new %d: %s", 1+countOf(acts, "new "), oneLine(m.Seen())))
		case "/api/chat.update":
			acts = append(acts, fmt.Sprintf("change %s: %s", number, oneLine(m.Seen())))
		case "/api/chat.delete":
			acts = append(acts, "remove "+number)
		default:
			acts = append(acts, r.Path)
		}
	}
	return acts
}

// githubActs are those of a GitHub, without markup.
func (x *targets) githubActs(t *testing.T) (acts []string) {
	t.Helper()
	for _, r := range x.github.Requests() {
		var m kindstest.Comment
		if len(r.Body) > 0 {
			if err := json.Unmarshal(r.Body, &m); err != nil {
				t.Fatal(err)
			}
		}
		body, _, _ := strings.Cut(m.Body, "<!-- holon:")
		body = strings.NewReplacer("** `", ": ", "**", "", "```text\n", "", "```", "", "`", "", "\n- ", "\n").Replace(body)
		_, number, _ := strings.Cut(r.Path, "/comments/500") // the first is 5001
		switch r.Method {
		case http.MethodPost:
			acts = append(acts, fmt.Sprintf("new %d: %s", 1+countOf(acts, "new "), oneLine(body)))
		case http.MethodPatch:
			acts = append(acts, fmt.Sprintf("change %s: %s", number, oneLine(body)))
		case http.MethodDelete:
			acts = append(acts, "remove "+number)
		default:
			acts = append(acts, r.Method)
		}
	}
	return acts
}

// ntfyActs are those of a ntfy server, with numbers in the place of sequence ids.
func (x *targets) ntfyActs(t *testing.T, topic string) (acts []string) {
	t.Helper()
	var ids []string
	for _, m := range x.ntfy.Published() {
		if m.SequenceID == "" || m.Topic != topic {
			t.Errorf("published: %+v", m)
		}
		verb, at := "change", slices.Index(ids, m.SequenceID)
		if at < 0 {
			verb, at = "new", len(ids)
			ids = append(ids, m.SequenceID)
		}
		acts = append(acts, fmt.Sprintf("%s %d: %s", verb, at+1, oneLine(m.Title+"\n"+m.Message)))
	}
	return acts
}

// envelopeActs are envelopes in short. Each supersedes earlier ones by their place.
func envelopeActs(t *testing.T, bodies []string) (acts []string) {
	t.Helper()
	var ids []string
	for _, body := range bodies {
		var e bridges.Envelope
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			t.Fatal(err)
		}
		if e.Final != (e.EventType == bridges.TypeFinal) || e.DeliveryID != fmt.Sprintf("notif:%s:%d", e.Data.SubscriptionID, e.Seq) {
			t.Errorf("an envelope: %s", body)
		}
		ids = append(ids, e.DeliveryID)
		supersedes := []string{}
		for _, id := range e.Supersedes {
			supersedes = append(supersedes, fmt.Sprintf("the %dth", 1+slices.Index(ids, id)))
		}
		what := e.Data.Text
		switch {
		case e.Data.Question != nil:
			var outcome struct {
				OptionID string `json:"option_id"`
			}
			_ = json.Unmarshal(e.Data.Outcome, &outcome) // a question has none
			what = strings.TrimSpace(e.Data.Question.Title + " " + outcome.OptionID)
		case e.Data.Error != nil:
			what = e.Data.Error.Kind
		case e.EventType == bridges.TypeSuperseded:
			what = fmt.Sprintf("attempt %d", e.Data.NewAttempt)
		}
		acts = append(acts, fmt.Sprintf("%s %s of attempt %d supersedes %v: %s", e.EventType, e.Type, e.Data.Attempt, supersedes, what))
	}
	return acts
}

func countOf(acts []string, prefix string) (n int) {
	for _, a := range acts {
		if strings.HasPrefix(a, prefix) {
			n++
		}
	}
	return n
}

// oneLine joins the lines that are not empty.
func oneLine(text string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(strings.TrimSpace(text), "\n"), func(l string) bool { return l == "" }), "|")
}
