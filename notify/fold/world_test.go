package fold

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
)

// broken says which part of the system is broken on purpose, to see that the
// harness notices it.
type broken int

const (
	nothing            broken = iota
	ownStepOnly               // the fold looks at an event's own step, not at those above
	collapseDropsMarks        // the server's collapse leaves markers out too
	childEpochsReset          // a new epoch of a step starts those below at 1 again
	noFence                   // what a superseded try writes is stored as if the live one had written it
)

func (b broken) String() string {
	return [...]string{"nothing", "fold by own step only", "collapse that drops markers", "child epochs that reset", "no fence"}[b]
}

// try is one try of a step. The oracle knows it by identity, not by number.
type try struct {
	turn  *simTurn
	path  string
	above *try // nil for the turn itself
	epoch int
	refs  []Ref
	first int64  // seq of its first event; 0 = none
	marks []mark // the markers that supersede it
	open  []*simItem
}

// mark is one marker of the try's step with a later epoch.
type mark struct{ seq, after int64 }

func (y *try) dead() bool {
	for ; y != nil; y = y.above {
		if len(y.marks) > 0 {
			return true
		}
	}
	return false
}

// liveAt reports whether the try's event at seq is live as of asOf.
func (y *try) liveAt(seq, asOf int64) bool {
	for ; y != nil; y = y.above {
		for _, m := range y.marks {
			if m.seq <= asOf && seq > m.after {
				return false
			}
		}
	}
	return true
}

type simItem struct {
	id   string
	kind string
	len  int64
}

// simTurn is a turn with its steps, as a server allocates them.
type simTurn struct {
	id, thread string
	epochs     map[string]int
	started    map[string]bool
	tries      []*try // all, in the order of their beginning
	ended      bool
	user       []string // open user messages
}

// written is one event of the log with what the oracle knows of it.
type written struct {
	e     Event
	owner *try // nil: it belongs to no attempt
	late  bool
	mark  bool
}

// world produces a log.
type world struct {
	r     *rand.Rand
	b     broken
	log   []written
	turns []*simTurn
	items int
	calm  bool // nothing is retried
	parts bool // markers may keep a part of the try that they name
	wire  bool // events are encoded and parsed
}

func newWorld(r *rand.Rand, b broken) *world {
	w := &world{r: r, b: b, calm: r.IntN(20) == 0, parts: r.IntN(4) == 0}
	for i := range 1 + r.IntN(3) {
		t := &simTurn{
			id: string(rune('x' + i)), thread: string(rune('A' + r.IntN(2))),
			epochs: map[string]int{"": 1}, started: map[string]bool{"": true},
		}
		w.turns = append(w.turns, t)
		if r.IntN(3) == 0 {
			w.put(Event{Method: notify.TurnQueued, ThreadID: t.thread, TurnID: t.id, Body: Body{State: "queued"}}, nil)
		}
		w.start(t, w.begin(t, "", nil), "client")
		if r.IntN(2) == 0 {
			w.userMessage(t, "completed")
		}
	}
	return w
}

func (w *world) head() int64 { return int64(len(w.log)) }

func (w *world) put(e Event, owner *try) *written {
	e.Seq = w.head() + 1
	if owner != nil {
		e.Step, e.Epoch, e.Lineage, e.Attempt = owner.path, owner.epoch, owner.refs, owner.refs[0].Epoch
		if owner.first == 0 {
			owner.first = e.Seq
		}
	}
	w.log = append(w.log, written{e: e, owner: owner})
	return &w.log[len(w.log)-1]
}

// begin makes a try with the current epoch of the path.
func (w *world) begin(t *simTurn, path string, above *try) *try {
	y := &try{turn: t, path: path, above: above, epoch: t.epochs[path]}
	if above != nil {
		y.refs = append(y.refs, above.refs...)
	}
	y.refs = append(y.refs, Ref{Step: path, Epoch: y.epoch})
	t.tries = append(t.tries, y)
	return y
}

// below reports whether the path is of a step inside step.
func below(path, step string) bool {
	return path != step && (step == "" || strings.HasPrefix(path, step+"/"))
}

// raise begins a new epoch of a step and of the steps below it, as a server does.
func (w *world) raise(t *simTurn, path string) {
	t.epochs[path]++
	for p := range t.epochs {
		if !below(p, path) {
			continue
		}
		t.started[p] = false
		if w.b == childEpochsReset {
			t.epochs[p] = 1
		} else {
			t.epochs[p]++
		}
	}
}

