package inbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/turns"
)

// endsOf makes the entries of ends of child turns that have said these texts.
func endsOf(t *testing.T, title string, texts ...string) (entries []*Entry, raws map[int64]*Received) {
	raws = map[int64]*Received{}
	for i, text := range texts {
		seq := int64(2*i + 1)
		raws[seq] = raw(t, seq, SourceTurns, turns.Result{TurnID: fmt.Sprintf("turn_%03d", i), ThreadID: "kid", Title: title, State: turns.Completed, Text: text})
		entries = append(entries, &Entry{EntryID: EntryID(seq + 1), Seq: seq + 1, Kind: KindItem, Source: SourceTurns, Count: 1, LastRaw: seq})
	}
	return entries, raws
}

// repeated is a list of n texts of this size.
func repeated(n, size int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.Repeat("x", size)
	}
	return list
}

// A prompt tells all ends at once, up to a hundred, and of what each said an equal share.
func TestEndsShareTheRoomOfAPrompt(t *testing.T) {
	hostileTitle := strings.Repeat("𝄞", turns.MaxTitle)
	for name, c := range map[string]struct {
		title       string
		texts       []string
		told        int
		least, most int // of each text
	}{
		"two that fit":             {"tests", repeated(2, 16<<10), 2, 16 << 10, 16 << 10},
		"six of 16 KiB":            {"tests", repeated(6, 16<<10), 6, 10_000, 11_000},
		"a hundred":                {"tests", repeated(100, 16<<10), 100, 400, 600},
		"more than a hundred":      {"tests", repeated(130, 300), 100, 300, 300},
		"a hundred of long titles": {hostileTitle, repeated(100, 16<<10), 100, 200, 400},
	} {
		t.Run(name, func(t *testing.T) {
			entries, raws := endsOf(t, c.title, c.texts...)
			m, told := WakeMessage(entries, raws, nil, MostRoom)
			text := toldText(t, m, told)
			if len(told) != c.told || len(text) > MaxToldBytes {
				t.Fatalf("%d ends in %d bytes", len(told), len(text))
			}
			for i := range c.told {
				_, rest, ok := strings.Cut(text, fmt.Sprintf("\nent_%d, the last message of turn_%03d:\n", 2*i+2, i))
				said, _, _ := strings.Cut(rest, "\n\n")
				if said, _, _ = strings.Cut(said, "\ninbox-"); !ok || len(said) < c.least || len(said) > c.most+1 || !strings.Contains(text, fmt.Sprintf("\n- ent_%d: the turn turn_%03d ", 2*i+2, i)) {
					t.Fatalf("end %d is told in %d bytes, %v", i, len(said), ok)
				}
			}
			if left := len(entries) - c.told; left > 0 != strings.Contains(text, fmt.Sprintf("\n%d more will follow in a further prompt.\n", left)) {
				t.Errorf("%d are left: %s", left, text[len(text)-200:])
			}
		})
	}
}

// A short text leaves its share to the others, and messages leave room for results.
func TestShortTextsLeaveTheirShareToOthers(t *testing.T) {
	entries, raws := endsOf(t, "tests", append(repeated(4, 10), repeated(4, 16<<10)...)...)
	m, told := WakeMessage(entries, raws, nil, MostRoom)
	if text := toldText(t, m, told); len(told) != 8 || len(text) < MaxToldBytes-300 || len(text) > MaxToldBytes || strings.Count(text, "\n[…]\n") != 4 {
		t.Errorf("%d ends in %d bytes", len(told), len(text))
	}
	entries, raws = endsOf(t, "tests", repeated(20, 16<<10)...)
	for i := range 5 {
		seq := int64(1001 + 2*i)
		it := MessageItem("m", strings.Repeat("y", 15<<10), "")
		raws[seq] = &Received{RawID: RawID(seq), Source: it.Source, Summary: it.Summary, Payload: it.Payload}
		entries = append(entries, &Entry{EntryID: EntryID(seq + 1), Seq: seq + 1, Kind: KindItem, Source: it.Source, Summary: it.Summary, Count: 1, LastRaw: seq})
	}
	m, told = WakeMessage(entries, raws, nil, MostRoom)
	text := toldText(t, m, told)
	if len(told) != 23 || len(text) > MaxToldBytes || strings.Count(text, "\n[…]\n") != 20 || !strings.HasSuffix(text, "\n2 more will follow in a further prompt.\n") {
		t.Errorf("%d entries in %d bytes: %s", len(told), len(text), text[len(text)-200:])
	}
}

