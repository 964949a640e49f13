package inbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed82539d15/holon/notify"
)

func TestADigestSaysWhatHappened(t *testing.T) {
	d := &Digest{EventFamily: "ci_updates", ResourceRef: "pr:135", Senders: []string{"ann"}, LastRaw: 9, LastSummary: `CI "lint" failed on feat`}
	for i, outcome := range []string{"success", "failure", "success", "failure"} {
		d.Subjects++
		d.Outcomes.count(outcome, 1)
		if i == 3 { // the first failure is a success now
			d.Subjects--
			d.Outcomes.count("failure", -1)
		}
	}
	const want = `3 ci updates on pr:135 by ann: 2 success, 1 failure; latest: CI "lint" failed on feat`
	if got := summaryOfDigest(d, 7, 9); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := summaryOfDigest(d, 7, 5); got != strings.TrimSuffix(want, `; latest: CI "lint" failed on feat`) {
		t.Errorf("without its newest item: %s", got)
	}
	d.LastSummary = strings.Repeat("é", MaxSummary)
	if got := summaryOfDigest(d, 7, 9); utf8.RuneCountInString(got) != MaxSummary || !isLine(got) {
		t.Errorf("%d characters: %s", utf8.RuneCountInString(got), got)
	}
	fallback := &Digest{Source: "gh", EventFamily: "star.created", Subjects: 3, LastRaw: 9, LastSummary: "bob starred it"}
	if got := summaryOfDigest(fallback, 3, 9); got != "3 events of gh: star.created; latest: bob starred it" {
		t.Errorf("a fallback: %s", got)
	}
	one := &Digest{Source: "ci", EventFamily: "build", Subjects: 1}
	if got := summaryOfDigest(one, 1, 9); got != "1 event of ci: build" {
		t.Errorf("a fallback of one item that says nothing: %s", got)
	}
}

func TestADigestNamesEightOutcomes(t *testing.T) {
	var o Outcomes
	for i := range 11 {
		for range 11 - i {
			o.count(fmt.Sprint("end_", string(rune('a'+i))), 1)
		}
	}
	if got := o.String(); got != "11 end a, 10 end b, 9 end c, 8 end d, 7 end e, 6 end f, 5 end g, 4 end h, 6 other" || len(o) != maxOutcomes+1 {
		t.Error(got)
	}
	o.count("end_k", -1) // one of the others
	o.count("end_h", -1)
	o.count("", 1)
	if got := o.String(); got != "11 end a, 10 end b, 9 end c, 8 end d, 7 end e, 6 end f, 5 end g, 3 end h, 5 other" {
		t.Error(got)
	}
	for range 5 {
		o.count("end_i", -1)
	}
	if o.count("end_z", -1); o[outcomeOther] != 0 || len(o) != maxOutcomes {
		t.Errorf("nothing is left of the others: %v", o)
	}
}

func TestOutcomeAndAboutOfAnItem(t *testing.T) {
	for outcome, good := range map[string]bool{"": true, "a": true, "timed_out": true, strings.Repeat("a", 32): true, strings.Repeat("a", 33): false, "Failed": false, "a b": false, "é": false} {
		it := Item{Source: "ci", NativeID: "1", Outcome: outcome}
		field := map[bool]string{false: "items[0].outcome"}[good]
		reason := map[bool]string{false: "invalid"}[good]
		wantInvalid(t, "outcome "+outcome, it.Check("items[0]"), field, reason)
	}
	wantInvalid(t, "about", (&Item{Source: "ci", NativeID: "1", About: strings.Repeat("a", 256)}).Check("items[0]"), "", "")
	wantInvalid(t, "about", (&Item{Source: "ci", NativeID: "1", About: strings.Repeat("a", 257)}).Check("items[0]"), "items[0].about", "too_large")
	wantInvalid(t, "about", (&Item{Source: "ci", NativeID: "1", About: "a\nb"}).Check("items[0]"), "items[0].about", "invalid")
}

// onComment is what is sent when something is done to a comment.
func (w *world) onComment(n int, comment, did, words string, at time.Duration) Item {
	it := grouped(n)
	it.About, it.Sender, it.Summary = comment, "ann", strings.TrimSuffix("ann "+did+" a comment: "+words, ": ")
	if did != "deleted" { // GitHub does not say when
		it.OccurredAt = notify.TimeOf(w.now.Add(at))
	}
	return it
}

