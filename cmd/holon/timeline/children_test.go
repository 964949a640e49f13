package timeline

import (
	"bytes"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/rpc/client"
)

// family is a turn with two child turns, as a timeline of its thread gets it: the
// events of child turns are marked.
func family(t *testing.T) (all []client.Event, child []bool) {
	t.Helper()
	const owner, tests, lint = `"thread_id":"main","turn_id":"turn_1",`, `"thread_id":"tests","turn_id":"turn_2",`, `"thread_id":"lint","turn_id":"turn_3",`
	const worksFor = `"parent":{"thread_id":"main","turn_id":"turn_1","attempt":1},`
	const at = `"timestamp":"2026-11-21T10:00:00.000Z"`
	question := `"content":{"type":"permission_request","title":"May I?","options":[{"option_id":"a","name":"Allow","kind":"allow_once"}]},`
	for i, line := range []string{
		"turn/started " + owner + `"attempt":1,`,
		"turn/started " + tests + worksFor + `"attention_policy":"blocking_until_terminal","title":"all tests","attempt":1,`,
		"turn/queued " + lint + worksFor + `"attention_policy":"notify_on_terminal",`,
		"turn/started " + lint + `"attempt":1,`,
		"turn/progress " + lint + `"state":"waiting",`,
		"item/created " + lint + `"item_id":"item_1","status":"pending",` + question,
		"turn/progress " + owner + `"state":"waiting","waits_for":["turn_2"],`,
		"item/updated " + lint + `"item_id":"item_1","status":"completed",` + strings.Replace(question, `"title"`, `"outcome":{"type":"selected","option_id":"a","kind":"allow_once"},"title"`, 1),
		"turn/detached " + tests + `"attention_policy":"notify_on_terminal","reason":"queued",`,
		"turn/failed " + lint + `"title":"lint","started_at":"2026-11-21T10:00:00.000Z","completed_at":"2026-11-21T10:00:02.000Z","error":{"kind":"agent_failed","message":"it broke"},`,
		"turn/completed " + owner + `"started_at":"2026-11-21T10:00:00.000Z","completed_at":"2026-11-21T10:00:03.000Z",`,
		"turn/completed " + tests + `"started_at":"2026-11-21T10:00:00.000Z","completed_at":"2026-11-21T10:00:03.000Z",`,
	} {
		method, params, _ := strings.Cut(line, " ")
		event, err := client.ParseEvent([]byte(`{"jsonrpc":"2.0","method":"` + method + `","params":{"seq":` + string(rune('1'+i)) + `,` + params + at + `}}`))
		if i >= 9 {
			event, err = client.ParseEvent([]byte(`{"jsonrpc":"2.0","method":"` + method + `","params":{"seq":1` + string(rune('0'+i-9)) + `,` + params + at + `}}`))
		}
		if err != nil {
			t.Fatal(err)
		}
		all, child = append(all, event), append(child, event.ThreadID != "main")
	}
	return all, child
}

func playFamily(t *testing.T, r *Renderer, until int) {
	t.Helper()
	all, child := family(t)
	for i, event := range all[:until] {
		show := r.Event
		if child[i] {
			show = r.Child
		}
		if err := show(event); err != nil {
			t.Fatal(err)
		}
		if err := r.Tick(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestChildTurnsAreLinesOfTheirOwner(t *testing.T) {
	var out bytes.Buffer
	r := New(&out, Options{Now: clock, HowToAnswer: true})
	playFamily(t, r, 12)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	const want = `turn: turn_1 started
child: all tests started (tests)
child: lint waits to start in the background
question: lint asks: May I?
question: answer with: holon respond item_1
turn: waiting for 1 child
answer: lint: Allow
child: all tests goes on in the background (queued)
child: lint failed after 2.0s: it broke
turn: completed in 3.0s
child: all tests completed in 3.0s
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTheStatusHasALineForEachChildTurn(t *testing.T) {
	s := &screen{t: t, width: 60}
	r := New(s, Options{Terminal: true, Width: func() int { return 60 }, Now: clock, Hint: "Ctrl-C interrupts"})
	playFamily(t, r, 7)
	const want = `waiting for 1 child · 3.0s · Ctrl-C interrupts
  ├ all tests · running, 3.0s
  └ lint · asks, 3.0s, background`
	if got := strings.TrimRight(s.String(), "\n"); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant at the end\n%s", got, want)
	}
	low := New(&bytes.Buffer{}, Options{Terminal: true, Height: func() int { return 5 }, Now: clock})
	playFamily(t, low, 7)
	if got := low.status(); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "2 more") {
		t.Errorf("in a low window: %q", got)
	}
}

func TestAStatusOfSeveralLinesNeverDisturbsTheText(t *testing.T) {
	for width := 20; width < 90; width += 7 {
		show := func(status bool) string {
			s := &screen{t: t, width: width}
			r := New(s, Options{Terminal: true, Color: true, Hint: "a hint", Width: func() int { return width }, Now: clock})
			r.asking = !status
			playFamily(t, r, 12)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			return strings.TrimRight(s.String(), "\n")
		}
		without, with := show(false), show(true)
		if without != with {
			t.Errorf("at width %d; without a status:\n%s\nwith:\n%s", width, without, with)
		}
	}
}