// giveUp ends the open items of a try and of the tries below it, raises the
// epoch and writes the marker.
func (w *world) giveUp(y *try) {
	t := y.turn
	for _, z := range t.tries {
		if z.dead() || (z != y && !within(z, y)) {
			continue
		}
		for _, it := range z.open {
			w.put(Event{Method: notify.ItemUpdated, ThreadID: t.thread, TurnID: t.id, ItemID: it.id, Body: Body{Status: "interrupted"}}, z)
		}
		z.open = nil
	}
	w.raise(t, y.path)
	after := int64(0)
	switch n := w.r.IntN(4); {
	case w.parts && n < 2:
		after = w.r.Int64N(w.head() + 1)
	case n == 0: // earlier markers supersede what came before this try
		after = y.first - 1
	case n == 1: // before the first try of the step
		i := slices.IndexFunc(t.tries, func(z *try) bool { return z.path == y.path })
		after = t.tries[i].first - 1
	}
	m := w.put(Event{
		Method: notify.StreamRewind, ThreadID: t.thread, TurnID: t.id, Step: y.path,
		Body: Body{NewEpoch: t.epochs[y.path], After: after, Reason: "again"},
	}, nil)
	m.mark = true
	for _, z := range t.tries { // the marker supersedes all tries of the step until now
		if z.path == y.path {
			z.marks = append(z.marks, mark{m.e.Seq, after})
		}
	}
}

func within(z, y *try) bool {
	for ; z != nil; z = z.above {
		if z == y {
			return true
		}
	}
	return false
}

func (w *world) start(t *simTurn, y *try, origin string) {
	w.put(Event{Method: notify.TurnStarted, ThreadID: t.thread, TurnID: t.id, Body: Body{State: "active", Origin: origin}}, y)
}

func (w *world) userMessage(t *simTurn, status string) {
	w.items++
	id := fmt.Sprint("u", w.items)
	w.put(Event{Method: notify.ItemCreated, ThreadID: t.thread, TurnID: t.id, ItemID: id, Attempt: 1, Body: Body{
		Status: status, Content: jsontext.Value(`{"type":"user_message","content":[]}`),
	}}, nil)
	if status == "in_progress" {
		t.user = append(t.user, id)
	}
}

// live picks a try that may write, dead picks one that may not; nil if there is
// none.
func (w *world) live(t *simTurn) *try { return w.pick(t, false) }
func (w *world) dead(t *simTurn) *try { return w.pick(t, true) }

func (w *world) pick(t *simTurn, dead bool) *try {
	at := w.r.IntN(len(t.tries))
	for i := range t.tries {
		if y := t.tries[(at+i)%len(t.tries)]; y.dead() == dead {
			return y
		}
	}
	return nil
}

// step does one thing.
func (w *world) step() {
	t := w.turns[w.r.IntN(len(w.turns))]
	if t.ended {
		if !w.calm && w.r.IntN(4) == 0 { // turn/retry
			w.retry(t, t.root(), w.r.IntN(2) == 0)
			t.ended = false
			return
		}
		w.late(t)
		return
	}
	switch n := w.r.IntN(100); {
	case n < 45:
		w.item(w.live(t))
	case n < 60:
		w.openStep(w.live(t))
	case n < 66 && !w.calm:
		w.retry(t, t.root(), true)
	case n < 76:
		w.late(t)
	case n < 80:
		w.put(Event{Method: notify.TurnProgress, ThreadID: t.thread, TurnID: t.id, Body: Body{State: "running", Message: fmt.Sprint(w.head())}}, w.live(t))
	case n < 84:
		w.userMessage(t, "in_progress")
	case n < 87 && len(t.user) > 0:
		w.put(Event{Method: notify.ItemUpdated, ThreadID: t.thread, TurnID: t.id, ItemID: t.user[0], Body: Body{Status: "completed"}}, nil)
		t.user = t.user[1:]
	case n < 89:
		w.put(Event{Method: notify.ThreadUpdated, ThreadID: t.thread}, nil)
	case n < 92:
		w.put(Event{Method: "step/noted", ThreadID: t.thread, TurnID: t.id}, w.live(t)) // a method of a later version
	case n < 95:
		if y := w.live(t); y.above != nil {
			w.put(Event{Method: notify.StepEnded, ThreadID: t.thread, TurnID: t.id, Body: Body{Status: "completed"}}, y)
		}
	default:
		w.put(Event{Method: notify.TurnFailed, ThreadID: t.thread, TurnID: t.id, Body: Body{State: "failed", Message: fmt.Sprint(w.head())}}, t.root())
		t.ended = true
	}
}

