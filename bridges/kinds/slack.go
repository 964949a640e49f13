package kinds

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/bridges"
)

// maxSlack bounds the text of a message below its title. A text object has at most
// 3,000 characters (https://docs.slack.dev/reference/block-kit/blocks/section-block),
// and an escaped title up to 800.
const maxSlack = 2000

// slackErrors are the errors of Slack's methods that are not the fault of one
// request, and what they mean. All others mean that Slack refuses the request
// (https://docs.slack.dev/reference/methods/chat.postMessage#errors).
var slackErrors = map[string]bridges.Outcome{
	"ratelimited": bridges.Wait, "rate_limited": bridges.Wait, "message_limit_exceeded": bridges.Wait,
	// Slack accepts nothing there again before a person changes something. An incoming
	// webhook answers 410 for the first of these.
	"is_archived": bridges.Gone, "account_inactive": bridges.Gone, "token_revoked": bridges.Gone,
	// The request may have been carried out in part.
	"internal_error": bridges.Failed, "fatal_error": bridges.Failed, "service_unavailable": bridges.Failed, "request_timeout": bridges.Failed,
	"team_added_to_org": bridges.Failed, "org_login_required": bridges.Failed,
	// Refused, and named in a result, because the name helps.
	"channel_not_found": bridges.Refused, "not_in_channel": bridges.Refused, "invalid_auth": bridges.Refused, "not_authed": bridges.Refused,
	"token_expired": bridges.Refused, "missing_scope": bridges.Refused, "no_permission": bridges.Refused, "access_denied": bridges.Refused,
	"restricted_action": bridges.Refused, "restricted_action_read_only_channel": bridges.Refused, "msg_too_long": bridges.Refused,
	"ekm_access_denied": bridges.Refused, "thread_not_found": bridges.Refused, "cannot_reply_to_message": bridges.Refused,
	"message_not_found": bridges.Refused, "cant_update_message": bridges.Refused, "edit_window_closed": bridges.Refused,
	"cant_delete_message": bridges.Refused, "compliance_exports_prevent_deletion": bridges.Refused,
}

// slack posts messages with the token of a bot, or to an incoming webhook.
type slack struct {
	sender
	api     *url.URL
	token   string
	webhook *url.URL // nil = with a token
}

func newSlack(c Config, client *Client) *slack {
	s := &slack{api: mustURL(cmp.Or(c.APIURL, defaultSlack)), token: c.Secret}
	known := []string{c.Secret}
	if c.WebhookURL != "" {
		s.webhook = mustURL(c.WebhookURL)
		known = append(known, c.WebhookURL, s.webhook.RequestURI())
		for _, part := range strings.Split(s.webhook.Path, "/") {
			if len(part) >= 9 { // its parts are two ids and the secret
				known = append(known, part)
			}
		}
	}
	s.sender = sender{client: client, allowPrivate: c.AllowPrivate, secrets: forms(known...)}
	return s
}

// Edits reports whether messages can be changed: those of an incoming webhook
// cannot.
func (s *slack) Edits() bool { return s.webhook == nil }

// Send shows the envelope in a channel.
func (s *slack) Send(ctx context.Context, o *bridges.Outgoing) bridges.Result {
	a, end := s.begin(ctx)
	defer end()
	call := &slackCall{s: s, a: a, o: o, shown: slackText(o.Envelope())}
	if s.webhook != nil {
		return call.toWebhook()
	}
	return deliver(a, call, o)
}

// slackCall is one attempt.
type slackCall struct {
	s     *slack
	a     *attempt
	o     *bridges.Outgoing
	shown slackMessage
}

// slackMessage is what a message shows. Its first block has no markup, and Slack makes
// no links of it; the one after it, if there is one, has our own link and the page of an entry. Text is for
// notifications; the rest says for it that there are no links, names or previews either.
type slackMessage struct {
	Text      string       `json:"text"`
	Blocks    []slackBlock `json:"blocks"`
	Markup    bool         `json:"mrkdwn"`
	Parse     string       `json:"parse"`
	LinkNames bool         `json:"link_names"`
}

