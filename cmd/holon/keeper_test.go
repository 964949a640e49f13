package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

// keeping is a watch of events that are sent by a test, in virtual time.
type keeping struct {
	f      *feed
	began  time.Time
	takes  time.Duration
	stored int64

	mu       sync.Mutex
	printed  int64 // by the viewer
	requests []string
	fails    error
}

func (v *keeping) Event(e client.Event) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.printed = e.Seq
	return nil
}

// failing sets what requests return.
func (v *keeping) failing(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fails = err
}

func (v *keeping) State(client.State) error { return nil }
func (v *keeping) Tick() error              { return nil }
func (v *keeping) Close() error             { return nil }

func (v *keeping) advance(_ context.Context, seq int64) (int64, error) {
	time.Sleep(v.takes) // of the bubble
	v.mu.Lock()
	defer v.mu.Unlock()
	v.requests = append(v.requests, fmt.Sprintf("%d at %s", seq, time.Since(v.began)))
	if seq > v.printed {
		return 0, fmt.Errorf("%d is confirmed, %d are printed", seq, v.printed)
	}
	return max(seq, v.stored), v.fails
}

// watching runs a loop that shows what act sends. It returns what end gives.
func watching(t *testing.T, v *keeping, act func(send func(seq int64))) (int64, error) {
	t.Helper()
	v.began = time.Now()
	k := startKeeper(t.Context(), "laptop", 0, v.advance)
	v.f = &feed{items: make(chan feedItem), keeper: k}
	shown := make(chan int64, 1)
	go func() {
		seen, _ := v.f.show(v, nil, nil, 0)
		shown <- seen
	}()
	act(func(seq int64) { v.f.items <- feedItem{event: client.Event{Seq: seq}} })
	close(v.f.items)
	return k.end(t.Context(), <-shown)
}

func TestPositionIsKeptOnceASecondAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &keeping{}
		at, err := watching(t, v, func(send func(int64)) {
			for seq := range int64(40) { // four seconds
				send(seq + 1)
				time.Sleep(100*time.Millisecond - time.Microsecond)
			}
			time.Sleep(5 * time.Second) // nothing new is printed
			send(41)
		})
		if at != 41 || err != nil {
			t.Errorf("%d, %v", at, err)
		}
		want := []string{"11 at 1s", "21 at 2s", "31 at 3s", "40 at 4s"}
		if len(v.requests) != 5 || !slices.Equal(v.requests[:4], want) || !strings.HasPrefix(v.requests[4], "41 at ") {
			t.Errorf("requests %q, want %q and the end", v.requests, want)
		}
	})
}

func TestPositionIsKeptAgainAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &keeping{fails: errors.New("down")}
		at, err := watching(t, v, func(send func(int64)) {
			send(7)
			time.Sleep(2500 * time.Millisecond)
			v.failing(nil)
			time.Sleep(time.Second)
		})
		if want := []string{"7 at 1s", "7 at 2s", "7 at 3s"}; at != 7 || err != nil || !slices.Equal(v.requests, want) {
			t.Errorf("%d, %v, requests %q, want %q", at, err, v.requests, want)
		}
		v = &keeping{fails: errors.New("down")}
		if at, err = watching(t, v, func(send func(int64)) { send(7) }); at != 0 || err == nil {
			t.Errorf("at the end: %d, %v", at, err)
		}
	})
}

// A slow request delays neither what is shown nor the next one by more than itself.
func TestSlowRequestDelaysNothingThatIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &keeping{takes: 3500 * time.Millisecond}
		at, err := watching(t, v, func(send func(int64)) {
			for seq := range int64(8) {
				before := time.Now()
				send(seq + 1)
				if d := time.Since(before); d > 0 {
					t.Errorf("event %d was shown %s late", seq+1, d)
				}
				time.Sleep(time.Second - time.Microsecond)
			}
		})
		if at != 8 || err != nil || len(v.requests) > 3 {
			t.Errorf("%d, %v, requests %q", at, err, v.requests)
		}
	})
}

func TestNothingIsKeptWhileTheConnectionIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &keeping{}
		at, err := watching(t, v, func(send func(int64)) {
			send(3)
			v.f.items <- feedItem{state: &client.State{Kind: client.Lost}}
			time.Sleep(10 * time.Second)
		})
		if at != 0 || err != nil || len(v.requests) != 0 {
			t.Errorf("%d, %v, requests %q", at, err, v.requests)
		}
		v = &keeping{}
		at, err = watching(t, v, func(send func(int64)) {
			send(3)
			v.f.items <- feedItem{state: &client.State{Kind: client.Lost}}
			time.Sleep(10 * time.Second)
			v.f.items <- feedItem{state: &client.State{Kind: client.Resumed}}
			time.Sleep(time.Second)
		})
		if want := []string{"3 at 11s"}; at != 3 || err != nil || !slices.Equal(v.requests, want) {
			t.Errorf("%d, %v, requests %q, want %q", at, err, v.requests, want)
		}
	})
}

