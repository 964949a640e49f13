package timeline

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/rpc/client"
)

func TestGoldenSuperseded(t *testing.T) {
	all := events(t, "retry")
	for _, mode := range []Superseded{Hide, Mark, Show} {
		for _, color := range []bool{false, true} {
			if color && mode != Mark {
				continue
			}
			name := fmt.Sprintf("retry.%s", mode)
			if color {
				name += ".bytes"
			}
			t.Run(name, func(t *testing.T) {
				var out bytes.Buffer
				s := &screen{t: t, width: 44, height: 40}
				o := Options{Terminal: true, Color: color, Superseded: mode, Width: func() int { return 44 }, Height: func() int { return 40 }, Now: clock}
				if color {
					play(t, New(&out, o), all[:11], 0)
					golden(t, name, strings.ReplaceAll(out.String(), "\x1b", "␛"))
					return
				}
				play(t, New(s, o), all, 2)
				golden(t, name, strings.TrimRight(s.String(), "\n")+"\n")
			})
		}
		t.Run(string(mode)+" plain", func(t *testing.T) {
			var out bytes.Buffer
			play(t, New(&out, Options{Superseded: mode, Now: clock}), all, 0)
			golden(t, fmt.Sprintf("retry.%s.plain", mode), out.String())
		})
	}
}

func TestStatusSaysTheStepAndTheWait(t *testing.T) {
	r := New(&bytes.Buffer{}, Options{Terminal: true, Now: clock})
	all := events(t, "retry")
	for i, want := range map[int]string{7: "running · setup/clone", 10: "running · setup/clone", 17: "waiting · trying again soon · again in 2.0s", 19: "running · <0.1s"} {
		r := New(&bytes.Buffer{}, Options{Terminal: true, Now: clock})
		for _, event := range all[:i+1] {
			if err := r.Event(event); err != nil {
				t.Fatal(err)
			}
		}
		if status := r.status(); !strings.Contains(status, want) {
			t.Errorf("after event %d: %q, want %q", i+1, status, want)
		}
	}
	for _, event := range all {
		if err := r.Event(event); err != nil {
			t.Fatal(err)
		}
	}
	if status := r.status(); status != "" {
		t.Errorf("after all: %q", status)
	}
}

// collapsed is what a server sends of a log with collapse.
func collapsed(t *testing.T, all []client.Event) []client.Event {
	t.Helper()
	var folded []fold.Event
	var markers []fold.Marker
	for _, event := range all {
		e, err := event.Fold()
		if err != nil {
			t.Fatal(err)
		}
		folded = append(folded, e)
		if m, ok := fold.MarkerOf(&e); ok {
			markers = append(markers, m)
		}
	}
	c := fold.NewCollapser(all[len(all)-1].Seq, markers...)
	var sent []client.Event
	for i := range folded {
		if !c.LeavesOut(&folded[i]) {
			sent = append(sent, all[i])
		}
	}
	return sent
}

// logMaker makes logs of turns, one per thread, whose steps are sometimes
// retried. Each message has a unique word, so that it can be found.
type logMaker struct {
	t      *testing.T
	random *rand.Rand
	all    []client.Event
	turns  []*madeTurn
}

type madeTurn struct {
	id     string
	epochs map[string]int        // the highest that each step had
	begins map[string]int64      // the bound of its markers
	tries  map[string][]fold.Ref // that stand, by step
	open   map[string]string     // ids of items that stream, by step
}

// paths of steps, with those above before those below.
var paths = []string{"", "a", "a/b", "c"}

// aLog makes n random events in a number of turns. With several turns, items
// stream and are mixed.
func aLog(t *testing.T, random *rand.Rand, n, turns int) []client.Event {
	t.Helper()
	m := &logMaker{t: t, random: random}
	for i := range turns {
		turn := &madeTurn{
			id: fmt.Sprintf("turn_%d", i+1), epochs: map[string]int{}, begins: map[string]int64{},
			tries: map[string][]fold.Ref{}, open: map[string]string{},
		}
		m.turns = append(m.turns, turn)
		m.add(turn, "turn/started", m.header(turn, "")+`,"type":"started"`)
	}
	for range n {
		m.step(m.turns[random.IntN(turns)])
	}
	return m.all
}

