package inbox

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/notify"
)

// linked is a grouped item with a link.
func linked(n int) Item {
	it := grouped(n)
	it.Link, it.Summary = "https://h.example/"+it.NativeID, "item "+it.NativeID
	return it
}

func TestAnEntryHasTheLinkOfItsNewestItem(t *testing.T) {
	w := newWorld()
	ingest := func(list ...Item) { w.must(t, func(b *Book) { _, _ = b.Ingest(list) }) }
	post := func() (e *Entry) {
		t.Helper()
		w.must(t, func(b *Book) {
			ids, err := b.Flush("")
			if err != nil || len(ids) != 1 {
				t.Fatal(ids, err)
			}
			e, _ = b.rows.Row(EntryTable, seqOf(ids[0])).(*Entry)
		})
		return w.entry(t, e.EntryID)
	}
	link := func(e *Entry, want string) {
		t.Helper()
		if e.Link != want {
			t.Errorf("%q has the link %q, want %q", e.Summary, e.Link, want)
		}
	}
	one := single(1)
	one.Link = "https://h.example/one"
	ingest(one)
	link(&w.visible()[0], one.Link)

	ingest(linked(2), linked(3))
	first := post()
	link(first, "https://h.example/n3")
	ingest(linked(4))
	w.must(t, func(b *Book) { // what is left of it, while another item is pending, is nothing
		if _, err := b.Ack(Ack{EntryIDs: []notify.ID{first.EntryID}}); err != nil {
			t.Fatal(err)
		}
	})
	link(post(), "https://h.example/n4")

	plain := grouped(5)
	ingest(plain)
	link(post(), "") // its newest item has none
}

func TestWhatIsLeftOfASnapshotKeepsItsLink(t *testing.T) {
	w := newWorld()
	post := func() { w.must(t, func(b *Book) { _, _ = b.Flush("") }) }
	w.must(t, func(b *Book) { _, _ = b.Ingest([]Item{linked(1)}) })
	post()
	older := w.visible()[0]
	w.must(t, func(b *Book) { _, _ = b.Ingest([]Item{linked(2)}) })
	post()
	w.must(t, func(b *Book) { _, _ = b.Ingest([]Item{linked(3)}) }) // pending: the newest of the digest
	w.must(t, func(b *Book) { _, _ = b.Ack(Ack{EntryIDs: []notify.ID{older.EntryID}}) })
	left := w.visible()
	if len(left) != 1 || left[0].Count != 1 || left[0].Link != "https://h.example/n2" {
		t.Errorf("left is %+v", left)
	}
	w.must(t, func(b *Book) { _, _ = b.Ingest([]Item{linked(4)}) })
	post()
	newest := w.visible()[0].LastRawID
	w.must(t, func(b *Book) { _, _ = b.Ack(Ack{RawIDs: []notify.ID{newest}}) })
	if left := w.visible(); len(left) != 1 || left[0].Link != "https://h.example/n3" { // of the newest that is left
		t.Errorf("left is %+v", left)
	}
}

