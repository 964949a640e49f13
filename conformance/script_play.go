package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// player plays the lines of one check.
type player struct {
	*probe
	scripts *scripts
	names   scope
	// stream is the two-way stream of a script that waits for events; others
	// use POST /rpc.
	stream *duplex
	// open are the answers since the last expectation; judged says that they
	// have been compared with one.
	open   []answered
	judged bool
}

// answered is a request of a script and its answer.
type answered struct {
	line   line
	method string // empty if it is no plain request
	m      *message
	reply  *reply // of HTTP, nil on a stream
}

// play plays a script from its first line to its last.
func (p *probe) play(s *scripts, lines []line) {
	pl := &player{probe: p, scripts: s, names: scope{"base": p.end.base, "host": p.end.host, "server-token": p.end.token}}
	if waits(s, lines) {
		pl.stream = p.duplex("")
		pl.stream.opened()
	}
	pl.lines(lines)
	pl.mustSucceed()
}

// waits reports whether a script waits for events.
func waits(s *scripts, lines []line) bool {
	return slices.ContainsFunc(lines, func(l line) bool {
		return l.verb == "~" || l.verb == "-" || l.verb == "=" && waits(s, s.sections[l.what])
	})
}

func (pl *player) lines(lines []line) {
	for _, l := range lines {
		pl.line(l)
	}
}

func (pl *player) line(l line) {
	switch l.verb {
	case ">", ">>":
		pl.send(l)
		if l.then != nil {
			pl.judge(pl.open[len(pl.open)-1], *l.then)
			pl.open = pl.open[:len(pl.open)-1]
		}
	case "=":
		section, ok := pl.scripts.sections[l.what]
		if !ok {
			panic(verdict{Error, fmt.Sprintf("there is no section %q", l.what)})
		}
		pl.names["text"] = unquote(`"` + pl.fill(l, l.more) + `"`)
		pl.lines(section)
	case "~":
		pl.mustSucceed()
		m := pl.stream.await(l.text, 0, func(m *message) bool { return pl.chooses(l, m) })
		pl.fits(l.text, l, m.args())
	case "-":
		pl.mustSucceed()
		pl.call(pl.stream, plain, nil) // events of the requests come before this answer
		for _, m := range pl.stream.all() {
			pl.must(!pl.chooses(l, m), "%s: it came: %s", l.text, clip(m.raw, 300))
		}
	default:
		for _, a := range pl.open {
			pl.judge(a, l)
		}
		pl.judged = true
	}
}

// mustSucceed checks that the requests without an expectation have succeeded.
func (pl *player) mustSucceed() {
	for _, a := range pl.open {
		if !pl.judged {
			pl.judge(a, line{verb: "<"})
		}
	}
	pl.open = nil
}

// fill replaces the names in a text of a line by their values. A name that
// begins with new- and has no value gets an unused one.
func (pl *player) fill(l line, text string) string {
	for _, word := range anyName.FindAllString(text, -1) {
		name := strings.Trim(word, `"<>`)
		if _, ok := pl.names[name]; !ok && strings.HasPrefix(name, "new-") {
			pl.names[name] = pl.nonce(name)
		}
	}
	filled, err := pl.names.fill(text)
	if err != nil {
		panic(verdict{Error, fmt.Sprintf("%s: %v", l.text, err)})
	}
	return filled
}

// send makes the request of a line and keeps the answer.
func (pl *player) send(l line) {
	if pl.judged {
		pl.open, pl.judged = nil, false
	}
	a := answered{line: l}
	verb, path, isHTTP := strings.Cut(l.what, " ")
	switch {
	case l.verb == ">>":
		a.reply = pl.post(pl.fill(l, l.what))
	case isHTTP:
		q := ask{verb: verb, path: pl.fill(l, path)}
		if l.more != "" {
			q.header = strings.Split(pl.fill(l, l.more), "; ")
		}
		if q.path == "/rpc" && verb == "POST" {
			q.body = strings.NewReader(request("1", plain, nil))
			a.reply = pl.do(q)
		} else {
			a.reply = pl.peek(q)
		}
	default:
		a.method = l.what
		var params any
		if l.more != "" {
			params = pl.fill(l, l.more)
		}
		a.m = pl.caller().try(l.what, params)
		pl.undo(a)
	}
	pl.open = append(pl.open, a)
}

func (pl *player) caller() caller {
	if pl.stream != nil {
		return pl.stream
	}
	return pl.http()
}

// undo registers the clean-up of a request's changes.
func (pl *player) undo(a answered) {
	id := decode(a.m.result).str("thread_id")
	switch {
	case (a.method == "thread/start" || a.method == "thread/fork") && id != "":
		pl.later(func() { pl.http().try("thread/close", obj{"thread_id": id}) })
	case a.method == "holon/pause" && a.m.failure == nil:
		pl.later(func() { pl.http().try("holon/resume", nil) })
	}
}

// judge compares an answer with an expectation.
func (pl *player) judge(a answered, want line) {
	what := clip([]byte(a.line.text), 200)
	if want.status != 0 {
		pl.must(a.reply.status == want.status, "%s: got status %d, want %d", what, a.reply.status, want.status)
	}
	if want.verb == "<<" {
		pl.judgeWhole(what, a, want)
		return
	}
	if want.verb == "<" && want.status != 0 {
		headers := object{}
		for name, values := range a.reply.header {
			headers[name] = strings.Join(values, ", ")
		}
		pl.fits(what, want, headers)
		return
	}
	m := a.m
	if m == nil {
		var err error
		m, err = parseMessage(bytes.TrimSpace(a.reply.body))
		pl.must(err == nil, "%s: status %d without a JSON-RPC message: %v", what, a.reply.status, err)
		pl.must(m.isResponse(), "%s: the answer is no response: %s", what, clip(m.raw, 200))
	}
	if want.verb == "!" {
		pl.mustError(m, kinds[want.what], want.what, what)
		pl.fits(what, want, m.fault().obj("data"))
		return
	}
	pl.must(m.failure == nil, "%s: it was refused: %s", what, clip(m.failure, 300))
	pl.fits(what, want, decode(m.result))
}

// judgeWhole compares the whole answer, a message or a batch, with an
// expectation.
func (pl *player) judgeWhole(what string, a answered, want line) {
	var body []byte
	if a.m != nil {
		body = a.m.raw
	} else {
		body = bytes.TrimSpace(a.reply.body)
	}
	if want.want == nil {
		pl.must(len(body) == 0, "%s: it was answered: %s", what, clip(body, 200))
		return
	}
	var got any
	err := json.Unmarshal(body, &got)
	pl.must(err == nil, "%s: the answer is no JSON: %v", what, err)
	why := pl.names.differs("", want.want, got, true)
	pl.must(why == "", "%s: %s", what, why)
}

// fits fails the check unless a value matches the expectation.
func (pl *player) fits(what string, want line, got object) {
	why := pl.differs(want, got)
	pl.must(why == "", "%s: %s", what, why)
}

func (pl *player) differs(want line, got object) string {
	if want.want == nil {
		return ""
	}
	return pl.names.differs("", want.want, map[string]any(got), true)
}

// chooses reports whether a message is the event of a line.
func (pl *player) chooses(l line, m *message) bool {
	if !m.isNotification() || m.method != l.what {
		return false
	}
	args := m.args()
	return !slices.ContainsFunc(l.choice, func(pair string) bool {
		path, value, _ := strings.Cut(pair, "=")
		got, there := args.get(path)
		return !there || plainly(got) != pl.fill(l, value)
	})
}