// Another watch of the same name is further: that is no failure, and what it has
// confirmed is not confirmed again.
func TestCursorThatIsFurtherIsNoFailure(t *testing.T) {
	data := []byte(`{"kind":"conflict","reason":"not_monotonic","cursor":{"last_sequence":90}}`)
	if at, err := storedSeq(7, &client.Error{Kind: "conflict", Reason: "not_monotonic", Data: data}); at != 90 || err != nil {
		t.Errorf("%d, %v", at, err)
	}
	if _, err := storedSeq(7, &client.Error{Kind: "conflict", Reason: "other", Data: data}); err == nil {
		t.Error("another conflict is none")
	}
	if at, err := storedSeq(7, nil); at != 7 || err != nil {
		t.Errorf("%d, %v", at, err)
	}
	synctest.Test(t, func(t *testing.T) {
		v := &keeping{stored: 90}
		if at, err := watching(t, v, func(send func(int64)) {
			send(7)
			time.Sleep(1500 * time.Millisecond)
			send(8)
			time.Sleep(10 * time.Second)
			send(91)
		}); at != 91 || err != nil || len(v.requests) != 2 {
			t.Errorf("%d, %v, requests %q", at, err, v.requests)
		}
	})
}

// cursorOf reads the cursor of a consumer of the whole log.
func (s *server) cursorOf(consumer string) (last int64, exists bool) {
	s.t.Helper()
	c := client.New(client.Discover(s.data))
	defer c.Close()
	var read struct {
		Cursor struct {
			Last   int64 `json:"last_sequence"`
			Exists bool  `json:"exists"`
		} `json:"cursor"`
	}
	if err := c.Call(s.t.Context(), "cursor/read", map[string]any{"consumer_id": consumer, "stream_name": "events"}, &read); err != nil {
		s.t.Fatal(err)
	}
	return read.Cursor.Last, read.Cursor.Exists
}

