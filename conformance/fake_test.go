package conformance

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fake is a small server that follows the rules of the envelope and knows a few
// methods, with one fault at a time switched on. It shows that the suite finds
// faults. Without a fault it must pass the suite.
type fake struct {
	fault string

	mu      sync.Mutex
	threads map[string]string
	log     [][]byte
	wake    chan struct{}
}

func newFake(fault string) *fake {
	return &fake{fault: fault, threads: map[string]string{}, wake: make(chan struct{})}
}

const fakeFrame = 64 << 10

// answer composes a response with the id's own bytes.
func (f *fake) answer(id jsontext.Value, key, value string) []byte {
	switch {
	case f.fault == "drops ids":
		id = jsontext.Value("null")
	case f.fault == "mends ids" && len(id) > 0:
		var v any
		_ = json.Unmarshal(id, &v)
		id, _ = json.Marshal(v)
	case f.fault == "two versions":
		return fmt.Appendf(nil, `{"jsonrpc":"1.0","id":%s,%q:%s}`, id, key, value)
	}
	if id == nil {
		id = jsontext.Value("null")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%q:%s}`, id, key, value)
}

func (f *fake) refuse(id jsontext.Value, code int, kind, more string) []byte {
	if f.fault == "no kinds" {
		return f.answer(id, "error", fmt.Sprintf(`{"code":%d,"message":"no"}`, code))
	}
	return f.answer(id, "error", fmt.Sprintf(`{"code":%d,"message":"no","data":{"kind":%q,"retryable":false%s}}`, code, kind, more))
}

var wholeNumber = regexp.MustCompile(`^-?[0-9]+$`)

// frame answers one line: a message or a batch. Nil means no answer.
func (f *fake) frame(line []byte) []byte {
	if len(line) > fakeFrame {
		return f.refuse(nil, -32600, "frame_too_large", "")
	}
	value := jsontext.Value(line)
	loose := []jsontext.Options{jsontext.AllowDuplicateNames(true)}
	if !value.IsValid(loose...) {
		// The decoder has its own limit of depth, which is no syntax error.
		if bytes.Count(line, []byte("[")) > 1000 {
			return f.refuse(nil, -32600, "invalid_request", "")
		}
		var id []byte
		if value.IsValid(append(loose, jsontext.AllowInvalidUTF8(true))...) && bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","id":1,`)) {
			id = []byte("1") // only characters are wrong
		}
		return f.refuse(id, -32700, "parse_error", "")
	}
	if deep(line) > 64 && f.fault != "any depth" {
		return f.refuse(nil, -32600, "invalid_request", "")
	}
	if value.Kind() != '[' {
		return f.single(value, nil)
	}
	var members []jsontext.Value
	if err := json.Unmarshal(value, &members, loose...); err != nil || len(members) == 0 || len(members) > 100 {
		return f.refuse(nil, -32600, "invalid_request", "")
	}
	seen := map[string]bool{}
	var out [][]byte
	for _, m := range members {
		if b := f.single(m, seen); b != nil {
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		return nil
	}
	if f.fault == "unwraps batches" {
		return out[0]
	}
	return slices.Concat([]byte("["), bytes.Join(out, []byte(",")), []byte("]"))
}

func deep(line []byte) int {
	at, most, quoted := 0, 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			at++
			most = max(most, at)
		case c == ']' || c == '}':
			at--
		}
	}
	return most
}

// single answers one message.
func (f *fake) single(value jsontext.Value, seen map[string]bool) []byte {
	var id, version, method, params jsontext.Value
	have := map[string]int{}
	dec := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true))
	if dec.PeekKind() != '{' {
		return f.refuse(nil, -32600, "invalid_request", "")
	}
	_, _ = dec.ReadToken()
	for dec.PeekKind() == '"' {
		name, _ := dec.ReadToken()
		key := name.String()
		if f.fault == "folds case" {
			key = strings.ToLower(key)
		}
		v, _ := dec.ReadValue()
		v = v.Clone()
		have[key]++
		switch key {
		case "id":
			id = v
		case "jsonrpc":
			version = v
		case "method":
			method = v
		case "params":
			params = v
		}
	}
	if have["result"]+have["error"] > 0 && have["method"] == 0 {
		return nil
	}
	if id != nil && id.Kind() != '"' && id.Kind() != 'n' && !wholeNumber.Match(id) {
		return f.refuse(nil, -32600, "invalid_request", "")
	}
	bad := string(version) != `"2.0"` && f.fault != "any version"
	for _, key := range []string{"id", "jsonrpc", "method", "params"} {
		bad = bad || have[key] > 1 && f.fault != "last key wins"
	}
	name, ok := text(method)
	if bad || !ok {
		return f.refuse(id, -32600, "invalid_request", "")
	}
	if k := params.Kind(); params != nil && k != '{' && k != '[' && k != 'n' {
		return f.refuse(id, -32600, "invalid_request", "")
	}
	if id != nil && seen != nil {
		if seen[string(id)] {
			return f.refuse(id, -32600, "duplicate_id", "")
		}
		seen[string(id)] = true
	}
	out := f.call(id, name, params)
	if id == nil && f.fault != "answers notifications" {
		return nil
	}
	return out
}

var fakeParams = map[string]string{
	"holon/status": "", "rpc.discover": "", "holon/resume": "timeout_seconds", "thread/list": "limit:n",
	"thread/read": "thread_id:s!", "thread/close": "thread_id:s!", "thread/pause": "thread_id:s!",
	"thread/start": "thread_id:s title:s", "event/list": "after_seq:i limit", "turn/start": "thread_id:s input:a",
	"initialize": "client_info",
}

