package timeline

import (
	"bytes"
	"fmt"
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
	for i, want := range map[int]string{7: "running · setup/clone", 10: "running · setup/clone", 18: "waiting · trying again soon · again in 2.0s"} {
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

// collapsed is what a server sends of a log to whoever asks for collapse.
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

// aLog is a turn with steps that is tried again now and then. Each message has
// a word of its own, so that it can be looked for.
func aLog(t *testing.T, random *rand.Rand, n int) []client.Event {
	t.Helper()
	var all []client.Event
	add := func(method, rest string) int64 {
		seq := int64(len(all) + 1)
		event, err := client.ParseEvent(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"seq":%d,"thread_id":"thread_a","turn_id":"turn_1","timestamp":"2026-11-21T10:00:00Z",%s}}`, method, seq, rest))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, event)
		return seq
	}
	paths := []string{"", "a", "a/b", "c"}
	epochs := map[string]int{"": 1, "a": 1, "a/b": 1, "c": 1} // the highest that each had
	begins := map[string]int64{}                              // the bound of its markers
	tries := map[string][]fold.Ref{"": {{Step: "", Epoch: 1}}}
	above := map[string]string{"a": "", "a/b": "a", "c": ""}
	try := func(path string) []fold.Ref {
		if tries[path] == nil {
			tries[path] = append(slices.Clone(tries[above[path]]), fold.Ref{Step: path, Epoch: epochs[path]})
		}
		return tries[path]
	}
	header := func(path string) string {
		var refs []string
		lineage := try(path)
		for _, r := range lineage {
			refs = append(refs, fmt.Sprintf(`{"step":%q,"epoch":%d}`, r.Step, r.Epoch))
		}
		if _, ok := begins[path]; !ok {
			begins[path] = int64(len(all))
		}
		return fmt.Sprintf(`"attempt":%d,"step":%q,"epoch":%d,"lineage":[%s]`, lineage[0].Epoch, path, lineage[len(lineage)-1].Epoch, strings.Join(refs, ","))
	}
	add("turn/started", header("")+`,"type":"started"`)
	for range n {
		path := paths[random.IntN(len(paths))]
		if path == "a/b" {
			header("a") // begins first
		}
		if random.IntN(7) == 0 && tries[path] != nil {
			for _, below := range paths {
				if isWithin(below, path) && tries[below] != nil {
					delete(tries, below)
					epochs[below]++
				}
			}
			add("stream/rewind", fmt.Sprintf(`"type":"rewind","step":%q,"new_epoch":%d,"superseded_after_seq":%d,"reason":"transient"`, path, epochs[path], begins[path]))
			if random.IntN(2) == 0 {
				add("turn/late", fmt.Sprintf(`"attempt":1,"type":"late","step":%q,"epoch":1,"event":{"method":"item/delta","params":{}}`, path))
			}
			if path == "" {
				add("turn/started", header("")+`,"type":"started"`)
			}
			continue
		}
		if path != "" && tries[path] == nil {
			add("step/started", header(path)+`,"type":"started"`)
		}
		text := fmt.Sprintf("word%d# %s", len(all)+1, strings.Repeat("and so on ", random.IntN(12)))
		if random.IntN(4) == 0 {
			text += "\n\n日本語"
		}
		add("item/created", header(path)+fmt.Sprintf(`,"item_id":"item_%d","type":"created","status":"completed","content":{"type":"agent_message","content":[{"type":"output_text","text":%q}]}`, len(all)+1, text))
	}
	return all
}

// TestTheScreenIsThatOfALateJoiner: whoever saw everything sees in the end
// what somebody sees who asked for collapse at the end.
func TestTheScreenIsThatOfALateJoiner(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 7))
	for round := range 300 {
		all := aLog(t, random, 5+random.IntN(60))
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

// TestNothingSupersededIsInTheWindow looks after every event, in windows of
// which most has scrolled away.
func TestNothingSupersededIsInTheWindow(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 8))
	for round := range 200 {
		all := aLog(t, random, 60)
		width, height := 25+random.IntN(60), 3+random.IntN(30)
		s := &screen{t: t, width: width, height: height}
		mode := []Superseded{Hide, Mark}[round%2]
		r := New(s, Options{Terminal: true, Superseded: mode, Width: func() int { return width }, Height: func() int { return height }, Now: clock, Idle: "idle"})
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
			live, superseded := view.Turn("turn_1").Events()
			for _, entry := range superseded {
				word := fmt.Sprintf("word%d#", entry.Seq)
				if n := strings.Count(everything, word); n > 1 {
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
				if n := strings.Count(everything, word); entry.ItemID != "" && n != 1 {
					t.Fatalf("round %d, window %d×%d: %s stands and is there %d times after event %d:\n%s", round, width, height, word, n, i+1, everything)
				}
			}
		}
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
	if n := len(r.sink.(*terminal).rows.list); n > 2*keptRows {
		t.Errorf("%d rows are kept", n)
	}
	var out bytes.Buffer
	p := newPlain(&out, false)
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
