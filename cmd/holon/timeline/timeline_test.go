package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/client"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// clock is the time of every test's status line.
func clock() time.Time { return time.Date(2026, 11, 21, 10, 0, 3, 0, time.UTC) }

func events(t *testing.T, name string) []client.Event {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	var all []client.Event
	for line := range bytes.Lines(data) {
		event, err := client.ParseEvent(bytes.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, event)
	}
	return all
}

func play(t *testing.T, r *Renderer, all []client.Event, ticks int) {
	t.Helper()
	for _, event := range all {
		if err := r.Event(event); err != nil {
			t.Fatal(err)
		}
		for range ticks {
			if err := r.Tick(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestGoldenTimelines(t *testing.T) {
	for _, name := range []string{"turn", "watch", "agent", "moved"} {
		many := name == "watch"
		t.Run(name+" plain", func(t *testing.T) {
			var out bytes.Buffer
			play(t, New(&out, Options{Threads: many, HowToAnswer: true, Now: clock}), events(t, name), 0)
			golden(t, name+".plain", out.String())
		})
		t.Run(name+" screen", func(t *testing.T) {
			s := &screen{t: t, width: 40}
			play(t, New(s, Options{Terminal: true, Color: true, Threads: many, Width: func() int { return 40 }, Now: clock}), events(t, name), 2)
			golden(t, name+".screen", strings.TrimRight(s.String(), "\n")+"\n")
		})
	}
	t.Run("bytes with colour and status", func(t *testing.T) {
		var out bytes.Buffer
		play(t, New(&out, Options{Terminal: true, Color: true, Width: func() int { return 60 }, Now: clock, Hint: "Ctrl-C interrupts"}), events(t, "turn"), 1)
		golden(t, "turn.bytes", strings.ReplaceAll(strings.ReplaceAll(out.String(), "\x1b", "␛"), "\r", "␍"))
	})
	t.Run("ascii", func(t *testing.T) {
		s := &screen{t: t, width: 80}
		play(t, New(s, Options{Terminal: true, ASCII: true, Now: clock}), events(t, "turn")[:3], 0)
		for _, r := range s.String() {
			if r > 0x7e {
				t.Errorf("%q on an ASCII terminal", r)
			}
		}
	})
}

// Summaries show what people and agents do, and nothing of what they say.
func TestGoldenSummaries(t *testing.T) {
	for _, name := range []string{"watch", "agent"} {
		var all []client.Event
		for _, e := range events(t, name) {
			if e.Method != notify.ItemDelta {
				e.Params = notify.AppendSummary(nil, e.Method, e.Params)
				all = append(all, e)
			}
		}
		var out bytes.Buffer
		play(t, New(&out, Options{Threads: name == "watch", HowToAnswer: true, Now: clock}), all, 0)
		golden(t, name+".summary.plain", out.String())
	}
}

// The title of a summary stands where the whole content has another text.
func TestASummaryIsReadByItsTitle(t *testing.T) {
	for content, want := range map[string]string{
		`{"type":"question","title":"Which one?"}`:                                 "Which one?",
		`{"type":"question","message":"Which one?","title":"no"}`:                  "Which one?",
		`{"type":"notice","title":"low on disk"}`:                                  "low on disk",
		`{"type":"plan","title":"second"}`:                                         "0 of 1 steps done",
		`{"type":"plan","entries":[{"content":"first","status":"completed"}]}`:     "1 of 1 steps done",
		`{"type":"command_execution","title":"make test"}`:                         "make test",
		`{"type":"agent_message","title":"no"}`:                                    "",
		`{"type":"permission_request","title":"May I?","options":[],"subject":{}}`: "May I?",
	} {
		if got := ReadContent([]byte(content)).Summary("pending"); got != want {
			t.Errorf("%s is %q, want %q", content, got, want)
		}
	}
}

func TestStatusLineNeverDisturbsTheText(t *testing.T) {
	for _, name := range []string{"turn", "watch", "agent", "retry"} {
		for width := 20; width < 90; width += 7 {
			show := func(idle, hint string) string {
				s := &screen{t: t, width: width}
				play(t, New(s, Options{Terminal: true, Color: true, Idle: idle, Hint: hint, Width: func() int { return width }, Now: clock}), events(t, name), 0)
				return strings.TrimRight(s.String(), "\n")
			}
			without, with := show("", ""), show("waiting for what comes 日本語 in a long status", "a hint")
			if without != with {
				t.Errorf("%s at width %d; without a status:\n%s\nwith:\n%s", name, width, without, with)
			}
		}
	}
}

func TestTurnWithinAMillisecondSaysHowLongItTook(t *testing.T) {
	for _, c := range []struct{ started, reason, want string }{
		{`"started_at":"2026-11-21T10:00:00.000Z",`, "end_turn", "✓ completed in <0.1s"},
		{``, "end_turn", "✓ completed"},
		{`"started_at":"2026-11-21T10:00:00.000Z",`, "max_tokens", "■ stopped early in <0.1s (max_tokens)"},
	} {
		event, err := client.ParseEvent([]byte(`{"jsonrpc":"2.0","method":"turn/completed","params":{"seq":1,"thread_seq":1,"thread_id":"thread_a","turn_id":"turn_1",` +
			c.started + `"completed_at":"2026-11-21T10:00:00.000Z","stop_reason":"` + c.reason + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		play(t, New(&out, Options{Terminal: true, Now: clock}), []client.Event{event}, 0)
		if !strings.Contains(out.String(), c.want+"\n") {
			t.Errorf("%q, want %q", out.String(), c.want)
		}
	}
}

func TestColoursOnlyWhereWanted(t *testing.T) {
	var out bytes.Buffer
	play(t, New(&out, Options{Terminal: true, Now: clock}), events(t, "turn"), 0)
	if strings.Contains(out.String(), "m") && strings.Contains(out.String(), "\x1b[3") {
		t.Error("colours without Color")
	}
	out.Reset()
	play(t, New(&out, Options{Now: clock, Color: true}), events(t, "turn"), 3)
	if strings.ContainsAny(out.String(), "\x1b\r") {
		t.Error("escapes in plain lines")
	}
}

func TestReplayedDeltasAreShownOnce(t *testing.T) {
	all := events(t, "turn")
	var once, twice bytes.Buffer
	play(t, New(&once, Options{Now: clock}), all, 0)
	var doubled []client.Event
	for _, event := range all {
		doubled = append(doubled, event)
		if event.Method == "item/delta" {
			doubled = append(doubled, event)
		}
	}
	play(t, New(&twice, Options{Now: clock}), doubled, 0)
	if once.String() != twice.String() {
		t.Errorf("got:\n%s\nwant:\n%s", twice.String(), once.String())
	}
}

func TestConnectionStatesAreAnnounced(t *testing.T) {
	var out bytes.Buffer
	r := New(&out, Options{Now: clock})
	for _, state := range []client.State{
		{Kind: client.Connected},
		{Kind: client.Lost, AfterSeq: 41, Reason: errors.New("EOF\x1b[2J"), Attempt: 1},
		{Kind: client.Lost, AfterSeq: 41, Reason: errors.New("refused"), Attempt: 2, RetryIn: 2 * time.Second},
		{Kind: client.Resumed, AfterSeq: 41},
	} {
		if err := r.State(state); err != nil {
			t.Fatal(err)
		}
		if state.Attempt == 2 && !strings.Contains(r.status(), "connection lost, attempt 2 in 2s") {
			t.Errorf("status %q", r.status())
		}
	}
	want := "stream: connection lost (EOF), resuming after seq 41 …\nstream: resumed after seq 41\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

func TestWriterErrorsComeBack(t *testing.T) {
	broken := errors.New("pipe closed")
	r := New(writerFunc(func([]byte) (int, error) { return 0, broken }), Options{Now: clock})
	if err := r.Event(events(t, "turn")[0]); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestElapsedReadsLikeSpeech(t *testing.T) {
	cases := map[time.Duration]string{
		-time.Second: "<0.1s", 449 * time.Millisecond: "0.4s", 9999 * time.Millisecond: "9.9s", 12 * time.Second: "12s",
		185 * time.Second: "3m05s", 7*time.Hour + 7*time.Minute: "7h07m",
	}
	for d, want := range cases {
		if got := Elapsed(d); got != want {
			t.Errorf("%v reads %q, want %q", d, got, want)
		}
	}
}

// FuzzRendererStaysOnItsScreen draws any text at many widths.
// fuzz: 5000x
func FuzzRendererStaysOnItsScreen(f *testing.F) {
	f.Add("text \x1b[31m with\rescapes and 日本語 words", 40, true)
	f.Add(strings.Repeat("x", 200), 20, false)
	f.Fuzz(func(t *testing.T, text string, width int, terminal bool) {
		width = 20 + (width&0xff)%100
		s := &screen{t: t, width: width}
		r := New(s, Options{Terminal: terminal, Color: true, Width: func() int { return width }, Now: clock})
		if !terminal {
			s.width = 1 << 30
		}
		for i, piece := range []string{text, text} {
			r.from = &source{turn: "turn", seq: int64(i)}
			it := &item{label: labelAgent}
			r.items["item"] = it
			r.write(client.Event{ItemID: "item"}, it, piece)
			if i == 0 {
				r.Tick()
			}
			r.block("thread", labelOther, Clean(text))
		}
		r.sink.strike(func(from *source) bool { return from.seq == 1 }, width%2 == 0)
		r.Close()
	})
}

// asked are the events of an edit with many lines, and of the question about it.
func asked(t *testing.T) []client.Event {
	t.Helper()
	change := `{"type":"file_change","title":"Edit","changes":[{"path":"/x","operation":"add","new_text":"` + strings.Repeat(`evil\n`, 5000) + `"}]}`
	var out []client.Event
	for i, item := range []string{
		`"item_id":"item_1","status":"in_progress","content":` + change,
		`"item_id":"item_2","status":"pending","content":{"type":"permission_request","title":"Edit","subject":{"type":"file_change","item_id":"item_1"},"options":[]}`,
	} {
		e := client.Event{Seq: int64(i + 1), Method: "item/created", ThreadID: "thread_1", TurnID: "turn_1", ItemID: "item_" + strconv.Itoa(i+1)}
		e.Params = json.RawMessage(`{"seq":1,` + item + `}`)
		out = append(out, e)
	}
	return out
}

func TestAQuestionShowsWhatItIsAboutAndCountsTheRest(t *testing.T) {
	var out bytes.Buffer
	play(t, New(&out, Options{HowToAnswer: true}), asked(t), 0)
	_, text, _ := strings.Cut(out.String(), "write /x\n")
	for _, want := range []string{"± write /x (+5000 −0)", "+ evil\n", "… 4,986 more lines", "answer with: holon respond item_2"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

func TestAQuestionThatIsAskedBelowIsOneLine(t *testing.T) {
	var out bytes.Buffer
	play(t, New(&out, Options{AskedBelow: true}), asked(t), 0)
	if text := out.String(); !strings.Contains(text, "question: Edit\n") || strings.Contains(text, "question: ±") {
		t.Errorf("it is shown as\n%s", out.String())
	}
}

// A change of a file says what became of it: what failed is not about to happen.
func TestAChangeSaysWhatBecameOfIt(t *testing.T) {
	c := ReadContent([]byte(`{"type":"file_change","changes":[{"path":"a.txt","operation":"add","new_text":"x\n"}]}`))
	for status, want := range map[string]string{
		"in_progress": "about to add a.txt (1 line)", "pending": "about to add a.txt (1 line)", "completed": "added a.txt (1 line)",
		"failed": "failed: add a.txt (1 line)", "declined": "declined: add a.txt (1 line)", "interrupted": "interrupted: add a.txt (1 line)",
	} {
		if got := c.Summary(status); got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
}

// Of a text that was cut off, the line says what was: a status alone could be of anything.
func TestWhatWasCutOffIsNamed(t *testing.T) {
	for content, want := range map[string]string{
		`{"type":"agent_message","content":[{"type":"output_text","text":"half"}]}`: "agent: half\nevent: message failed\n",
		`{"type":"reasoning","text":"half"}`:                                        "reasoning: half\nevent: reasoning failed\n",
	} {
		var out strings.Builder
		r := New(&out, Options{})
		for _, status := range []string{"in_progress", "failed"} {
			method := map[string]string{"in_progress": "item/created", "failed": "item/updated"}[status]
			if err := r.Event(parse(t, method, `"thread_id":"thread_a","turn_id":"turn_1","item_id":"item_1","status":%q,"content":%s`, status, content)); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != want {
			t.Errorf("%s is\n%s\nwant\n%s", content, out.String(), want)
		}
	}
}
