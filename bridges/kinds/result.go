package kinds

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed82539d15/holon/bridges"
)

const (
	// shownAnswer is how much of an answer a result has.
	shownAnswer = 1 << 10
	// maxWait bounds what a target may ask for with Retry-After.
	maxWait = 24 * time.Hour
	// minSecret is the length from which a credential is looked for in answers: a
	// topic such as "ci" is no secret.
	minSecret = 4
)

// sender is what all HTTP kinds have: the client, and what must not be shown.
type sender struct {
	client       *Client
	allowPrivate bool
	secrets      []string
}

// String returns nothing about the bridge, so that no log shows a secret.
func (*sender) String() string { return "channel of a bridge" }

// GoString returns the same as String.
func (s *sender) GoString() string { return s.String() }

// attempt is one call of Send.
type attempt struct {
	*sender
	ctx context.Context
	// arrived says that a request of this attempt may have had an effect.
	arrived bool
}

// begin starts an attempt, which ends in time. The caller calls end.
func (s *sender) begin(ctx context.Context) (a *attempt, end func()) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	return &attempt{sender: s, ctx: ctx}, cancel
}

// do sends a request of the attempt.
func (a *attempt) do(r request) answer { return a.client.do(a.ctx, a.allowPrivate, r) }

// change sends a request that changes something at the target, and says what came
// of it by its status.
func (a *attempt) change(r request) (answer, bridges.Result) {
	got := a.do(r)
	result := a.judge(got)
	a.count(result)
	return got, result
}

// count remembers that a request may have had an effect.
func (a *attempt) count(r bridges.Result) {
	a.arrived = a.arrived || r.Arrived || r.Outcome == bridges.Delivered
}

// judge returns the meaning of an answer by its status, for all HTTP kinds.
func (s *sender) judge(a answer) bridges.Result {
	r := bridges.Result{Status: a.status, Answer: s.shown(a.body), Arrived: a.failure != "" && a.sent}
	if a.failure != "" {
		r.Outcome, r.Error, r.Unhealthy = bridges.Failed, a.failure, a.failure != "canceled"
		return r
	}
	if a.status < 200 || a.status > 299 {
		r.Error = "status " + strconv.Itoa(a.status)
	}
	waits := a.header.Get("Retry-After") != ""
	switch {
	case a.status == http.StatusTooManyRequests, a.status == http.StatusServiceUnavailable && waits:
		r.Outcome, r.RetryAfter = bridges.Wait, retryAfter(a.header, time.Now())
		r.Unhealthy = a.status >= 500
		r.Arrived = r.Unhealthy
	case a.status == http.StatusGone:
		r.Outcome = bridges.Gone
	case a.status >= 200 && a.status <= 299:
		r.Outcome = bridges.Delivered
	case a.status >= 400 && a.status <= 499:
		r.Outcome = bridges.Refused
	default:
		r.Outcome, r.Unhealthy = bridges.Failed, a.status >= 500
		// 303 means that it was accepted, and that the answer is elsewhere. After
		// 5xx it may have been accepted or not.
		r.Arrived = r.Unhealthy || a.status == http.StatusSeeOther
	}
	return r
}

// retryAfter reads Retry-After: seconds or a date (RFC 9110, section 10.2.3). 0 =
// it is absent or cannot be read.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(maxWait/time.Second) { // also a number without end
			return maxWait
		}
		return bounded(time.Duration(seconds) * time.Second)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return bounded(at.Sub(now))
}

// bounded keeps a wait that a target asked for between a second and maxWait.
func bounded(d time.Duration) time.Duration { return min(max(d, time.Second), maxWait) }

// unreadable is the error of an answer that is not what the target's API says.
const unreadable = "unreadable_answer"

// unread returns the result of an answer that says nothing although its status says
// that the request was carried out.
func unread(r bridges.Result) bridges.Result {
	r.Outcome, r.Error, r.Unhealthy, r.Arrived = bridges.Failed, unreadable, true, true
	return r
}

// shown returns the beginning of an answer, without secrets: those of the bridge in any
// form in which a target might send them back, and what looks like one.
func (s *sender) shown(body []byte) []byte {
	if len(body) == 0 {
		return nil
	}
	return show(string(body), s.secrets)
}

func show(text string, secrets []string) []byte {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, bridges.Redacted)
	}
	for _, secret := range secrets { // the answer may have been cut in the middle of one
		for n := min(len(secret)-1, len(text)); n >= minSecret; n-- {
			if strings.HasSuffix(text, secret[:n]) {
				text = text[:len(text)-n] + bridges.Redacted
				break
			}
		}
	}
	text = bridges.Redact(strings.ToValidUTF8(text, "\uFFFD"))
	return []byte(cut(text, shownAnswer))
}

// cut cuts a text to at most n bytes, at a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// forms returns the forms in which a secret may come back: as it is, escaped in JSON
// and in URLs, and in Base64.
func forms(secrets ...string) (all []string) {
	for _, secret := range secrets {
		if len(secret) < minSecret {
			continue
		}
		for _, form := range []string{
			secret, strings.ReplaceAll(secret, "/", `\/`), url.QueryEscape(secret), url.PathEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
		} {
			if !slices.Contains(all, form) {
				all = append(all, form)
			}
		}
	}
	return all
}
