package kinds

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/bridges"
)

// maxNtfy bounds the text of a notification. A server turns longer ones than 4,096
// bytes into attachments.
const maxNtfy = 3500

// ntfy publishes notifications (https://docs.ntfy.sh/publish/#publish-as-json).
//
// A card's key is the sequence id of its notifications: from ntfy 2.16 on a later
// one replaces the earlier one, also after an attempt that may or may not have
// arrived. Older servers ignore it, and then both are seen. After a restore cards
// have other keys; a notification from before it is replaced by the id that it has.
type ntfy struct {
	sender
	root  *url.URL
	topic string
	token string
}

func newNtfy(c Config, client *Client) *ntfy {
	n := &ntfy{root: mustURL(cmp.Or(c.Server, defaultNtfy)), topic: c.Topic, token: c.Secret}
	n.root.Path = "/" // JSON is published at the root
	known := []string{c.Secret, c.Topic}
	if c.Server != "" {
		known = append(known, c.Server, n.root.Host)
	}
	n.sender = sender{client: client, allowPrivate: c.AllowPrivate, secrets: forms(known...)}
	return n
}

// Edits returns true: a notification of the same sequence id replaces another.
func (*ntfy) Edits() bool { return true }

// publication is what is published.
type publication struct {
	Topic      string   `json:"topic"`
	Title      string   `json:"title"`
	Message    string   `json:"message"`
	Priority   urgency  `json:"priority"`
	Tags       []string `json:"tags"`
	Click      string   `json:"click,omitzero"` // opened by a tap
	SequenceID string   `json:"sequence_id,omitzero"`

	Actions []ntfyAction `json:"actions,omitzero"`
}

// ntfyAction is a button of a notification (https://docs.ntfy.sh/publish/#open-websiteapp).
type ntfyAction struct {
	Action string `json:"action"`
	Label  string `json:"label"`
	URL    string `json:"url"`
}

// Send publishes the envelope, once for each card.
func (n *ntfy) Send(ctx context.Context, o *bridges.Outgoing) bridges.Result {
	topic := cmp.Or(o.Target.Topic, n.topic)
	own := n.sender
	own.secrets = append(forms(topic), n.secrets...)
	a, end := own.begin(ctx)
	defer end()
	m := describe(o.Envelope())
	p := publication{Topic: topic, Priority: m.urgency, Tags: []string{m.sign}, Click: m.link}
	if m.page != "" {
		p.Actions = []ntfyAction{{"view", m.pageLabel(), m.page}}
	}
	p.Title, p.Message = m.plain(maxNtfy, unlinked)
	if p.Message == "" {
		p.Message = m.what // without a message ntfy writes one of its own
	}
	if len(o.Cards) == 0 {
		return n.publish(a, p)
	}
	ids := remoteIDs(o.Cards)
	var r bridges.Result
	for i, card := range o.Cards {
		if card.Remove {
			if problem := n.remove(a, p, card.RemoteID); problem == "" {
				ids[i] = ""
			} else {
				r.Error = problem
			}
			continue
		}
		p.SequenceID, p.Priority = cmp.Or(card.RemoteID, card.Key), m.urgency
		if !card.Post {
			p.Priority = quiet // a changed message needs no sound
		}
		if r = n.publish(a, p); r.Outcome != bridges.Delivered {
			break
		}
		ids[i] = p.SequenceID
	}
	r.RemoteIDs, r.Arrived = ids, r.Outcome != bridges.Delivered && (r.Arrived || a.arrived)
	return r
}

// remove removes a notification. A server of before 2.16 cannot, so that it says then how the turn
// has ended.
func (n *ntfy) remove(a *attempt, p publication, sequenceID string) (problem string) {
	r, _ := patiently(a, func() (bridges.Result, bool) {
		_, r := a.change(request{method: http.MethodDelete, url: n.root.JoinPath(p.Topic, sequenceID), header: authorized(n.token)})
		return r, r.Outcome == bridges.Delivered || r.Outcome == bridges.Gone
	})
	if r.Outcome == bridges.Refused || r.Outcome == bridges.Gone {
		p.SequenceID, p.Priority = sequenceID, quiet
		r = n.publish(a, p)
	}
	if r.Outcome != bridges.Delivered {
		return "the progress is still shown: " + r.Error
	}
	return ""
}

func (n *ntfy) publish(a *attempt, p publication) bridges.Result {
	body, err := json.Marshal(p)
	if err != nil { // it has only text
		return bridges.Result{Outcome: bridges.Refused, Error: "request"}
	}
	_, r := a.change(request{method: http.MethodPost, url: n.root, body: body, header: authorized(n.token)})
	return r
}

// authorized returns the headers of a request in JSON with a token; "" = none.
func authorized(token string) http.Header {
	h := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	if token != "" {
		h.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	}
	return h
}
