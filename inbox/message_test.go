package inbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/items"
)

// messages makes the entries of messages, with their events.
func messages(texts ...string) (entries []*Entry, raws map[int64]*Received) {
	raws = map[int64]*Received{}
	for i, text := range texts {
		it := MessageItem(fmt.Sprint("m", i), text, "")
		seq := int64(2*i + 1)
		raws[seq] = &Received{RawID: RawID(seq), Source: it.Source, Summary: it.Summary, Payload: it.Payload}
		entries = append(entries, &Entry{
			EntryID: EntryID(seq + 1), Seq: seq + 1, Kind: KindItem, Source: it.Source, Summary: it.Summary, Count: 1, LastRaw: seq,
		})
	}
	return entries, raws
}

// toldText is the text of a prompt. It fails the test if the prompt does not name
// what it tells.
func toldText(t *testing.T, m items.UserMessage, told []*Entry) string {
	t.Helper()
	if len(m.Entries) != len(told) || len(told) == 0 {
		t.Fatalf("the prompt names %d entries and tells %d", len(m.Entries), len(told))
	}
	for i, e := range told {
		if m.Entries[i].EntryID != string(e.EntryID) {
			t.Errorf("the prompt names %s, and tells %s", m.Entries[i].EntryID, e.EntryID)
		}
	}
	return m.Text()
}

func TestPromptIsNoLongerThanItsBound(t *testing.T) {
	const bound = 64 << 10
	long := strings.Repeat("x", 16<<10)
	for name, rest := range map[string][]string{"the last fits": nil, "the last does not": {long}} {
		tell := func(n int) (told, size int) { // the fourth message is n bytes longer
			entries, raws := messages(append([]string{long, long, long, strings.Repeat("x", 8<<10+n)}, rest...)...)
			m, list := WakeMessage(entries, raws)
			text := toldText(t, m, list)
			if left := len(entries) - len(list); left > 0 && !strings.HasSuffix(text, fmt.Sprintf("\n%d more will follow in a further prompt.\n", left)) {
				t.Errorf("%d entries are left: %q", left, text[len(text)-100:])
			}
			return len(list), len(text)
		}
		_, size := tell(0)
		room := bound - size
		if told, size := tell(room); told != 4 || size != bound {
			t.Errorf("%s: the longest prompt tells %d entries in %d bytes", name, told, size)
		}
		if told, size := tell(room + 1); told != 3 || size > bound {
			t.Errorf("%s: the prompt that is a byte too long tells %d entries in %d bytes", name, told, size)
		}
	}
	var texts []string
	for i := range 100 {
		texts = append(texts, fmt.Sprint(i, strings.Repeat("𝄞", MaxSummary)))
	}
	m, told := WakeMessage(messages(texts...))
	if text := toldText(t, m, told); len(text) > bound || len(told) < 10 {
		t.Errorf("%d summaries of characters of four bytes have %d bytes", len(told), len(text))
	}
}
