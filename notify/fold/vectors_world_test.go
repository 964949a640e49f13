package fold

import (
	"fmt"
	"math/rand/v2"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
)

// Of each way to read a log there are several random worlds.
const vectorWorlds = 5

func worldVectors() []*vector {
	var out []*vector
	for i, way := range []struct {
		name, about string
		read        func(*vectorReader)
	}{
		{"whole", "Every event of a random log, once.", (*vectorReader).whole},
		{"middle", "A reader that began in the middle of a random log.", (*vectorReader).middle},
		{"reconnects", "A reader that lost its connection several times: some events come twice.", (*vectorReader).reconnects},
		{"collapse", "Pages with collapse=superseded: superseded events are left out, and a heartbeat says where each page ends.", (*vectorReader).collapse},
		{"bounds", "A view that keeps one ended turn, and two turns in all.", (*vectorReader).bounds},
	} {
		for n := range vectorWorlds {
			r := &vectorReader{
				rnd: rand.New(rand.NewPCG(uint64(i), uint64(n))),
				v:   &vector{Name: fmt.Sprintf("world-%s-%d", way.name, n+1), About: way.about},
			}
			r.log = r.dressed(24)
			way.read(r)
			r.v.looks = r.someLooks(2)
			out = append(out, r.v)
		}
	}
	return out
}

// vectorReader reads a random log in one of the ways.
type vectorReader struct {
	rnd *rand.Rand
	v   *vector
	log []Event
}

func (r *vectorReader) send(e *Event) {
	r.v.Events = append(r.v.Events, sent{Method: e.Method, Params: encodeSorted(e)})
}

func (r *vectorReader) whole() {
	for i := range r.log {
		r.send(&r.log[i])
	}
}

func (r *vectorReader) middle() {
	r.v.AfterSeq = 3 + r.rnd.Int64N(int64(len(r.log))/2)
	for i := range r.log[r.v.AfterSeq:] {
		r.send(&r.log[r.v.AfterSeq:][i])
	}
}

func (r *vectorReader) reconnects() {
	for at := 0; at < len(r.log); {
		for n := 3 + r.rnd.IntN(12); n > 0 && at < len(r.log); n-- {
			r.send(&r.log[at])
			at++
		}
		if at < len(r.log) {
			at -= r.rnd.IntN(min(at, 4))
		}
	}
}

func (r *vectorReader) collapse() {
	for at := 0; at < len(r.log); {
		end := min(at+1+r.rnd.IntN(20), len(r.log))
		asOf := end + r.rnd.IntN(len(r.log)-end+1)
		c := NewCollapser(int64(asOf))
		for i := range r.log[:asOf] {
			if m, ok := MarkerOf(&r.log[i]); ok {
				c.Add(m)
			}
		}
		for ; at < end; at++ {
			if !c.LeavesOut(&r.log[at]) {
				r.send(&r.log[at])
			}
		}
		r.send(&Event{Seq: int64(end), Method: notify.StreamHeartbeat})
	}
}

func (r *vectorReader) bounds() {
	r.v.Options = bounds{KeepEnded: 1, KeepTurns: 2}
	r.whole()
}

// someLooks picks where the view is looked at before the end: after markers, if
// there are any.
func (r *vectorReader) someLooks(n int) []int {
	var markers, out []int
	for i, e := range r.v.Events {
		if e.Method == notify.StreamRewind {
			markers = append(markers, i+1)
		}
	}
	for range n {
		if len(markers) > 0 {
			out = append(out, markers[r.rnd.IntN(len(markers))])
		}
	}
	return out
}

// dressed makes a random log whose events say more than the oracle of the model
// could follow: texts of several bytes, offsets that jump, contents that replace
// others, messages and reasons.
func (r *vectorReader) dressed(steps int) []Event {
	w := newWorld(r.rnd, nothing)
	w.calm = false
	for range steps {
		w.step()
	}
	lengths, types := map[string]int64{}, map[string]string{}
	log := make([]Event, len(w.log))
	for i := range w.log {
		e := w.log[i].e
		b := &e.Body
		switch e.Method {
		case notify.ItemCreated, notify.ItemUpdated:
			if kind := typeOf(b.Content); kind != "" {
				types[e.ItemID] = kind
			}
			if e.Method == notify.ItemCreated && r.rnd.IntN(2) == 0 || e.Method == notify.ItemUpdated && r.rnd.IntN(3) > 0 {
				text := r.text()
				b.Content = growingContent(types[e.ItemID], text)
				lengths[e.ItemID] = int64(len(text))
				b.Truncated = r.rnd.IntN(8) == 0
			}
		case notify.ItemDelta:
			b.Text = r.text()
			b.Offset = r.jump(lengths[e.ItemID])
			lengths[e.ItemID] = b.Offset + int64(len(b.Text))
		case notify.TurnQueued:
			b.Reason = "busy"
		case notify.TurnFailed:
			b.Reason = "refused"
		}
		log[i] = e
	}
	return log
}

// jump is the offset of the next delta: mostly the end of the text so far,
// sometimes before it, also inside a character, and seldom beyond it.
func (r *vectorReader) jump(length int64) int64 {
	switch n := r.rnd.IntN(12); {
	case n < 3 && length > 0:
		return r.rnd.Int64N(length)
	case n == 3:
		return length + r.rnd.Int64N(5)
	}
	return length
}

func (r *vectorReader) text() string {
	return [...]string{"one ", "zwölf ", "…", "三", "😀", "e\u0301", "\ufeff", "\n"}[r.rnd.IntN(8)]
}

func typeOf(content jsontext.Value) string {
	kind, _ := growing(content)
	return kind
}

// growingContent is the content of an item of a kind with its text.
func growingContent(kind, text string) jsontext.Value {
	var content any
	switch kind {
	case "agent_message":
		content = map[string]any{"type": kind, "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": text}}}
	case "reasoning":
		content = map[string]any{"type": kind, "text": text}
	default:
		content = map[string]any{"type": kind, "entries": []any{}}
	}
	return sorted(content)
}

// encodeSorted is encode with members in a fixed order.
func encodeSorted(e *Event) jsontext.Value {
	if e.Method == notify.StreamHeartbeat {
		return sorted(map[string]int64{"seq": e.Seq})
	}
	v := jsontext.Value(encode(e))
	if err := v.Canonicalize(); err != nil {
		panic(err)
	}
	return v
}

func sorted(v any) jsontext.Value {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return raw
}