// Naive: each webhook counts, so that a comment that was written, edited and deleted is three
// comments, and its words are told when nobody can read them any more. Senders deliver in any
// order.
func TestWhatWasDeletedIsNotQuoted(t *testing.T) {
	w := newWorld()
	steps := []Item{
		w.onComment(1, "comment:7", "wrote", "secret", 0), w.onComment(2, "comment:7", "edited", "secret", 5*time.Second), w.onComment(3, "comment:7", "deleted", "", 0),
	}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		for _, more := range []bool{false, true} {
			w := newWorld()
			w.now = notify.TimeOf(w.now.Add(time.Minute)) // of the deletion
			if more {
				w.ingest(t, w.onComment(4, "comment:8", "wrote", "hello", -time.Hour))
			}
			for _, i := range order {
				w.ingest(t, steps[i])
			}
			w.flush(t)
			want := "ann deleted a comment"
			if more {
				want = "2 comments on pr:1 by ann; latest: ann deleted a comment"
			}
			if got := w.visible()[0]; got.Summary != want {
				t.Errorf("%v, another comment %v: %s", order, more, got.Summary)
			}
		}
	}
}

// The clock of the server may be behind that of the sender: a deletion without a time is newer
// than the edit before it.
func TestWhatHasNoTimeIsTheNewest(t *testing.T) {
	w := newWorld()
	w.ingest(t, w.onComment(1, "comment:7", "edited", "secret", time.Hour), w.onComment(2, "comment:7", "deleted", "", 0))
	w.flush(t)
	if got := w.visible()[0].Summary; got != "ann deleted a comment" {
		t.Error(got)
	}
}

// item is the raw item of a webhook.
func (w *world) item(t *testing.T, n int) notify.ID {
	t.Helper()
	for _, r := range all[*Raw](w.store, RawTable) {
		if r.NativeID == grouped(n).NativeID {
			return RawID(r.Seq)
		}
	}
	t.Fatalf("there is no item %d", n)
	return ""
}

// Naive: of what is left the newest counts, so that a comment whose deletion was acknowledged by
// itself is there again.
func TestWhatWasAcknowledgedDecidesWhatItIsAbout(t *testing.T) {
	says := func(w *world, want string) {
		t.Helper()
		if l := w.visible(); len(l) != 1 || l[0].Summary != want {
			t.Errorf("%+v, want %s", l, want)
		}
	}
	w := newWorld()
	w.ingest(t, w.onComment(1, "comment:7", "wrote", "secret", -50*time.Second), w.onComment(2, "comment:8", "wrote", "hello", -60*time.Second), w.onComment(3, "comment:7", "deleted", "", 0))
	w.flush(t)
	w.ingest(t, w.onComment(4, "comment:8", "edited", "hello!", time.Second))
	w.ack(t, Ack{RawIDs: []notify.ID{w.item(t, 3)}})
	says(w, "1 comment on pr:1 by ann") // what is pending is not known yet
	w.flush(t)
	says(w, "ann edited a comment: hello!")
	w.ack(t, Ack{RawIDs: []notify.ID{w.item(t, 4), w.item(t, 2)}})
	says(w, "1 comment on pr:1 by ann") // it is not acknowledged, and the deletion was

	w = newWorld()
	run := func(n int, outcome string) Item {
		it := grouped(n)
		it.About, it.Outcome = "run:1", outcome
		return it
	}
	w.ingest(t, run(1, "failure"), run(2, "success"))
	w.flush(t)
	w.ack(t, Ack{RawIDs: []notify.ID{w.item(t, 2)}})
	says(w, "1 comment on pr:1") // it does not fail any more
}

// What a digest says is made anew of what is left of it.
func TestOutcomesOfWhatIsLeft(t *testing.T) {
	w := newWorld()
	n := 0
	run := func(about, outcome string) Item {
		n++
		it := grouped(n)
		it.About, it.Outcome, it.Summary = about, outcome, about+" ended"
		return it
	}
	w.ingest(t, run("a", "failure"), run("b", "failure"), run("c", "success"))
	first := w.flush(t)[0]
	w.advance(time.Second)
	w.ingest(t, run("b", "success"), run("d", ""))
	w.flush(t)
	if got := w.visible()[0].Summary; got != "4 comments on pr:1: 2 success, 1 failure; latest: d ended" {
		t.Errorf("all: %s", got)
	}
	w.ack(t, Ack{EntryIDs: []notify.ID{first}})
	if got := w.visible()[0].Summary; got != "2 comments on pr:1: 1 success; latest: d ended" {
		t.Errorf("what is left: %s", got)
	}
	w.advance(time.Second)
	w.ingest(t, run("b", "failure"))
	if d := w.digests()[0]; d.Subjects != 2 || d.Outcomes.String() != "1 failure" {
		t.Errorf("%+v", d)
	}
}

// What is acknowledged as a whole keeps its last words: a server of before has left them in the row,
// and a rebuild of its log must find the same.
func TestRowsOfBeforeAreWhatTheLogGives(t *testing.T) {
	w := newWorld()
	it := grouped(1)
	it.Summary = "said"
	w.ingest(t, it)
	w.ack(t, Ack{EntryIDs: w.flush(t)})
	if d := w.digests()[0]; d.LastSummary != "said" || d.Open {
		t.Errorf("%+v", d)
	}
}

