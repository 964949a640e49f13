package inbox

import (
	"testing"

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