// root returns the newest try of the turn itself.
func (t *simTurn) root() *try {
	for i := len(t.tries) - 1; i >= 0; i-- {
		if y := t.tries[i]; y.above == nil {
			return y
		}
	}
	return nil
}

// retry gives up the attempt and begins the next.
func (w *world) retry(t *simTurn, y *try, waits bool) {
	w.giveUp(y)
	next := w.begin(t, "", nil)
	if waits {
		w.put(Event{Method: notify.TurnProgress, ThreadID: t.thread, TurnID: t.id, Body: Body{State: "waiting"}}, next)
		for range w.r.IntN(3) { // during the backoff the old attempt still writes
			w.late(t)
		}
	}
	w.start(t, next, "retry")
}

// openStep starts or retries a step below y.
func (w *world) openStep(y *try) {
	t := y.turn
	path := string(rune('a' + w.r.IntN(2)))
	if y.path != "" {
		if strings.Count(y.path, "/") > 1 {
			return
		}
		path = y.path + "/" + path
	}
	if t.started[path] {
		if w.calm {
			return
		}
		for _, z := range t.tries {
			if z.path == path && !z.dead() {
				w.giveUp(z)
				break
			}
		}
	} else if t.epochs[path] == 0 {
		t.epochs[path] = 1
	}
	t.started[path] = true
	z := w.begin(t, path, y)
	w.put(Event{Method: notify.StepStarted, ThreadID: t.thread, TurnID: t.id}, z)
}

// item writes an event of an item of the try.
func (w *world) item(y *try) {
	t := y.turn
	if len(y.open) == 0 || w.r.IntN(3) == 0 {
		w.items++
		it := &simItem{id: fmt.Sprint("i", w.items), kind: [...]string{"agent_message", "reasoning", "plan"}[w.r.IntN(3)]}
		status := "in_progress"
		if w.r.IntN(4) == 0 {
			status = "completed"
		} else {
			y.open = append(y.open, it)
		}
		w.put(Event{Method: notify.ItemCreated, ThreadID: t.thread, TurnID: t.id, ItemID: it.id, Body: Body{Status: status, Content: contents[it.kind]}}, y)
		return
	}
	n := w.r.IntN(len(y.open))
	it := y.open[n]
	switch k := w.r.IntN(10); {
	case k < 6 && it.kind != "plan":
		text := texts[w.r.IntN(len(texts))]
		w.put(Event{Method: notify.ItemDelta, ThreadID: t.thread, TurnID: t.id, ItemID: it.id, Body: Body{Text: text, Offset: it.len}}, y)
		it.len += int64(len(text))
		return
	case k < 7:
		w.put(Event{Method: notify.ItemDeleted, ThreadID: t.thread, TurnID: t.id, ItemID: it.id, Body: Body{Status: "deleted"}}, y)
	default:
		w.put(Event{Method: notify.ItemUpdated, ThreadID: t.thread, TurnID: t.id, ItemID: it.id, Body: Body{Status: "completed"}}, y)
	}
	y.open = append(y.open[:n:n], y.open[n+1:]...)
}

var (
	contents = map[string]jsontext.Value{
		"agent_message": jsontext.Value(`{"type":"agent_message","content":[{"type":"output_text","text":""}]}`),
		"reasoning":     jsontext.Value(`{"type":"reasoning","text":""}`),
		"plan":          jsontext.Value(`{"type":"plan","entries":[]}`),
	}
	texts = []string{"one ", "two ", "…", "three"}
)

// late writes something of a superseded try. Behind the fence it is stored as
// turn/late.
func (w *world) late(t *simTurn) {
	y := w.dead(t)
	if y == nil {
		return
	}
	if w.b == noFence {
		w.items++
		e := Event{Method: notify.ItemCreated, ThreadID: t.thread, TurnID: t.id, ItemID: fmt.Sprint("i", w.items), Body: Body{Status: "completed", Content: contents["plan"]}}
		w.put(e, t.root())
		w.log[len(w.log)-1].owner = y // the try that really wrote it
		return
	}
	l := w.put(Event{Method: notify.TurnLate, ThreadID: t.thread, TurnID: t.id, Attempt: y.refs[0].Epoch, Step: y.path, Epoch: y.epoch}, nil)
	l.owner, l.late = y, true
}
