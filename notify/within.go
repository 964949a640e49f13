package notify

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json"
)

// Members are threads that can be asked for, but not listed. Whether a thread is
// one of them never changes, from its first event on, so a reader needs no news of
// new members. It may be asked from many goroutines. An event without a thread
// belongs to none: it is asked with "".
type Members interface {
	Has(ctx context.Context, threadID string) (bool, error)
}

// Both returns the threads that are members of a and of b; nil stands for every thread.
func Both(a, b Members) Members {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return both{a, b}
}

type both struct{ a, b Members }

// Has implements Members.
func (m both) Has(ctx context.Context, threadID string) (bool, error) {
	ok, err := m.a.Has(ctx, threadID)
	if err != nil || !ok {
		return false, err
	}
	return m.b.Has(ctx, threadID)
}

// KeepWithin leaves only the events of these threads in the page, which must have
// Events and no Frames; nil keeps all.
func (p *Page) KeepWithin(ctx context.Context, m Members) error {
	if m == nil {
		return nil
	}
	kept := p.Events[:0]
	for i := range p.Events {
		id, err := threadOf(p.Events[i].Params)
		if err != nil {
			return err
		}
		ok, err := m.Has(ctx, id)
		if err != nil {
			return err
		}
		if ok {
			kept = append(kept, p.Events[i])
		}
	}
	clear(p.Events[len(kept):])
	p.Events = kept
	return nil
}

// threadOf reads the thread of an event from its params, where Draft.Event has put
// it behind two numbers. "" is an event of the whole log.
func threadOf(params []byte) (string, error) {
	rest, ok := afterNumber(params, `{"seq":`)
	if ok {
		rest, ok = afterNumber(rest, `,"thread_seq":`)
	}
	if ok {
		rest, ok = bytes.CutPrefix(rest, []byte(`,"thread_id":"`))
	}
	if ok {
		if end := bytes.IndexAny(rest, "\"\\"); end >= 0 && rest[end] == '"' {
			return string(rest[:end]), nil
		}
	}
	var h struct {
		ThreadID string `json:"thread_id"`
	}
	err := json.Unmarshal(params, &h)
	return h.ThreadID, err
}

// afterNumber returns what follows a name and a number.
func afterNumber(b []byte, name string) (rest []byte, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte(name))
	if !ok {
		return nil, false
	}
	return bytes.TrimLeft(b, "0123456789"), true
}