// seqsOf are the seqs of the whole lines of jsonl output.
func seqsOf(t *testing.T, out string) (seqs []int64) {
	t.Helper()
	for line := range bytes.Lines([]byte(out)) {
		if line[len(line)-1] != '\n' {
			break // the process was killed
		}
		var m struct {
			Params struct {
				Seq int64 `json:"seq"`
			} `json:"params"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if m.Params.Seq > 0 {
			seqs = append(seqs, m.Params.Seq)
		}
	}
	return seqs
}

func TestWatchOfAConsumerContinuesWhereItEnded(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=main", "hello")
	all := s.events()
	if got := seqsOf(t, s.want("watch", "--consumer=laptop", "-o", "jsonl", "--limit=3")); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("a new consumer is shown %v", got)
	}
	if at, exists := s.cursorOf("laptop"); at != 3 || !exists {
		t.Errorf("the cursor is at %d, %v", at, exists)
	}
	rest := len(all) - 3
	if got := seqsOf(t, s.want("watch", "--consumer", " laptop ", "-o", "jsonl", fmt.Sprint("--limit=", rest))); len(got) != rest || got[0] != 4 {
		t.Errorf("then it is shown %v", got)
	}
	// --after wins, and takes the cursor only forward.
	if got := seqsOf(t, s.want("watch", "--consumer=laptop", "--after=1", "-o", "jsonl", "--limit=2")); !slices.Equal(got, []int64{2, 3}) {
		t.Errorf("after 1 it is shown %v", got)
	}
	if at, _ := s.cursorOf("laptop"); at != int64(len(all)) {
		t.Errorf("the cursor is at %d, want %d", at, len(all))
	}
	// A thread has a cursor of its own.
	if got := seqsOf(t, s.want("watch", "--consumer=laptop", "--thread=main", "-o", "jsonl", "--limit=1")); !slices.Equal(got, []int64{1}) {
		t.Errorf("of the thread it is shown %v", got)
	}
	if at, _ := s.cursorOf("laptop"); at != int64(len(all)) {
		t.Errorf("the cursor of the whole log is at %d", at)
	}
	if r := s.holon("watch", "--consumer= "); r.code != exitUsage {
		t.Errorf("no name: exit %d, %s", r.code, r.err)
	}
	if r := s.holon("watch", "--consumer="+strings.Repeat("n", 300)); r.code == exitOK || !strings.Contains(r.err, "consumer_id") {
		t.Errorf("a long name: exit %d, %s", r.code, r.err)
	}
	for _, format := range []string{"text", "json"} {
		if r := s.holon("watch", "--consumer="+format, "-o", format, "--limit=2"); r.code != exitOK {
			t.Errorf("%s: %s", format, r.err)
		}
		if at, _ := s.cursorOf(format); at != 2 {
			t.Errorf("%s: the cursor is at %d", format, at)
		}
	}
}

// TestWatchOfAConsumerConfirmsAtCtrlC: what was printed is confirmed at once.
func TestWatchOfAConsumerConfirmsAtCtrlC(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=main", "hello")
	all := s.events()
	ctx, cancel := context.WithCancel(t.Context())
	var seen, errs buffer
	g := &globals{console: console{in: strings.NewReader(""), out: &seen, err: &errs, environ: []string{"HOLON_DATA=" + s.data, "XDG_CONFIG_HOME=" + t.TempDir()}}}
	code := make(chan int, 1)
	go func() { code <- execute(ctx, g, []string{"watch", "--consumer=laptop", "--thread=main"}) }()
	eventually(t, "the cursor follows", func() bool {
		out := s.want("call", "cursor/read", `{"consumer_id":"laptop","stream_name":"events","subject_id":"main"}`)
		return strings.Contains(out, fmt.Sprintf(`"last_sequence":%d`, len(all))) || strings.Contains(out, fmt.Sprintf(`"last_sequence": %d`, len(all)))
	})
	cancel()
	if got := <-code; got != exitOK {
		t.Errorf("exit %d: %s", got, errs.String())
	}
	contains(t, errs.String(), "continue with: holon watch --consumer laptop")
}

// TestKilledWatchMissesNothing kills a watch again and again while events come, each
// time at another moment. What the next one prints begins at most one above the last
// whole line, and the cursor is never above what was printed. Together they print
// every event.
func TestKilledWatchMissesNothing(t *testing.T) {
	binary := build(t, t.TempDir(), "./cmd/holon")
	s := startServer(t)
	s.want("run", "--thread=main", "hello")
	printed := map[int64]bool{}
	last, rounds := int64(0), 4
	if testing.Short() {
		rounds = 2
	}
	for i := range rounds {
		dir := t.TempDir()
		out, err := os.Create(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		p := startProcessTo(t, out, []string{"HOLON_DATA=" + s.data, "XDG_CONFIG_HOME=" + dir}, binary, "watch", "--consumer=laptop", "-o", "jsonl")
		for n := range 3 {
			s.want("run", "--thread=main", fmt.Sprint("hello ", n))
		}
		if i%2 == 0 { // after it has confirmed something; otherwise at once
			eventually(t, "the watch confirms", func() bool { at, _ := s.cursorOf("laptop"); return at > last })
		}
		p.kill()
		at, _ := s.cursorOf("laptop")
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		_ = out.Close()
		seqs := seqsOf(t, string(text))
		for k, seq := range seqs {
			if k > 0 && seq != seqs[k-1]+1 {
				t.Errorf("round %d: after %d it prints %d", i, seqs[k-1], seq)
			}
			printed[seq] = true
		}
		switch {
		case len(seqs) == 0 && at != last:
			t.Errorf("round %d: nothing was printed, and the cursor went from %d to %d", i, last, at)
		case len(seqs) > 0 && (seqs[0] != last+1 || at > seqs[len(seqs)-1]):
			t.Errorf("round %d: it printed %d to %d; the cursor was at %d and is at %d", i, seqs[0], seqs[len(seqs)-1], last, at)
		}
		last = at
	}
	head := int64(len(s.events()))
	if left := head - last; left > 0 {
		got := seqsOf(t, s.want("watch", "--consumer=laptop", "-o", "jsonl", fmt.Sprint("--limit=", left)))
		if int64(len(got)) != left || got[0] != last+1 {
			t.Errorf("after %d the last watch prints %v", last, got)
		}
		for _, seq := range got {
			printed[seq] = true
		}
	}
	for seq := int64(1); seq <= head; seq++ {
		if !printed[seq] {
			t.Errorf("event %d was never printed", seq)
		}
	}
	if at, _ := s.cursorOf("laptop"); at != head {
		t.Errorf("the cursor is at %d of %d", at, head)
	}
}

// A text whose line is not printed yet holds the position back: a watch that is
// killed shows it again from its beginning.
func TestTextThatIsHeldBackIsNotConfirmed(t *testing.T) {
	var out bytes.Buffer
	r := timeline.New(&out, timeline.Options{})
	show := func(line string) {
		t.Helper()
		e, err := client.ParseEvent([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	event := func(seq int, method, more string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"seq":%d,"thread_id":"t","turn_id":"u","item_id":"i","timestamp":"2026-11-21T10:00:00.000Z"%s}}`, method, seq, more)
	}
	message := `,"status":"%s","content":{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"%s"}]}`
	show(event(4, "item/created", fmt.Sprintf(message, "in_progress", "")))
	show(event(5, "item/delta", `,"offset":0,"delta":{"text":"half a"}`))
	if got := printed(r, 5); got != 3 || strings.Contains(out.String(), "half") {
		t.Errorf("up to %d is printed, which is %q", got, out.String())
	}
	show(event(6, "item/updated", fmt.Sprintf(message, "completed", "half a line")))
	if got := printed(r, 6); got != 6 || !strings.Contains(out.String(), "half a line") {
		t.Errorf("up to %d is printed, which is %q", got, out.String())
	}
	ask := `,"status":"pending","content":{"type":"question","message":"may I?"}`
	show(strings.ReplaceAll(event(7, "item/created", ask), `"i"`, `"q"`))
	if got := printed(r, 7); got != 7 || !strings.Contains(out.String(), "may I?") {
		t.Errorf("with a question up to %d is printed, which is %q", got, out.String())
	}
	if got := printed(lineViewer{}, 9); got != 9 {
		t.Errorf("lines: %d", got)
	}
}
