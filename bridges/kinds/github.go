package kinds

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/bridges"
)

const (
	// maxComment bounds the text of a comment, which has at most 65,536 characters.
	maxComment = 40 << 10
	// gitHubVersion is the version of the API
	// (https://docs.github.com/rest/about-the-rest-api/api-versions).
	gitHubVersion = "2022-11-28"
	// secondaryWait is how long GitHub wants clients to wait when it does not say
	// (https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
	secondaryWait = time.Minute
)

// github writes comments on issues and pull requests. Each ends with a hidden mark,
// by which it is found again if the answer to it was lost.
type github struct {
	sender
	api   *url.URL
	token string
	// account is the id of the account of the token; 0 = not known yet.
	account atomic.Int64
}

func newGitHub(c Config, client *Client) *github {
	return &github{
		sender: sender{client: client, allowPrivate: c.AllowPrivate, secrets: forms(c.Secret)},
		api:    mustURL(cmp.Or(c.APIURL, defaultGitHub)), token: c.Secret,
	}
}

// Edits returns true.
func (*github) Edits() bool { return true }

// Send shows the envelope as a comment.
func (g *github) Send(ctx context.Context, o *bridges.Outgoing) bridges.Result {
	if (&Config{Kind: bridges.KindGitHub}).CheckTarget(o.Target) != nil { // it becomes a path
		return bridges.Result{Outcome: bridges.Refused, Error: "target", RemoteIDs: remoteIDs(o.Cards)}
	}
	a, end := g.begin(ctx)
	defer end()
	return deliver(a, &gitHubCall{g: g, a: a, o: o, shown: comment(o.Envelope())}, o)
}

// gitHubCall is one attempt.
type gitHubCall struct {
	g     *github
	a     *attempt
	o     *bridges.Outgoing
	shown string
}

// comment returns the text of a comment. Text of agents and users is in code, where GitHub makes
// no mentions, references, links or markup. The only link is to the console: one to the page of an
// entry would leave a mention at that, so that is text.
func comment(e *bridges.Envelope) string {
	m := describe(e)
	head := "**" + m.what + "**"
	if m.title != "" {
		head += " " + codeSpan(m.title)
	}
	parts := []string{head}
	var details []string
	for _, d := range m.details {
		details = append(details, "- "+d.label+": "+codeSpan(d.value))
	}
	if len(details) > 0 {
		parts = append(parts, strings.Join(details, "\n"))
	}
	if text := shorten(lines(m.text), maxComment); text != "" {
		fence := backticks(text, 3)
		parts = append(parts, fence+"text\n"+text+"\n"+fence)
	}
	if what, command, found := strings.Cut(m.next, ": "); found {
		parts = append(parts, what+": "+codeSpan(command))
	} else if m.next != "" {
		parts = append(parts, m.next)
	}
	if m.page != "" {
		parts = append(parts, "See "+codeSpan(m.page))
	}
	if m.link != "" {
		parts = append(parts, "["+linkLabel+"](<"+m.link+">)")
	}
	return strings.Join(parts, "\n\n")
}

// codeSpan shows one line as it is.
func codeSpan(line string) string {
	ticks := backticks(line, 1)
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") {
		line = " " + line + " " // these spaces are not shown
	}
	return ticks + line + ticks
}

// backticks returns a longer row of backticks than any in a text, and at least n.
func backticks(text string, n int) string {
	run := 0
	for _, c := range text {
		if c != '`' {
			run = 0
			continue
		}
		if run++; run >= n {
			n = run + 1
		}
	}
	return strings.Repeat("`", n)
}

// issue returns the address of the issue, or of what is below it.
func (c *gitHubCall) issue(more ...string) *url.URL {
	owner, name, _ := strings.Cut(c.o.Target.Repository, "/")
	return c.g.api.JoinPath("repos", owner, name, "issues").JoinPath(more...)
}

func (c *gitHubCall) comments() *url.URL {
	return c.issue(strconv.FormatInt(c.o.Target.Number, 10), "comments")
}