// An item that is about what already waits is no further reason: one job that ends is sent twice.
func TestASubjectCountsOnceTowardsTheSizeOfADigest(t *testing.T) {
	w := newWorld()
	w.set(t, Policy{MaxItems: ms(3)})
	for i := range 6 {
		it := grouped(i)
		it.About = fmt.Sprint("job ", i/3)
		w.ingest(t, it)
	}
	if l := w.visible(); len(l) != 0 {
		t.Errorf("two subjects are posted as three: %+v", l)
	}
	w.ingest(t, grouped(6))
	if l := w.visible(); len(l) != 1 || l[0].Count != 7 {
		t.Errorf("three subjects: %+v", l)
	}
}

// Items that are no end start no window, count to no size and no delay, and come with the next
// snapshot; what nothing follows is posted when the time of its digest is over.
func TestWhatIsNoEndWaitsForTheNextSnapshot(t *testing.T) {
	w := newWorld()
	w.set(t, Policy{MaxItems: ms(3), MaxDigestAgeMs: ms(3_600_000)})
	passive := func(n int) Item {
		it := grouped(n)
		it.Grouping.Flush = FlushPassive
		return it
	}
	due := func(after time.Duration) {
		t.Helper()
		if at := time.UnixMilli(w.box().FlushAt); !at.Equal(w.now.Add(after)) {
			t.Errorf("the digest is due in %v, want %v", at.Sub(w.now.Time), after)
		}
	}
	for i := range 5 {
		w.ingest(t, passive(i))
	}
	due(time.Hour)
	w.advance(10 * time.Minute)
	w.ingest(t, grouped(5))
	due(30 * time.Second)
	w.advance(20 * time.Second)
	w.ingest(t, passive(6))
	due(10 * time.Second)
	w.ingest(t, grouped(7), grouped(8))
	if l := w.visible(); len(l) != 1 || l[0].Count != 9 {
		t.Errorf("three ends: %+v", l)
	}
	w.ingest(t, passive(9))
	w.advance(time.Hour)
	w.must(t, func(b *Book) { _ = b.FlushDue() })
	if l := w.visible(); len(l) != 1 || l[0].Count != 10 {
		t.Errorf("what nothing follows: %+v", l)
	}
}

// Only the first failure since a window is posted at once: an agent is told of the others together.
func TestOnlyTheFirstFailurePostsAtOnce(t *testing.T) {
	w := newWorld()
	fail := func(n int) Item {
		it := grouped(n)
		it.Grouping.Flush = FlushFirst
		return it
	}
	var reasons []Reason
	posts := func(events []logged) {
		for _, e := range events {
			if p, ok := e.body.(*Posted); ok {
				reasons = append(reasons, p.Reason)
			}
		}
	}
	arrive := func(it Item) { posts(w.must(t, func(b *Book) { _, _ = b.Ingest([]Item{it}) })) }
	arrive(fail(1))
	arrive(fail(2))
	arrive(grouped(3))
	w.advance(30 * time.Second)
	posts(w.must(t, func(b *Book) { _ = b.FlushDue() }))
	arrive(fail(4))
	w.ack(t, Ack{All: true, AsOfSeq: &w.last})
	arrive(fail(5)) // of another digest
	if want := []Reason{ReasonImmediate, ReasonWindow, ReasonImmediate, ReasonImmediate}; !slices.Equal(reasons, want) {
		t.Errorf("posted %v, want %v", reasons, want)
	}
}

// Whoever has acknowledged all that was shown knows of no failure: the next one is the first. Naive:
// what is pending keeps the digest open, so that the next failure waits like one that follows another.
func TestAFailureAfterEverythingWasAcknowledgedPostsAtOnce(t *testing.T) {
	w := newWorld()
	n := 0
	arrive := func(flush Flush, want string) {
		t.Helper()
		it := grouped(n)
		n++
		it.Grouping.Flush = flush
		got := ""
		for _, e := range w.must(t, func(b *Book) { _, _ = b.Ingest([]Item{it}) }) {
			if p, ok := e.body.(*Posted); ok {
				got += string(p.Reason)
			}
		}
		if got != want {
			t.Errorf("item %d is posted %q, want %q", n, got, want)
		}
	}
	arrive(FlushFirst, "immediate")
	arrive(FlushPassive, "")
	arrive(FlushFirst, "")
	w.ack(t, Ack{EntryIDs: []notify.ID{w.visible()[0].EntryID}})
	arrive(FlushPassive, "")
	arrive(FlushFirst, "immediate") // with what was pending
	if l := w.visible(); len(l) != 1 || l[0].Count != 4 {
		t.Errorf("visible is %+v", l)
	}
	arrive(FlushFirst, "")
	w.ack(t, Ack{RawIDs: []notify.ID{w.item(t, 1), w.item(t, 2)}}) // a part
	arrive(FlushFirst, "")
}