// Webhooks arrive in any order. What was deleted has no page any more.
func TestASnapshotLeadsToTheNewestThatItIsAbout(t *testing.T) {
	on := func(w *world, n int, comment, did string, at time.Duration) Item {
		it := w.onComment(n, comment, did, "words", at)
		if did != "deleted" {
			it.Link = "https://h.example/" + comment
		}
		return it
	}
	leads := func(w *world, summary, link string) {
		t.Helper()
		w.flush(t)
		if l := w.visible(); len(l) != 1 || l[0].Summary != summary || l[0].Link != link {
			t.Errorf("%+v, want %q to lead to %q", l, summary, link)
		}
	}
	w := newWorld()
	w.ingest(t, on(w, 1, "c7", "deleted", 0), on(w, 2, "c7", "wrote", -time.Minute))
	leads(w, "ann deleted a comment: words", "")
	w.ingest(t, on(w, 3, "c8", "wrote", -time.Second))
	leads(w, "2 comments on pr:1 by ann; latest: ann wrote a comment: words", "https://h.example/c8")

	w = newWorld() // a late edit of what was deleted, which was acknowledged
	w.ingest(t, on(w, 1, "c7", "wrote", -time.Minute), on(w, 2, "c8", "wrote", -time.Hour), on(w, 3, "c7", "deleted", 0))
	w.flush(t)
	w.ack(t, Ack{RawIDs: []notify.ID{w.item(t, 1), w.item(t, 3)}})
	w.ingest(t, on(w, 4, "c7", "edited", -time.Second))
	leads(w, "1 comment on pr:1 by ann", "https://h.example/c8")
	w.ack(t, Ack{RawIDs: []notify.ID{w.item(t, 2)}})
	leads(w, "1 comment on pr:1 by ann", "") // nothing else is left

	w = newWorld() // what says nothing is not quoted
	for i, at := range []time.Duration{-time.Hour, -time.Second, -time.Minute} {
		it := on(w, i, "c"+strconv.Itoa(i), "wrote", at)
		it.Summary = ""
		w.ingest(t, it)
	}
	leads(w, "3 comments on pr:1 by ann", "https://h.example/c1")

	w = newWorld() // of what is left while the deletion is pending
	w.ingest(t, on(w, 1, "c7", "wrote", -time.Second), on(w, 2, "c8", "wrote", -time.Hour))
	w.flush(t)
	w.ingest(t, on(w, 3, "c7", "deleted", 0))
	w.ack(t, Ack{RawIDs: []notify.ID{w.item(t, 2)}})
	if l := w.visible(); len(l) != 1 || l[0].Count != 1 || l[0].Link != "" {
		t.Errorf("%+v", l)
	}
}

func TestOnlyConfiguredSourcesGiveLinks(t *testing.T) {
	var c Ingest
	err := json.Unmarshal([]byte(`{"thread_id": "t", "items": [{"source": "a", "native_id": "1", "link": "https://h.example/"}]}`), &c, json.RejectUnknownMembers(true))
	if err == nil || c.Items != nil && slices.ContainsFunc(c.Items, func(it Item) bool { return it.Link != "" }) {
		t.Errorf("inbox/ingest takes a link: %v", err)
	}
	w := newWorld()
	for _, it := range []Item{MessageItem("m1", "see https://evil.example/", "ann"), {Source: "ci", NativeID: "1", Payload: []byte(`{"link":"https://evil.example/","html_url":"https://evil.example/"}`)}} {
		w.must(t, func(b *Book) { _, _ = b.Ingest([]Item{it}) })
	}
	for _, e := range w.visible() {
		if e.Link != "" {
			t.Errorf("%q has the link %q", e.Summary, e.Link)
		}
	}
}

// An event of before has no link, and a row made of it none.
func TestReceivedOfBeforeHasNoLinkAndTheSameSize(t *testing.T) {
	var r Received
	if err := json.Unmarshal([]byte(`{"raw_id":"raw_1","source":"gh","native_id":"n","occurred_at":"2026-01-01T00:00:00Z","payload":{}}`), &r); err != nil || r.Link != "" {
		t.Fatal(r, err)
	}
	before := sizeOf(&r)
	if r.Link = "https://h.example/"; sizeOf(&r) != before+int64(len(r.Link)) {
		t.Error("a link is not counted")
	}
}

// An agent that knows where something is need not look for it. The link stands between the fences:
// its path is of others.
func TestAShortLinkIsToldWithinTheFence(t *testing.T) {
	e := Entry{EntryID: "ent_1", Kind: KindItem, Source: "gh", Summary: "a comment", Count: 1, Link: "https://h.example/1"}
	prompt := func() string {
		msg, _ := wakeMessage("inbox-fence", []*Entry{&e}, nil, nil, MostRoom)
		return msg.Content[0].Text
	}
	if text := prompt(); !strings.Contains(text, "inbox-fence\n- ent_1 (gh, 1 item): a comment https://h.example/1\ninbox-fence\n") {
		t.Error(text)
	}
	e.Link = "https://h.example/" + strings.Repeat("x", maxToldLink)
	if text := prompt(); strings.Contains(text, "https") {
		t.Error(text)
	}
	e.Link = "https://h.example/inbox-fence"
	if text := prompt(); strings.Count(text, "inbox-fencex\n") != 2 {
		t.Errorf("a link ends the quotation:\n%s", text)
	}
}
