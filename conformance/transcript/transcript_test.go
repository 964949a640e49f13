package transcript

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scripted is a server that sends given lines: some at once, and some for each
// line it reads.
type scripted struct {
	greeting []string
	answers  [][]string
	dialed   int
}

func (s *scripted) Dial(context.Context) (io.ReadWriteCloser, error) {
	s.dialed++
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	go func() {
		defer outWriter.Close()
		for _, l := range s.greeting {
			fmt.Fprintln(outWriter, l)
		}
		lines := bufio.NewScanner(inReader)
		for i := 0; lines.Scan(); i++ {
			if i < len(s.answers) {
				for _, l := range s.answers[i] {
					fmt.Fprintln(outWriter, l)
				}
			}
		}
	}()
	return struct {
		io.Reader
		io.Writer
		io.Closer
	}{outReader, inWriter, closers{inWriter, inReader, outReader}}, nil
}

type closers []io.Closer

func (c closers) Close() error {
	for _, one := range c {
		_ = one.Close()
	}
	return nil
}

func (*scripted) Stop(context.Context, bool) error { return nil }
func (*scripted) Start(context.Context) error      { return nil }

const hello = `{"jsonrpc":"2.0","method":"stream/opened","params":{"after_seq":5}}`

func event(seq int, method, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"seq":%d%s}}`, method, seq, more)
}

func play(t *testing.T, s *scripted, text string) string {
	t.Helper()
	got, err := Play(t.Context(), text, s)
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	return got
}

func TestResponseIsShownBehindTheEventItNames(t *testing.T) {
	got := play(t, &scripted{[]string{hello}, [][]string{{
		event(6, "a/b", ""), event(7, "a/c", ""), event(8, "a/late", ""), `{"jsonrpc":"2.0","id":1,"result":{"seq":7}}`,
	}}, 0}, `> {"jsonrpc":"2.0","id":1,"method":"x/y"}`+"\n~ wait a/late\n")
	want := `< {"jsonrpc":"2.0","method":"stream/opened","params":{"after_seq":<seq>}}
> {"jsonrpc":"2.0","id":1,"method":"x/y"}
< {"jsonrpc":"2.0","method":"a/b","params":{"seq":<seq>}}
< {"jsonrpc":"2.0","method":"a/c","params":{"seq":<seq>}}
< {"jsonrpc":"2.0","id":1,"result":{"seq":<seq>}}
~ wait a/late
< {"jsonrpc":"2.0","method":"a/late","params":{"seq":<seq>}}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestIdsTimesAndDeltasDoNotDifferFromRunToRun(t *testing.T) {
	id := func(n int) string { return fmt.Sprintf("item_0197d5a0-0000-7000-8000-%012d", n) }
	delta := func(seq int, item, text string) string {
		return event(seq, "item/delta", fmt.Sprintf(`,"item_id":%q,"delta":{"text":%q},"timestamp":"2026-01-02T03:04:05.%03dZ"`, item, text, seq))
	}
	got := play(t, &scripted{[]string{hello, delta(6, id(9), "a"), `{"jsonrpc":"2.0","method":"stream/heartbeat","params":{"seq":6}}`,
		delta(7, id(9), "b"), delta(8, id(3), "c"), event(9, "a/end", `,"item_id":"`+id(3)+`"`)}, [][]string{{
		`{"jsonrpc":"2.0","id":"` + id(3) + `","result":{}}`,
	}}, 0}, "~ wait a/end\n> {\"jsonrpc\":\"2.0\",\"id\":\"<item-2>\",\"method\":\"x/y\"}\n")
	for _, want := range []string{
		`"item_id":"<item-1>","delta":{"text":"ab"},"timestamp":"<time>"`, `"item_id":"<item-2>","delta":{"text":"c"}`,
		`< {"jsonrpc":"2.0","id":"<item-2>","result":{}}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "heartbeat") {
		t.Errorf("a heartbeat is shown:\n%s", got)
	}
}

func TestSubscriptionPassesOverWhatTheOldOneBrought(t *testing.T) {
	got := play(t, &scripted{[]string{hello, event(6, "a/old", "")}, [][]string{{
		event(7, "a/old", ""), `{"jsonrpc":"2.0","id":1,"result":{"after_seq":5}}`, event(6, "a/new", ""), event(7, "a/new", ""), event(8, "a/end", ""),
	}}, 0}, `> {"jsonrpc":"2.0","id":1,"method":"stream/subscribe","params":{"after_seq":5}}`+"\n~ wait a/end\n")
	if strings.Contains(got, "a/old") || strings.Count(got, "a/new") != 2 {
		t.Errorf("got\n%s", got)
	}
}

func TestWhatNeedsNoAnswerIsNotWaitedFor(t *testing.T) {
	for text, want := range map[string]sentLine{
		"":                                 {},
		"\r":                               {},
		`{"jsonrpc":"2.0","method":"a/b"}`: {method: "a/b"},
		`{"jsonrpc":"1.0","method":"a/b"}`: {answered: true, id: "null", method: "a/b"},
		`{"jsonrpc":"2.0","id":1.5,"method":"a/b"}`: {answered: true, id: "null", method: "a/b"},
		`{"jsonrpc":"2.0","id":-12,"method":"a/b"}`: {answered: true, id: "-12", method: "a/b"},
		`{"id":1,"id":2}`: {answered: true, id: "null"},
		`[{"jsonrpc":"2.0","id":1,"method":"a/b"}]`: {answered: true},
		`[]`:          {answered: true, id: "null"},
		`{"jsonrpc":`: {answered: true, id: "null"},
		`5`:           {answered: true, id: "null"},
		`{"jsonrpc":"2.0","id":"a\/","method":"a/b"}`: {answered: true, id: `"a\/"`, method: "a/b"},
	} {
		got := sending(text)
		if got.answered != want.answered || got.id != want.id || got.method != want.method {
			t.Errorf("%q is taken as %+v, want %+v", text, got, want)
		}
	}
}

func TestTranscriptThatMakesNoSenseIsRefused(t *testing.T) {
	for _, text := range []string{"what", "~ sleep 5", `>q "\z"`, " > {}", "~ wait"} {
		s := &scripted{greeting: []string{hello}}
		if got, err := Play(t.Context(), text+"\n", s); err == nil {
			t.Errorf("%q was played:\n%s", text, got)
		}
	}
	if _, err := Play(t.Context(), "> {\"id\":\"<item-1>\"}\n", &scripted{greeting: []string{hello}}); err == nil {
		t.Error("a placeholder that was never seen was sent")
	}
}

func TestServerThatHangsUpEndsThePlay(t *testing.T) {
	s := &scripted{greeting: []string{hello, "no JSON"}}
	got, err := Play(t.Context(), "~ wait a/b\n", s)
	if err == nil || !strings.Contains(err.Error(), "no JSON") {
		t.Errorf("err %v\n%s", err, got)
	}
}

func TestUpdateWritesWhatWasPlayed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.txtar")
	if err := os.WriteFile(path, []byte("About it.\n-- a --\n> old\n-- b --\n# b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Update("a", "> new\n"); err != nil {
		t.Fatal(err)
	}
	again, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if again.Text("a") != "> new\n" || again.Text("b") != "# b\n" || len(again.Conversations()) != 2 {
		t.Errorf("it reads back as %q and %q", again.Text("a"), again.Text("b"))
	}
}