type slackBlock struct {
	Type     string          `json:"type"`
	Text     slackPlainText  `json:"text,omitzero"`     // of a section
	Elements []slackRichText `json:"elements,omitzero"` // of a rich text
}

type slackPlainText struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Emoji bool   `json:"emoji"`
}

// slackRichText is a line of a rich text.
type slackRichText struct {
	Type     string      `json:"type"`
	Elements []slackLink `json:"elements"`
}

// slackLink is a link whose address is a member: no markup is read to find it
// (https://docs.slack.dev/reference/block-kit/block-elements/link-element).
type slackLink struct {
	Type string `json:"type"`
	URL  string `json:"url"`
	Text string `json:"text"`
}

func slackText(e *bridges.Envelope) slackMessage {
	m := describe(e)
	title, body := m.plain(maxSlack, slackEscape)
	if body != "" {
		body = "\n" + body
	}
	blocks := []slackBlock{{Type: "section", Text: slackPlainText{"plain_text", title + body, false}}}
	var links []slackRichText
	for _, l := range []slackLink{{"link", m.link, linkLabel}, {"link", m.page, m.pageLabel()}} {
		if l.URL != "" {
			links = append(links, slackRichText{"rich_text_section", []slackLink{l}})
		}
	}
	if len(links) > 0 {
		blocks = append(blocks, slackBlock{Type: "rich_text", Elements: links})
	}
	return slackMessage{Text: title, Parse: "none", Blocks: blocks}
}

// slackEscape makes text of any text: Slack has mentions, links and commands in
// angle brackets, and makes links of addresses.
func slackEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(unlinked(s))
}

// toWebhook posts to the incoming webhook. Its errors are in the status.
func (c *slackCall) toWebhook() bridges.Result {
	body, err := json.Marshal(struct {
		slackMessage
		ThreadTS    string `json:"thread_ts,omitzero"`
		UnfurlLinks bool   `json:"unfurl_links"`
		UnfurlMedia bool   `json:"unfurl_media"`
	}{c.shown, c.o.Target.ThreadTS, false, false})
	if err != nil {
		return bridges.Result{Outcome: bridges.Refused, Error: "request"}
	}
	_, r := c.a.change(request{method: http.MethodPost, url: c.s.webhook, body: body, header: authorized("")})
	return r
}

// slackAnswer has the members of answers that matter.
type slackAnswer struct {
	OK       bool           `json:"ok"`
	Error    string         `json:"error"`
	Channel  any            `json:"channel"` // an id; an object in some answers
	TS       string         `json:"ts"`
	Messages []slackHistory `json:"messages"`
}

type slackHistory struct {
	TS       string        `json:"ts"`
	Metadata slackMetadata `json:"metadata"`
}

// slackMetadata is hidden data of a message.
type slackMetadata struct {
	Type    string         `json:"event_type"`
	Payload map[string]any `json:"event_payload"`
}

// call calls a method. problem is Slack's own word for what went wrong.
func (c *slackCall) call(method string, params any) (got slackAnswer, r bridges.Result, problem string) {
	body, err := json.Marshal(params)
	if err != nil {
		return got, bridges.Result{Outcome: bridges.Refused, Error: "request"}, ""
	}
	a := c.a.do(request{method: http.MethodPost, url: c.s.api.JoinPath(method), body: body, header: authorized(c.s.token)})
	r = c.a.judge(a)
	if r.Outcome != bridges.Delivered {
		return got, r, ""
	}
	if json.Unmarshal(a.body, &got) != nil {
		return slackAnswer{}, unread(r), ""
	}
	if got.OK {
		return got, r, ""
	}
	outcome, known := slackErrors[got.Error]
	if !known { // what another server writes there is not for people
		r.Outcome, r.Error = bridges.Refused, "slack: unknown error"
		return got, r, ""
	}
	r.Outcome, r.Error = outcome, "slack: "+got.Error
	switch outcome {
	case bridges.Failed:
		r.Unhealthy, r.Arrived = true, true
	case bridges.Wait:
		r.RetryAfter = retryAfter(a.header, time.Now())
	}
	return got, r, got.Error
}

// markType is the type of the metadata by which a message is found again.
const markType = "holon_delivery"