// What has no group is bundled by its source and the kind of event, beside equal hints.
func TestWhatHasNoGroupIsBundledByItsKind(t *testing.T) {
	w := newWorld()
	w.set(t, Policy{WakeWindowMs: ms(1000)})
	star := func(n int) Item {
		it := single(n)
		it.Variant, it.Summary = "star.created", fmt.Sprintf("%d stars", n)
		return it
	}
	hint := grouped(100)
	hint.Grouping.EventFamily = "star.created"
	push := star(101)
	push.Variant = "push"
	other := star(102)
	other.Source = "other"
	w.ingest(t, hint, push, other)
	for i := range 12 {
		got := w.ingest(t, star(i))
		if got[0].EntryID != "" || got[0].DigestID == "" {
			t.Fatalf("%+v", got)
		}
		w.advance(600 * time.Millisecond)
		w.must(t, func(b *Book) { _ = b.FlushDue() })
	}
	w.advance(time.Second)
	w.must(t, func(b *Book) { _ = b.FlushDue() })
	var got []string
	for _, e := range w.visible() {
		got = append(got, fmt.Sprint(e.Source, " ", e.ResourceRef, " ", e.EventFamily, " ", e.Fallback, " ", e.Revision, " ", e.Count, " ", e.Summary))
	}
	want := []string{
		"gh  push true 1 1 101 stars", "other  star.created true 1 1 102 stars",
		"gh  star.created true 2 12 12 events of gh: star.created; latest: 11 stars", // five windows after the first, then one after the last
	}
	if !slices.Equal(got, want) {
		t.Errorf("visible are\n%q, want\n%q", got, want)
	}

	off := false
	w.set(t, Policy{Fallback: &off})
	if got := w.ingest(t, star(50)); got[0].EntryID == "" || got[0].DigestID != "" {
		t.Errorf("without the policy: %+v", got)
	}
	on := true
	w.set(t, Policy{Fallback: &on, WakeWindowMs: ms(0)})
	if got := w.ingest(t, star(51)); got[0].EntryID == "" || got[0].DigestID == "" {
		t.Errorf("without a window: %+v", got)
	}
}

// A snapshot says how many things it shows, also if something newer about each waits already, or was
// acknowledged before. Naive: what is not the newest of the digest is counted piece by piece.
func TestASnapshotCountsTheSubjectsThatItShows(t *testing.T) {
	w := newWorld()
	n := 0
	about := func(subject, outcome string, at time.Duration) Item {
		n++
		it := grouped(n)
		it.About, it.Outcome, it.Summary, it.OccurredAt = subject, outcome, fmt.Sprint(subject, " at ", at), notify.TimeOf(w.now.Add(at))
		return it
	}
	w.ingest(t, about("a", "", 0))
	first := w.flush(t)[0]
	w.ingest(t, about("b", "queued", 1), about("b", "failure", time.Second), about("c", "success", 0))
	w.flush(t)
	w.ingest(t, about("b", "success", time.Minute), about("c", "success", time.Minute))
	w.ack(t, Ack{EntryIDs: []notify.ID{first}})
	if got := w.visible()[0].Summary; got != "2 comments on pr:1: 1 failure, 1 success" {
		t.Errorf("a remainder: %s", got)
	}
	w.flush(t)
	w.ack(t, Ack{EntryIDs: []notify.ID{w.visible()[0].EntryID}})

	w = newWorld()
	w.ingest(t, about("a", "", time.Minute), about("b", "", time.Minute))
	first = w.flush(t)[0]
	w.ingest(t, about("a", "", 0), about("a", "", time.Second), about("b", "", 0), about("b", "", time.Second))
	w.ack(t, Ack{EntryIDs: []notify.ID{first}})
	w.flush(t)
	if got := w.visible()[0].Summary; !strings.HasPrefix(got, "2 comments on pr:1") {
		t.Errorf("what came late: %s", got)
	}
}

// What waits for a time that a wrong clock has given waits no longer than another once the clock is right.
func TestWhatWaitsForTheNextSnapshotSurvivesAWrongClock(t *testing.T) {
	w := newWorld()
	passive := func(n int) Item {
		it := grouped(n)
		it.Grouping.Flush = FlushPassive
		return it
	}
	right := w.now
	w.now = notify.TimeOf(right.AddDate(1, 0, 0))
	w.ingest(t, passive(1))
	w.now = right
	w.ingest(t, passive(2))
	if at := time.UnixMilli(w.box().FlushAt); at.After(right.Add(24 * time.Hour)) {
		t.Errorf("it is posted at %v, the clock says %v", at, right)
	}
}
