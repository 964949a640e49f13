package hooks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/mend"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/notify"
)

// made is what the mapping has made of one webhook.
type made struct {
	item   inbox.Item
	input  *input
	mended bool    // the payload is not what was sent
	drop   bool    // it is not stored: a ping, or the source's filter says so
	failed []error // expressions of the source
}

// item makes an item of a verified body. Its identity is of the bytes that were sent, its
// payload is what can be read of them. The error says what is wrong with the body.
func (c *Compiled) item(h http.Header, sent []byte, p proof) (*made, error) {
	sum := sha256.Sum256(sent)
	body, _ := mend.JSON(sent)
	payload, err := parseBody(body)
	if err != nil {
		return nil, err
	}
	m := &made{input: newInput(h, payload), mended: !bytes.Equal(body, sent)}
	m.item = inbox.Item{Source: c.name, NativeID: hex.EncodeToString(sum[:])}
	if c.kind == KindGitHub {
		m.drop = c.github(m, h.Get("X-GitHub-Event"), h.Get("X-GitHub-Hook-Installation-Target-Type"))
	} else {
		c.webhook(m, p)
	}
	m.item.Cut(bytes.TrimSpace(body))
	return m, nil
}

// webhook fills an item in by the expressions. One that fails leaves the item
// ungrouped, because a wrong group is worse than none.
func (c *Compiled) webhook(m *made, p proof) {
	it := &m.item
	it.OccurredAt = notify.TimeOf(p.at)
	// Of a sender that gives no identity, the same words on another day are news. GitHub's
	// bodies have the time and the id of what happened.
	it.Daily = true
	if validID(p.id) {
		it.NativeID, it.Daily = p.id, false
	}
	if id := m.text(c.nativeID); id != "" {
		it.NativeID, it.Daily = id, false
	}
	it.Summary = sanitize.Line(m.line(c.summary), inbox.MaxSummary)
	it.About, it.Outcome = m.text(c.about), m.outcome(c.outcome)
	group := inbox.Grouping{ResourceRef: m.text(c.resourceRef), EventFamily: m.text(c.eventFamily)}
	if m.yes(c.immediate, false) {
		group.Flush = inbox.FlushImmediate
	}
	group.Breaks = m.breaks(c.breaks)
	m.drop = !m.yes(c.filter, true)
	variant := m.text(c.variant)
	switch {
	case len(m.failed) > 0:
	case group.ResourceRef != "" && group.EventFamily != "":
		it.Grouping = &group
	case group.Flush != inbox.FlushImmediate:
		it.Variant = variant
	}
	it.Link = m.link(c.link, c.linkHosts)
}

// link returns the result of an expression for a link that leads to one of the hosts. It
// decorates: one that fails is counted, and its item loses nothing else.
func (m *made) link(e *expression, hosts []string) string {
	address := m.line(e)
	if address == "" {
		return ""
	}
	link, host, ok := sanitize.Link(address)
	switch {
	case !ok:
		m.failed = append(m.failed, e.wrong("its result is no link: it must be https without a user, in ASCII, of at most %d bytes", sanitize.MaxLink))
		return ""
	case !slices.Contains(hosts, host):
		m.failed = append(m.failed, e.wrong("its result leads to a host that is not in link_hosts"))
		return ""
	}
	return link
}

// validID reports whether s can be an identity of an item.
func validID(s string) bool {
	return s != "" && len(s) <= inbox.MaxIDBytes && utf8.ValidString(s) && sanitize.Line(s, inbox.MaxIDBytes) == s
}

// text returns the result of an expression for an identity; "" if there is no
// expression, its result is empty, or it failed.
func (m *made) text(e *expression) string {
	s := m.line(e)
	if m.mended && strings.Contains(s, mend.Replacement) {
		m.failed = append(m.failed, e.wrong("its result is not UTF-8, and could be that of something else"))
		return ""
	}
	if s != "" && !validID(s) {
		m.failed = append(m.failed, e.wrong("its result must be one line of at most %d bytes", inbox.MaxIDBytes))
		return ""
	}
	return s
}

// outcome returns the result of an expression for an outcome.
func (m *made) outcome(e *expression) string {
	s := m.line(e)
	if s != "" && !inbox.ValidOutcome(s) {
		m.failed = append(m.failed, e.wrong("its result must be 1 to %d of a-z _", inbox.MaxOutcome))
		return ""
	}
	return s
}

// line returns the result of an expression as text.
func (m *made) line(e *expression) string {
	if e == nil {
		return ""
	}
	v, err := e.run(m.input)
	if err != nil {
		m.failed = append(m.failed, err)
		return ""
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	}
	m.failed = append(m.failed, e.wrong("its result must be a text or a whole number"))
	return ""
}

// yes returns the result of a condition; otherwise is that of none, or of one that
// failed.
func (m *made) yes(e *expression, otherwise bool) bool {
	if e == nil {
		return otherwise
	}
	v, err := e.run(m.input)
	if b, ok := v.(bool); ok && err == nil {
		return b
	}
	if err == nil {
		err = e.wrong("its result must be true or false")
	}
	m.failed = append(m.failed, err)
	return otherwise
}

func (m *made) breaks(e *expression) inbox.Breaks {
	switch b := inbox.Breaks(m.line(e)); b {
	case "", inbox.BreaksNone, inbox.BreaksBefore, inbox.BreaksAfter:
		return b
	}
	m.failed = append(m.failed, e.wrong("its result must be none, before or after"))
	return ""
}
