package conformance

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// samplesPerName bounds the kept messages of one method: the checks look at
// kinds of messages, not at every one.
const samplesPerName = 300

// observer keeps samples of everything the server sent, for the checks of all
// messages: names, forms and schemas. All goroutines may use it.
type observer struct {
	mu            sync.Mutex
	params        map[string][]jsontext.Value // of requests that succeeded
	results       map[string][]jsontext.Value
	notifications map[string][]jsontext.Value
	errors        []jsontext.Value
	flaws         []string
}

func newObserver() *observer {
	return &observer{
		params:        map[string][]jsontext.Value{},
		results:       map[string][]jsontext.Value{},
		notifications: map[string][]jsontext.Value{},
	}
}

// sent is a request that is kept until it is answered.
type sent struct {
	method string
	params jsontext.Value
}

// response records the answer to a request; the request may be unknown.
func (o *observer) response(req sent, m *message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(m)
	if m.failure != nil {
		if len(o.errors) < samplesPerName {
			o.errors = append(o.errors, m.failure)
		}
		return
	}
	if req.method == "" {
		return
	}
	keep(o.results, req.method, m.result)
	if req.params != nil && req.params.Kind() == '{' {
		keep(o.params, req.method, req.params)
	}
}

// notification records a notification.
func (o *observer) notification(m *message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(m)
	keep(o.notifications, m.method, m.params)
}

// broken records a line that is no message.
func (o *observer) broken(line []byte, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.flaws) < 20 {
		o.flaws = append(o.flaws, err.Error()+": "+clip(line, 200))
	}
}

func (o *observer) note(m *message) {
	for _, flaw := range m.flaws() {
		if len(o.flaws) < 20 {
			o.flaws = append(o.flaws, flaw+": "+clip(m.raw, 200))
		}
	}
}

func keep(where map[string][]jsontext.Value, name string, value jsontext.Value) {
	if len(where[name]) < samplesPerName {
		where[name] = append(where[name], value)
	}
}

// view is a copy of what was seen, for a check.
type view struct {
	params, results, notifications map[string][]jsontext.Value
	errors                         []jsontext.Value
	flaws                          []string
}

func (o *observer) look() view {
	o.mu.Lock()
	defer o.mu.Unlock()
	cp := func(m map[string][]jsontext.Value) map[string][]jsontext.Value {
		out := maps.Clone(m)
		for k := range out {
			out[k] = slices.Clone(out[k])
		}
		return out
	}
	return view{cp(o.params), cp(o.results), cp(o.notifications), slices.Clone(o.errors), slices.Clone(o.flaws)}
}

// requests reads a message or a batch that the suite is about to send, and
// returns its requests by the bytes of the id. Bytes that are no request give
// nothing.
func requests(body []byte) map[string]sent {
	out := map[string]sent{}
	add := func(m *message) {
		if m.method != "" && m.id != nil {
			out[string(m.id)] = sent{m.method, m.params}
		}
	}
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		batch, err := parseBatch(body)
		if err == nil {
			for _, m := range batch {
				add(m)
			}
		}
		return out
	}
	if m, err := parseMessage(body); err == nil {
		add(m)
	}
	return out
}