// What is still at work is named inside of the quotation, and counted behind it.
func TestAPromptSaysWhatIsStillAtWork(t *testing.T) {
	entries, raws := endsOf(t, "tests", "fine")
	for _, n := range []int{0, 1, 20} {
		var unended []turns.Result
		for i := range n {
			unended = append(unended, turns.Result{TurnID: fmt.Sprintf("turn_9%02d", i), ThreadID: "kid", Title: "obey", State: turns.Queued})
		}
		m, told := wakeMessage("inbox-0123456789ab", entries, raws, unended, MostRoom)
		text := toldText(t, m, told)
		parts := strings.Split(text, "\ninbox-0123456789ab\n")
		if got, want := strings.Count(parts[1], "\n- not ended: the turn turn_9"), min(n, maxUnended); got != want {
			t.Errorf("%d of %d are named", got, n)
		}
		want := map[int]string{0: "", 1: "\n1 child turn beside these has not ended: you are told when it ends.\n", 20: "\n20 child turns beside these have not ended: you are told when they end.\n"}[n]
		if parts[2] != want || strings.Contains(parts[0]+parts[2], "obey") {
			t.Errorf("behind the fence of %d is %q", n, parts[2])
		}
	}
}

// A new attempt is told later what has no room in its list, and then not twice.
func TestAListSaysWhatItTells(t *testing.T) {
	var list []Earlier
	for i, c := range []struct {
		state         turns.State
		untold, later bool
		size          int
	}{
		{turns.Active, false, false, 0},
		{turns.Completed, true, false, 16 << 10},
		{turns.InReview, false, false, 100},
		{turns.Completed, true, true, 100},
		{turns.Completed, true, false, 16 << 10},
		{turns.Completed, false, false, 16 << 10},
		{turns.Completed, true, false, 16 << 10}, // does not fit
		{turns.Completed, true, false, 100},
		{turns.Interrupted, true, false, 0},
	} {
		list = append(list, Earlier{Untold: c.untold, Later: c.later, Result: turns.Result{TurnID: fmt.Sprintf("turn_%d", i), ThreadID: "kid", State: c.state, Text: strings.Repeat("x", c.size)}})
	}
	m, whole := childrenMessage("work-0123456789ab", list, 0, MaxToldBytes)
	if got := fmt.Sprint(whole); got != fmt.Sprint([]bool{true, true, true, false, true, true, false, true, true}) {
		t.Errorf("whole are %v", got)
	}
	for i, want := range []bool{false, true, false, false, true, true, false, true, false} {
		if got := strings.Contains(m.Text(), fmt.Sprintf("\nResult, the last message of turn_%d:\n", i)); got != want {
			t.Errorf("the text of turn_%d is there: %v", i, got)
		}
	}
	if !strings.HasSuffix(m.Text(), "work-0123456789ab\n\n2 results will follow in a further prompt.\n") {
		t.Errorf("the end is %q", m.Text()[len(m.Text())-200:])
	}
}

// Lines and texts of a list share its bytes: the lines come first.
func TestAListHasNoMoreBytesThanItMay(t *testing.T) {
	for _, n := range []int{3, 5, 60, 200, 2000} {
		list := make([]Earlier, n)
		for i := range list {
			list[i] = Earlier{Result: turns.Result{TurnID: fmt.Sprintf("turn_%036d", i), ThreadID: fmt.Sprintf("thread_%036d", i), State: turns.Completed, Text: strings.Repeat("x", 16<<10)}}
		}
		m, _ := childrenMessage("work-0123456789ab", list, 0, MaxToldBytes)
		_, quoted, _ := strings.Cut(m.Text(), "\n\nwork-0123456789ab\n")
		quoted, _, _ = strings.Cut(quoted, "work-0123456789ab\n")
		if lines := strings.Count(quoted, "- child: "); len(quoted) > MaxToldBytes || lines < min(n, 400) {
			t.Errorf("%d children: %d lines in %d bytes", n, lines, len(quoted))
		}
	}
}

// However long titles are, every line says what the child turn does, or how it ended.
func TestALongTitleLeavesRoomForHowATurnEnded(t *testing.T) {
	for _, c := range []string{"t", "漢", `"`} {
		title := strings.Repeat(c, turns.MaxTitle)
		for _, n := range []int{1, 64, MaxToldEntries} {
			entries, raws := endsOf(t, title, repeated(n, 10)...)
			for i, e := range entries { // ids as long as they come
				raws[e.LastRaw] = raw(t, e.LastRaw, SourceTurns, turns.Result{TurnID: fmt.Sprintf("turn_%036d", i), ThreadID: fmt.Sprintf("thread_%036d", i), Title: title, State: turns.Completed, Text: "fine"})
			}
			still := turns.Result{TurnID: "turn_x", ThreadID: strings.Repeat("k", 128), Title: title, State: turns.Retrying}
			m, told := WakeMessage(entries, raws, []turns.Result{still}, MostRoom)
			text := toldText(t, m, told)
			if got := strings.Count(text, " completed\n"); got != n || len(text) > MaxToldBytes {
				t.Errorf("%d of %d lines with the title %s… say how the turn ended, in %d bytes", got, n, c, len(text))
			}
			if !strings.Contains(text, " will be tried again\n") {
				t.Errorf("with the title %s… nothing says what still runs does", c)
			}
		}
	}
}
