package inbox

import (
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
)

// An event names things by seqs that only its commit knows.
func TestEventsNameSeqsOfTheirOwnUnit(t *testing.T) {
	at := notify.TimeFromMilli(1)
	d := notify.Draft{
		Method: notify.InboxPosted, Header: notify.Header{Seq: -2, ThreadID: "a", Timestamp: notify.TimeFromMilli(5)},
		Body: &Posted{
			Entry:  Entry{EntryID: EntryID(-2), Kind: KindSnapshot, DigestID: DigestID(7), Source: "s", Summary: `raw_-1 "x"`, LastRawID: RawID(-1), FirstAt: at, LastAt: at, PostedAt: at},
			Reason: ReasonSize, NewRawIDs: []notify.ID{RawID(5), RawID(-1)},
		},
	}
	if err := d.Encode(); err != nil {
		t.Fatal(err)
	}
	got := d.Event(12, 3)
	want := `{"seq":12,"thread_seq":3,"thread_id":"a","timestamp":"1970-01-01T00:00:00.005Z","entry":{"entry_id":"ent_12","kind":"snapshot",` +
		`"digest_id":"dig_7","source":"s","summary":"raw_-1 \"x\"","count":0,"last_raw_id":"raw_11","first_at":"1970-01-01T00:00:00.001Z","last_at":"1970-01-01T00:00:00.001Z",` +
		`"posted_at":"1970-01-01T00:00:00.001Z"},"reason":"size","new_raw_ids":["raw_5","raw_11"]}`
	if string(got.Params) != want {
		t.Errorf("got  %s\nwant %s", got.Params, want)
	}
}

// What is only the hash of a body is remembered for a day since the first that was stored,
// and no longer; it makes no difference where midnight is, nor how often it was repeated.
func TestTheSameWordsOnAnotherDayAreNews(t *testing.T) {
	w := newWorld()
	begin := time.Date(2026, 3, 1, 23, 59, 0, 0, time.UTC)
	send := func(after time.Duration, items ...Item) (results []Ingested) {
		t.Helper()
		w.now = notify.TimeOf(begin.Add(after))
		w.must(t, func(b *Book) {
			var err error
			if results, err = b.Ingest(items); err != nil {
				t.Fatal(err)
			}
		})
		return results
	}
	alert, named := Item{Source: "alert", NativeID: "hash", Daily: true}, Item{Source: "alert", NativeID: "hash"}
	for _, tc := range []struct {
		after time.Duration
		dup   bool
		of    string // the identity
	}{
		{0, false, "hash@2026-03-01"},
		{time.Minute, true, "hash@2026-03-01"}, // the next day, a minute later
		{24*time.Hour - time.Millisecond, true, "hash@2026-03-01"},
		{24 * time.Hour, false, "hash@2026-03-02"},
		{25 * time.Hour, true, "hash@2026-03-02"}, // the next day
		{48*time.Hour - time.Millisecond, true, "hash@2026-03-02"},
		{49 * time.Hour, false, "hash@2026-03-04"},
		{200 * time.Hour, false, "hash@2026-03-10"},
		{199 * time.Hour, true, "hash@2026-03-10"}, // a clock that was set back
	} {
		got := send(tc.after, alert)[0]
		if got.Duplicate != tc.dup {
			t.Errorf("after %s: duplicate %v, want %v", tc.after, got.Duplicate, tc.dup)
		}
		for _, r := range all[*Raw](w.store, RawTable) {
			if RawID(r.Seq) == got.RawID && r.NativeID != tc.of {
				t.Errorf("after %s: it is %s, want %s", tc.after, r.NativeID, tc.of)
			}
		}
	}
	if got := send(400*time.Hour, alert, alert); got[0].Duplicate || !got[1].Duplicate {
		t.Errorf("twice in one unit: %+v", got)
	}
	// An identity that a sender gives is remembered as before.
	if got := send(400*time.Hour, named)[0]; got.Duplicate {
		t.Error("a given identity is taken for a hash")
	}
	if got := send(480*time.Hour, named)[0]; !got.Duplicate {
		t.Error("a given identity was forgotten")
	}
	if alert.NativeID != "hash" {
		t.Error("the sender's item was changed")
	}
}