// call checks the params by a tiny table and executes the method.
func (f *fake) call(id jsontext.Value, name string, params jsontext.Value) []byte {
	shape, known := fakeParams[name]
	if !known {
		return f.refuse(id, -32601, "method_not_found", `,"method":`+quote(name))
	}
	invalid := func(field string) []byte {
		return f.refuse(id, -32602, "invalid_params", `,"field":`+quote(field))
	}
	if params.Kind() == '[' {
		return invalid("")
	}
	args := map[string]any{}
	if params.Kind() == '{' && json.Unmarshal(params, &args) != nil {
		return invalid("thread_id")
	}
	if info, ok := args["client_info"].(map[string]any); ok && info["nope"] != nil {
		return invalid("client_info.nope")
	}
	for _, spec := range strings.Fields(shape) {
		field, kind, _ := strings.Cut(spec, ":")
		v, there := args[field]
		_, isString := v.(string)
		n, isNumber := v.(float64)
		_, isArray := v.([]any)
		wrong := strings.HasPrefix(kind, "s") && !isString || kind == "n" && !isNumber ||
			kind == "i" && (!isNumber || n != float64(int(n))) || kind == "a" && !isArray
		if there && wrong || !there && strings.HasSuffix(kind, "!") && f.fault != "needs nothing" {
			if _, folded := args["THREAD_ID"]; !folded {
				return invalid(field)
			}
		}
	}
	for key := range args {
		if key != "_meta" && key != "extended_context" && !slices.Contains(strings.Fields(regexp.MustCompile(`:\S*`).ReplaceAllString(shape, "")), key) && (f.fault != "takes unknown params" || key == "agent") {
			return invalid(key)
		}
	}
	thread, _ := args["thread_id"].(string)
	return f.act(id, name, thread)
}

func (f *fake) act(id jsontext.Value, name, thread string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	state, there := f.threads[thread]
	switch name {
	case "thread/start":
		if thread == "" {
			thread = fmt.Sprintf("thread_%d", len(f.threads)+1)
		}
		f.threads[thread] = "running"
		f.append("thread/started", thread)
	case "thread/read", "thread/close", "thread/pause":
		if !there {
			return f.refuse(id, -32002, "thread_not_found", "")
		}
		if name == "thread/pause" && state == "closed" {
			return f.refuse(id, -32004, "thread_closed", "")
		}
		if name == "thread/close" {
			f.threads[thread] = "closed"
			f.append("thread/closed", thread)
		}
	case "initialize":
		return f.answer(id, "result", `{"protocol_version":"x","limits":{"max_frame_bytes":65536}}`)
	case "rpc.discover":
		return f.answer(id, "result", `{"openrpc":"1.3.2","methods":[{"name":"thread/start"}],
			"x-notifications":[{"name":"thread/started"},{"name":"thread/closed"},{"name":"stream/opened"}]}`)
	}
	return f.answer(id, "result", fmt.Sprintf(`{"state":"running","latest_seq":%d,"seq":%d,"thread_id":%q}`, len(f.log), len(f.log), thread))
}

// append adds an event; the lock is held.
func (f *fake) append(method, thread string) {
	if f.fault == "composes names" {
		method = strings.ReplaceAll(method, "/", "_")
	}
	seq := len(f.log) + 1
	if f.fault == "skips a seq" && seq > 1 {
		seq++
	}
	f.log = append(f.log, fmt.Appendf(nil,
		`{"jsonrpc":"2.0","method":%q,"params":{"seq":%d,"thread_seq":1,"thread_id":%q,"timestamp":"2026-01-01T00:00:00.000Z"}}`+"\n", method, seq, thread))
	close(f.wake)
	f.wake = make(chan struct{})
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/rpc":
		if r.Method != "POST" {
			w.Header().Set("Allow", "POST")
			w.WriteHeader(405)
			return
		}
		body, _ := io.ReadAll(r.Body)
		out := f.frame(body)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case f.fault == "always 200":
		case out == nil:
			w.WriteHeader(204)
		case bytes.Contains(out, []byte("frame_too_large")):
			w.WriteHeader(413)
		case out[0] == '{' && (bytes.Contains(out, []byte(`"code":-32700`)) || bytes.Contains(out, []byte(`"code":-32600`))):
			w.WriteHeader(400)
		}
		_, _ = w.Write(out)
	case "/rpc/stream":
		f.stream(w, r)
	default:
		http.NotFound(w, r)
	}
}

// stream serves both directions, always from the present on.
func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex()
	var mu sync.Mutex
	write := func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = w.Write(b)
		_ = control.Flush()
	}
	f.mu.Lock()
	at := len(f.log)
	f.mu.Unlock()
	write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"stream/opened","params":{"latest_seq":%d}}`+"\n", at))
	var reading sync.WaitGroup
	if r.Method == "POST" {
		reading.Go(func() { f.serveLines(r.Body, write) })
	}
	for {
		f.mu.Lock()
		more, wake := f.log[at:], f.wake
		at = len(f.log)
		f.mu.Unlock()
		for _, line := range more {
			write(line)
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			_ = r.Body.Close()
			reading.Wait()
			return
		}
	}
}

func (f *fake) serveLines(r io.Reader, write func([]byte)) {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		line = bytes.TrimSpace(line)
		if len(line) > 0 && (err == nil || f.fault != "needs the last LF") {
			if out := f.frame(line); out != nil {
				write(append(out, '\n'))
			} else if f.fault == "dies of bad frames" {
				// The rest is read but not served, since net/http notices a
				// disconnect only at the end of the body.
				_, _ = io.Copy(io.Discard, lines)
				return
			}
		}
		if err != nil {
			return
		}
	}
}