func (m *logMaker) add(turn *madeTurn, method, rest string) {
	m.t.Helper()
	event, err := client.ParseEvent(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"seq":%d,"thread_id":"thread_of_%s","turn_id":%q,"timestamp":"2026-11-21T10:00:00Z",%s}}`,
		method, len(m.all)+1, turn.id, turn.id, rest))
	if err != nil {
		m.t.Fatal(err)
	}
	m.all = append(m.all, event)
}

// header begins the step's next try if none is live.
func (m *logMaker) header(turn *madeTurn, path string) string {
	if turn.tries[path] == nil {
		if turn.epochs[path]++; path != "" {
			turn.tries[path] = slices.Clone(turn.tries[path[:max(0, strings.LastIndexByte(path, '/'))]])
		}
		turn.tries[path] = append(turn.tries[path], fold.Ref{Step: path, Epoch: turn.epochs[path]})
	}
	if _, ok := turn.begins[path]; !ok {
		turn.begins[path] = int64(len(m.all))
	}
	var refs []string
	lineage := turn.tries[path]
	for _, r := range lineage {
		refs = append(refs, fmt.Sprintf(`{"step":%q,"epoch":%d}`, r.Step, r.Epoch))
	}
	return fmt.Sprintf(`"attempt":%d,"step":%q,"epoch":%d,"lineage":[%s]`, lineage[0].Epoch, path, lineage[len(lineage)-1].Epoch, strings.Join(refs, ","))
}

// step makes one random event.
func (m *logMaker) step(turn *madeTurn) {
	path := paths[m.random.IntN(len(paths))]
	if path == "a/b" {
		m.header(turn, "a") // begins first
	}
	if m.random.IntN(7) == 0 && turn.tries[path] != nil {
		m.rewind(turn, path)
		return
	}
	if path != "" && turn.tries[path] == nil {
		m.add(turn, "step/started", m.header(turn, path)+`,"type":"started"`)
	}
	text := fmt.Sprintf("word%d# %s", len(m.all)+1, strings.Repeat("and so on ", m.random.IntN(12)))
	if m.random.IntN(4) == 0 {
		text += "\n\n日本語"
	}
	id, open := turn.open[path]
	switch {
	case open:
		m.add(turn, "item/delta", m.header(turn, path)+fmt.Sprintf(`,"item_id":%q,"delta":{"text":%q},"offset":%d`, id, " "+text, 1000*len(m.all)))
		if m.random.IntN(4) == 0 {
			m.end(turn, path, "completed")
		}
	case len(m.turns) > 1 && m.random.IntN(2) == 0:
		turn.open[path] = fmt.Sprintf("item_%d", len(m.all)+1)
		m.add(turn, "item/created", m.header(turn, path)+fmt.Sprintf(`,"item_id":%q,"status":"in_progress","content":{"type":"agent_message","content":[{"text":%q}]}`, turn.open[path], text))
	default:
		m.add(turn, "item/created", m.header(turn, path)+fmt.Sprintf(`,"item_id":"item_%d","status":"completed","content":{"type":"agent_message","content":[{"text":%q}]}`, len(m.all)+1, text))
	}
}

// end ends the streaming item of a step. Its text is that of the deltas.
func (m *logMaker) end(turn *madeTurn, path, status string) {
	if id, open := turn.open[path]; open {
		m.add(turn, "item/updated", m.header(turn, path)+fmt.Sprintf(`,"item_id":%q,"status":%q,"content":{"type":"agent_message","content":[{"text":""}]}`, id, status))
		delete(turn.open, path)
	}
}

// rewind supersedes the live try of a step.
func (m *logMaker) rewind(turn *madeTurn, path string) {
	for _, below := range paths {
		if isWithin(below, path) {
			m.end(turn, below, "interrupted")
		}
	}
	for _, below := range paths {
		if isWithin(below, path) {
			delete(turn.tries, below)
		}
	}
	m.add(turn, "stream/rewind", fmt.Sprintf(`"type":"rewind","step":%q,"new_epoch":%d,"superseded_after_seq":%d,"reason":"transient"`, path, turn.epochs[path]+1, turn.begins[path]))
	if m.random.IntN(2) == 0 {
		m.add(turn, "turn/late", fmt.Sprintf(`"attempt":1,"type":"late","step":%q,"epoch":1,"event":{"method":"item/delta","params":{}}`, path))
	}
	if path == "" {
		m.add(turn, "turn/started", m.header(turn, "")+`,"type":"started"`)
	}
}

// TestTheScreenIsThatOfALateJoiner: a viewer that saw every event ends with the
// same screen as one that joined at the end with collapse.
func TestTheScreenIsThatOfALateJoiner(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 7))
	for round := range 300 {
		all := aLog(t, random, 5+random.IntN(60), 1)
		width := 25 + random.IntN(60)
		show := func(all []client.Event, ticks int) string {
			s := &screen{t: t, width: width}
			play(t, New(s, Options{Terminal: true, Color: true, Width: func() int { return width }, Height: func() int { return 2000 }, Now: clock}), all, ticks)
			return strings.TrimRight(s.String(), "\n")
		}
		saw, joined := show(all, round%3), show(collapsed(t, all), 0)
		if saw != joined {
			t.Fatalf("round %d at width %d; who saw it all has:\n%s\nthe late joiner:\n%s", round, width, saw, joined)
		}
	}
}

// TestNothingSupersededIsInTheWindow checks after every event, in windows from
// which most rows have scrolled away.
func TestNothingSupersededIsInTheWindow(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 8))
	for round := range 200 {
		all := aLog(t, random, 60, 1+round%3)
		width, height := 25+random.IntN(60), 3+random.IntN(30)
		s := &screen{t: t, width: width, height: height}
		mode := []Superseded{Hide, Mark}[round%2]
		r := New(s, Options{Terminal: true, Superseded: mode, Width: func() int { return width }, Height: func() int { return height }, Now: clock, Idle: "idle", Threads: true})
		view := fold.New(fold.Options{})
		for i, event := range all {
			if err := r.Event(event); err != nil {
				t.Fatal(err)
			}
			e, err := event.Fold()
			if err != nil {
				t.Fatal(err)
			}
			view.Apply(&e)
			if round%3 == 0 {
				if err := r.Tick(); err != nil {
					t.Fatal(err)
				}
			}
			window, everything := s.window(), s.String()
			for _, held := range r.sink.(*wholeLines).held { // what comes once its line is whole
				everything += held.text
			}
			live, superseded := view.Turn(event.TurnID).Events()
			for _, entry := range superseded {
				word := fmt.Sprintf("word%d#", entry.Seq)
				if n := strings.Count(everything, word); n > 1 || n > strings.Count(s.String(), word) {
					t.Fatalf("round %d, window %d×%d: %s is there %d times after event %d:\n%s", round, width, height, word, n, i+1, everything)
				}
				for line := range strings.Lines(window) {
					if strings.Contains(line, word) && !(mode == Mark && strings.HasPrefix(line, struckSign)) {
						t.Fatalf("round %d, window %d×%d: %s is superseded after event %d:\n%s", round, width, height, word, i+1, window)
					}
				}
			}
			for _, entry := range live {
				word := fmt.Sprintf("word%d#", entry.Seq)
				if n := strings.Count(everything, word); entry.ItemID != "" && entry.Method != "item/updated" && n != 1 {
					t.Fatalf("round %d, window %d×%d: %s is live and on the screen %d times after event %d:\n%s", round, width, height, word, n, i+1, everything)
				}
			}
		}
	}
}

// TestAMarkerEndsWhatItOvertakes: a stream that collapses may leave out the end
// of an item whose beginning it has sent.
func TestAMarkerEndsWhatItOvertakes(t *testing.T) {
	all := events(t, "retry")
	s := &screen{t: t, width: 44, height: 40}
	var out bytes.Buffer
	for _, o := range []Options{{Terminal: true}, {}} {
		w := io.Writer(s)
		if !o.Terminal {
			w = &out
		}
		o.Width, o.Now = func() int { return 44 }, clock
		r := New(w, o)
		play(t, r, slices.Concat(all[:8], all[9:]), 1)
		if len(r.items) > 0 {
			t.Errorf("items are open: %v", r.items)
		}
	}
	if got := s.String(); strings.Contains(got, "Cloning into") || !strings.Contains(got, "All is there already.") {
		t.Errorf("the screen:\n%s", got)
	}
	if got := out.String(); !strings.Contains(got, "output: and then\nrewind: ") {
		t.Errorf("plain:\n%s", got)
	}
}

func TestAWindowThatWasResizedIsLeftAlone(t *testing.T) {
	all := events(t, "retry")
	for _, change := range []string{"width", "asked"} {
		width := 44
		var out bytes.Buffer
		r := New(&out, Options{Terminal: true, Width: func() int { return width }, Now: clock})
		for i, event := range all[:10] {
			if i == 9 && change == "width" {
				width = 60
			}
			if i == 9 && change == "asked" {
				if err := r.Ask(); err != nil {
					t.Fatal(err)
				}
				if err := r.Answered(); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.Event(event); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(out.String(), "\x1b[J") {
			t.Errorf("%s: the screen was rewritten", change)
		}
		if flat := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(flat, "its lines above no longer hold") {
			t.Errorf("%s: nothing says what no longer holds:\n%s", change, out.String())
		}
	}
}

func TestRowsKeepABound(t *testing.T) {
	r := New(&bytes.Buffer{}, Options{Terminal: true, Now: clock})
	for range 3 * keptRows {
		r.block("thread_a", labelOther, "x")
	}
	if n := len(r.live.rows.list); n > 2*keptRows {
		t.Errorf("%d rows are kept", n)
	}
	var out bytes.Buffer
	p := newPlain(&out, false, nil)
	for i := range 3 * keptRows {
		p.write(fmt.Sprint(i), "", labelOther, "x", &source{seq: int64(i)})
	}
	if n := len(p.sources); n > 2*keptRows || !p.strike(func(from *source) bool { return from.seq == 0 }, false) {
		t.Errorf("%d sources of lines are kept", n)
	}
	for i := range 3 * keptMarkers {
		r.markers.add(fold.Marker{TurnID: fmt.Sprint(i), NewEpoch: 2})
	}
	if n, m := len(r.markers.turns), len(r.markers.order); n != keptMarkers || m != keptMarkers {
		t.Errorf("markers of %d turns are kept, %d in order", n, m)
	}
}