// mark identifies the delivery in metadata. It cannot be computed without
// the token, so no other app can make the server believe that something was posted.
func (c *slackCall) mark(card bridges.Card) string {
	mac := hmac.New(sha256.New, []byte(c.s.token))
	mac.Write([]byte(card.Key + "\x00" + c.o.ID))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// post shows a new message, unless an earlier attempt has.
func (c *slackCall) post(card bridges.Card) (string, bridges.Result) {
	mark := c.mark(card)
	if c.o.Arrived {
		if id, r, found := c.find(mark); found {
			return id, r
		}
	}
	got, r, _ := c.call("chat.postMessage", struct {
		slackMessage
		Channel     string        `json:"channel"`
		ThreadTS    string        `json:"thread_ts,omitzero"`
		UnfurlLinks bool          `json:"unfurl_links"`
		UnfurlMedia bool          `json:"unfurl_media"`
		Metadata    slackMetadata `json:"metadata"`
	}{c.shown, c.o.Target.Channel, c.o.Target.ThreadTS, false, false, slackMetadata{markType, map[string]any{"id": mark}}})
	channel, _ := got.Channel.(string)
	id := channel + "/" + got.TS
	if r.Outcome == bridges.Delivered && !slackIDForm.MatchString(id) {
		r = unread(r)
	}
	c.a.count(r)
	if r.Outcome != bridges.Delivered {
		return "", r
	}
	return id, r
}

// find looks for the message of an earlier attempt among the newest ones. found is
// also true if it cannot be looked for now. A bot needs one more scope for it
// (channels:history or the like); without it the message is posted again.
func (c *slackCall) find(mark string) (id string, r bridges.Result, found bool) {
	channel := c.o.Target.Channel
	method, params := "conversations.history", map[string]any{"channel": channel, "limit": 15, "include_all_metadata": true}
	if c.o.Target.ThreadTS != "" { // lists from the oldest reply, so it begins shortly before the event
		method, params["ts"] = "conversations.replies", c.o.Target.ThreadTS
		if at := c.o.Envelope().Timestamp; !at.IsZero() {
			params["oldest"] = strconv.FormatInt(at.Add(-findSkew).Unix(), 10) + ".000000"
		}
	}
	got, r, _ := c.call(method, params)
	if r.Outcome != bridges.Delivered {
		return "", r, r.Outcome == bridges.Wait || r.Outcome == bridges.Failed && r.Error != unreadable
	}
	for _, m := range got.Messages {
		if id := channel + "/" + m.TS; m.Metadata.Type == markType && m.Metadata.Payload["id"] == mark && slackIDForm.MatchString(id) {
			return id, r, true
		}
	}
	return "", r, false
}

// edit changes a message.
func (c *slackCall) edit(id string) (r bridges.Result, lost, left bool) {
	channel, ts, ok := splitSlackID(id)
	if !ok {
		return r, true, false
	}
	_, r, problem := c.call("chat.update", struct {
		slackMessage
		Channel string `json:"channel"`
		TS      string `json:"ts"`
	}{c.shown, channel, ts})
	switch problem {
	case "message_not_found":
		return r, true, false
	case "cant_update_message", "edit_window_closed":
		return r, true, true
	}
	c.a.count(r)
	return r, false, false
}

// remove removes a message.
func (c *slackCall) remove(id string) (bridges.Result, bool) {
	channel, ts, ok := splitSlackID(id)
	if !ok {
		return bridges.Result{}, true
	}
	_, r, problem := c.call("chat.delete", map[string]string{"channel": channel, "ts": ts})
	switch problem {
	case "message_not_found", "channel_not_found", "cant_delete_message", "compliance_exports_prevent_deletion":
		return r, true
	}
	return r, r.Outcome == bridges.Delivered
}

// slackIDForm is the id of a channel and the ts of a message.
var slackIDForm = regexp.MustCompile(`^[A-Z0-9]{2,32}/[0-9]{1,12}\.[0-9]{1,8}$`)

func splitSlackID(id string) (channel, ts string, ok bool) {
	if !slackIDForm.MatchString(id) {
		return "", "", false
	}
	return strings.Cut(id, "/")
}
