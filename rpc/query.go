package rpc

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/internal/nearest"
)

// parseStart reads the query and headers of a stream: where to start and what
// to send.
func parseStart(r *http.Request) (*api.StreamStart, *api.Error) {
	if bad := onlyParameters(r.URL.RawQuery, "after_seq", "consumer", "thread_id", "within_thread_id", "method", "collapse", "content", "whole_thread_id"); bad != nil {
		return nil, bad
	}
	q := r.URL.Query()
	filter, err := api.FilterOf(q["thread_id"], q["method"])
	if err == nil {
		err = api.CheckWithin(q["within_thread_id"])
	}
	if err != nil {
		return nil, ofQuery(err.(*api.Error))
	}
	at := &api.StreamStart{Filter: filter, Within: q["within_thread_id"]}
	var bad *api.Error
	if at.Collapse, bad = optionOf(q["collapse"], "collapse", api.CollapseSuperseded); bad != nil {
		return nil, bad
	}
	if at.Summary, bad = optionOf(q["content"], "content", api.StreamSummary); bad != nil {
		return nil, bad
	}
	at.Whole = q["whole_thread_id"]
	if err := api.CheckWhole(at.Whole, at.Summary); err != nil {
		return nil, ofQuery(err.(*api.Error))
	}
	switch c := q["consumer"]; {
	case len(c) > 1:
		return nil, api.Invalid("consumer", "malformed", "give one consumer")
	case len(c) == 1:
		if at.Consumer, err = api.ConsumerOf(c[0]); err != nil {
			return nil, err.(*api.Error)
		}
	}
	field, values := "after_seq", q["after_seq"]
	if header := r.Header.Values("Last-Event-ID"); len(header) > 0 {
		field, values = "Last-Event-ID", header
	}
	switch len(values) {
	case 0:
		return at, nil
	case 1:
	default:
		return nil, api.InvalidCursor(field, "give one cursor")
	}
	if values[0] == "" {
		return nil, api.InvalidCursor(field, "it is empty: leave it out to begin at the newest event, or write 0 for the oldest")
	}
	var ok bool
	if at.LogID, at.After, ok = api.ParseCursor(values[0]); !ok {
		return nil, api.InvalidCursor(field, "a cursor is a seq such as 0 or 42, or <log_id>:42")
	}
	at.Given = true
	return at, nil
}

// optionOf reads a parameter that is absent or has its only value, once.
func optionOf[T interface {
	~string
	Asked() (bool, error)
}](values []string, name string, only T) (asked bool, bad *api.Error) {
	switch {
	case len(values) == 0:
		return false, nil
	case len(values) > 1 || values[0] == "":
		return false, api.Invalid(name, "malformed", "it is %s, once", string(only))
	}
	asked, err := T(values[0]).Asked()
	if err != nil {
		return false, err.(*api.Error)
	}
	return asked, nil
}

// ofQuery names the query parameter that an error is about: they have other names than
// the params of stream/subscribe.
func ofQuery(e *api.Error) *api.Error {
	field := strings.NewReplacer("thread_ids", "thread_id", "methods", "method").Replace(e.Data.Field)
	if field != e.Data.Field {
		e.Message, e.Data.Field = field+strings.TrimPrefix(e.Message, e.Data.Field), field
	}
	return e
}

// onlyParameters refuses a query with parameters other than these.
func onlyParameters(raw string, known ...string) *api.Error {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return api.Invalid("query", "malformed", "the query cannot be read")
	}
	for name := range q {
		found := false
		for _, k := range known {
			found = found || k == name
		}
		if !found {
			if len(name) > 128 {
				name = name[:128]
			}
			return api.Invalid(strings.ToValidUTF8(name, "\ufffd"), "unknown_field", "there is no such query parameter here%s", nearest.Hint(name, known))
		}
	}
	return nil
}

// accepts reports whether Accept allows the type (RFC 9110, section 12.5.1):
// the most specific range that matches decides. Without the header everything
// is allowed; a range that cannot be read excludes nothing.
func accepts(headers []string, contentType string) bool {
	kind, _, _ := strings.Cut(contentType, "/")
	best, quality, any := -1, 0.0, false
	for _, header := range headers {
		for _, part := range strings.Split(header, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			media, params, err := mime.ParseMediaType(part)
			if err != nil || !strings.Contains(media, "/") {
				return true
			}
			any = true
			specific := -1
			switch media {
			case contentType:
				specific = 2
			case kind + "/*":
				specific = 1
			case "*/*":
				specific = 0
			}
			q := 1.0
			if s, ok := params["q"]; ok {
				if v, err := strconv.ParseFloat(s, 64); err == nil {
					q = v
				}
			}
			if specific > best {
				best, quality = specific, q
			}
		}
	}
	return !any || best >= 0 && quality > 0
}