// call sends a request and judges its answer.
func (c *gitHubCall) call(method string, to *url.URL, params any) (answer, bridges.Result) {
	var body []byte
	if params != nil {
		var err error
		if body, err = json.Marshal(params); err != nil {
			return answer{}, bridges.Result{Outcome: bridges.Refused, Error: "request"}
		}
	}
	h := authorized(c.g.token)
	h.Set("Accept", "application/vnd.github+json")
	h.Set("X-Github-Api-Version", gitHubVersion)
	got := c.a.do(request{method: method, url: to, body: body, header: h})
	r := c.a.judge(got)
	if wait, limited := rateLimit(got, time.Now()); limited {
		r.Outcome, r.RetryAfter, r.Unhealthy, r.Arrived = bridges.Wait, wait, false, false
	}
	return got, r
}

// rateLimit reports whether an answer says that there were too many requests, and
// for how long to wait. GitHub answers 403 or 429 to that.
func rateLimit(a answer, now time.Time) (wait time.Duration, limited bool) {
	if a.status != http.StatusForbidden && a.status != http.StatusTooManyRequests {
		return 0, false
	}
	if wait := retryAfter(a.header, now); wait > 0 {
		return wait, true
	}
	if a.header.Get("X-Ratelimit-Remaining") == "0" {
		if reset, err := strconv.ParseInt(a.header.Get("X-Ratelimit-Reset"), 10, 64); err == nil {
			return bounded(time.Duration(min(max(reset-now.Unix(), 0), int64(maxWait/time.Second))) * time.Second), true
		}
		return secondaryWait, true
	}
	text := strings.ToLower(string(a.body))
	limited = a.status == http.StatusTooManyRequests || strings.Contains(text, "secondary rate limit") || strings.Contains(text, "abuse detection")
	return secondaryWait, limited
}

// change sends a request that changes a comment.
func (c *gitHubCall) change(method string, to *url.URL, params any) (answer, bridges.Result) {
	got, r := c.call(method, to, params)
	c.a.count(r)
	return got, r
}

// gitHubComment has the members of a comment that matter.
type gitHubComment struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
	User struct {
		ID int64 `json:"id"`
	} `json:"user"`
}

// body returns the comment with its mark.
func (c *gitHubCall) body(card bridges.Card) map[string]string {
	return map[string]string{"body": c.shown + "\n\n" + markOf(card, c.o)}
}

// post writes a new comment, unless an earlier attempt has.
func (c *gitHubCall) post(card bridges.Card) (string, bridges.Result) {
	if c.o.Arrived {
		if id, r, found := c.find(markOf(card, c.o)); found {
			return id, r
		}
	}
	got, r := c.change(http.MethodPost, c.comments(), c.body(card))
	if r.Outcome != bridges.Delivered {
		return "", r
	}
	id := firstID(got.body) // the answer may be cut off after the id, because it has the whole comment
	if id <= 0 {
		return "", unread(r)
	}
	return strconv.FormatInt(id, 10), r
}

// edit changes a comment. One that is not there any more is lost.
func (c *gitHubCall) edit(id string) (r bridges.Result, lost, left bool) {
	if !isNumber(id) {
		return r, true, false
	}
	card := c.cardOf(id)
	_, r = c.change(http.MethodPatch, c.issue("comments", id), c.body(card))
	return r, r.Status == http.StatusNotFound, false
}

// cardOf returns the card that shows a comment.
func (c *gitHubCall) cardOf(id string) bridges.Card {
	for _, s := range c.o.Cards {
		if shown, _ := splitID(s.RemoteID); shown == id {
			return s
		}
	}
	return bridges.Card{}
}

// remove removes a comment.
func (c *gitHubCall) remove(id string) (bridges.Result, bool) {
	if !isNumber(id) {
		return bridges.Result{}, true
	}
	_, r := c.change(http.MethodDelete, c.issue("comments", id), nil)
	return r, r.Outcome == bridges.Delivered || r.Status == http.StatusNotFound || r.Outcome == bridges.Gone
}

func isNumber(s string) bool { return s != "" && len(s) < 20 && strings.Trim(s, "0123456789") == "" }
