package cursors

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

func at(second int64) notify.Time { return notify.TimeOf(time.Unix(1_800_000_000+second, 0)) }

// The states that an advance can find, with another error in each.
var (
	name  = Name{ConsumerID: "laptop", StreamName: StreamEvents}
	none  = Zero(name)
	begun = Cursor{ConsumerID: "laptop", StreamName: StreamEvents, Exists: true, LastError: "down", UpdatedAt: at(1)}
	given = Cursor{ConsumerID: "laptop", StreamName: StreamEvents, Exists: true, LastSequence: 10, LastDeliveryID: "a",
		LastDeliveredAt: at(1), LastError: "down", UpdatedAt: at(1), deliveredSeq: 10}
	// Delivered at 8, and then passed up to 10 without a delivery.
	passed = Cursor{ConsumerID: "laptop", StreamName: StreamEvents, Exists: true, LastSequence: 10, LastDeliveryID: "a",
		LastDeliveredAt: at(1), LastError: "down", UpdatedAt: at(1), deliveredSeq: 8}
	unnamed = Cursor{ConsumerID: "laptop", StreamName: StreamEvents, Exists: true, LastSequence: 10, LastDeliveredAt: at(1),
		LastError: "down", UpdatedAt: at(1), deliveredSeq: 10}
)

// TestAdvanceInEveryState is the whole matrix: each state against lower, equal and
// higher, without a delivery, with the same one and with others.
func TestAdvanceInEveryState(t *testing.T) {
	a, b, noID := &Delivery{ID: "a", At: at(5)}, &Delivery{ID: "b"}, &Delivery{At: at(5)}
	const refused, repeated, moved, delivered = "refused", "repeated", "moved", "delivered"
	for _, c := range []struct {
		state string
		from  Cursor
		to    int64
		d     *Delivery
		want  string
	}{
		{"none", none, 0, nil, repeated}, {"none", none, 0, noID, repeated}, {"none", none, 0, a, refused},
		{"none", none, 1, nil, moved}, {"none", none, 1, noID, delivered}, {"none", none, 1, a, delivered},
		{"begun", begun, 0, nil, repeated}, {"begun", begun, 0, noID, repeated}, {"begun", begun, 0, a, refused},
		{"begun", begun, 7, nil, moved}, {"begun", begun, 7, noID, delivered}, {"begun", begun, 7, b, delivered},
		{"given", given, 9, nil, refused}, {"given", given, 9, noID, refused}, {"given", given, 9, a, refused}, {"given", given, 9, b, refused},
		{"given", given, 10, nil, refused}, {"given", given, 10, noID, refused}, {"given", given, 10, a, repeated}, {"given", given, 10, b, refused},
		{"given", given, 11, nil, moved}, {"given", given, 11, noID, delivered}, {"given", given, 11, a, delivered}, {"given", given, 11, b, delivered},
		{"passed", passed, 8, a, refused}, {"passed", passed, 9, nil, refused},
		{"passed", passed, 10, nil, repeated}, {"passed", passed, 10, noID, repeated}, {"passed", passed, 10, a, refused}, {"passed", passed, 10, b, refused},
		{"passed", passed, 11, nil, moved}, {"passed", passed, 11, noID, delivered}, {"passed", passed, 11, a, delivered},
		{"unnamed", unnamed, 9, nil, refused}, {"unnamed", unnamed, 9, noID, refused}, {"unnamed", unnamed, 9, a, refused},
		{"unnamed", unnamed, 10, nil, repeated}, {"unnamed", unnamed, 10, noID, repeated}, {"unnamed", unnamed, 10, a, refused},
		{"unnamed", unnamed, 11, nil, moved}, {"unnamed", unnamed, 11, noID, delivered}, {"unnamed", unnamed, 11, b, delivered},
	} {
		got, err := c.from.Advance(c.to, c.d, at(9))
		want := c.from
		want.Exists, want.LastSequence, want.LastError, want.UpdatedAt = true, c.to, "", at(9)
		switch c.want {
		case refused:
			var not *NotMonotonicError
			if !errors.As(err, &not) || not.Cursor != c.from || got != c.from {
				t.Errorf("%s to %d with %+v: %+v, %v; want what is stored", c.state, c.to, c.d, got, err)
			}
			continue
		case delivered:
			want.LastDeliveryID, want.LastDeliveredAt, want.deliveredSeq = c.d.ID, c.d.At, c.to
			if c.d.At.IsZero() {
				want.LastDeliveredAt = at(9)
			}
		}
		if err != nil || got != want {
			t.Errorf("%s to %d with %+v:\n%+v, %v; want\n%+v", c.state, c.to, c.d, got, err, want)
		}
	}
}

// TestCursorD9ASuppressedEventKeepsTheLastDelivery passes events without a delivery
// between deliveries: what is known of the last delivery stays.
func TestCursorD9ASuppressedEventKeepsTheLastDelivery(t *testing.T) {
	c := must(none.Advance(3, &Delivery{ID: "a"}, at(1)))
	c = c.Fail("down", at(2))
	if c.LastSequence != 3 || c.LastDeliveryID != "a" || c.LastDeliveredAt != at(1) || c.LastError != "down" {
		t.Errorf("a failure changes more than the error: %+v", c)
	}
	c = must(c.Advance(7, nil, at(3)))
	if c.LastSequence != 7 || c.LastDeliveryID != "a" || c.LastDeliveredAt != at(1) || c.LastError != "" {
		t.Errorf("a suppressed event changes the delivery: %+v", c)
	}
	if c = must(c.Advance(7, nil, at(4))); c.LastDeliveryID != "a" {
		t.Errorf("its repetition: %+v", c)
	}
}

func must(c Cursor, err error) Cursor {
	if err != nil {
		panic(err)
	}
	return c
}

func TestResetClearsTheDeliveryAndTheError(t *testing.T) {
	for _, to := range []int64{0, 4, 10, 50} {
		got := given.Reset(to, at(9))
		want := Cursor{ConsumerID: "laptop", StreamName: StreamEvents, Exists: true, LastSequence: to, UpdatedAt: at(9)}
		if got != want {
			t.Errorf("to %d: %+v", to, got)
		}
		// The same sequence was confirmed by nothing now.
		if _, err := got.Advance(to, &Delivery{ID: "a"}, at(10)); err == nil {
			t.Errorf("after a reset to %d the earlier delivery counts", to)
		}
		if _, err := got.Advance(to, nil, at(10)); err != nil {
			t.Error(err)
		}
	}
}

func TestErrorIsCutAtARune(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{strings.Repeat("x", MaxText), MaxText}, {strings.Repeat("x", MaxText+1), MaxText},
		{strings.Repeat("ü", MaxText), MaxText}, {"x" + strings.Repeat("ü", MaxText), MaxText - 1},
		{strings.Repeat("€", MaxText), MaxText/3*3 + 0}, {strings.Repeat("x", MaxText-1) + "😀", MaxText - 1},
		{"a\xffb", 5},
	} {
		got := none.Fail(c.text, at(1)).LastError
		if len(got) != c.want || !utf8.ValidString(got) {
			t.Errorf("%.10q…: %d bytes, want %d", c.text, len(got), c.want)
		}
	}
}

func TestNamesAreTrimmedAndBounded(t *testing.T) {
	long, most := strings.Repeat("n", MaxName+1), strings.Repeat("n", MaxName)
	seq, low := int64(1), int64(-1)
	for _, c := range []struct {
		what  string
		check func() error
		field string // "" = it is allowed
	}{
		{"spaces around", (&Advance{Name: Name{" a\n", "\tb ", " "}, LastSequence: &seq}).Check, ""},
		{"longest", (&Advance{Name: Name{" " + most + " ", most, most}, LastSequence: &seq, DeliveryID: most}).Check, ""},
		{"no consumer", (&Advance{Name: Name{" ", "b", ""}, LastSequence: &seq}).Check, "consumer_id"},
		{"no stream", (&RecordError{Name: Name{"a", " ", ""}, Error: "x"}).Check, "stream_name"},
		{"long consumer", (&RecordError{Name: Name{long, "b", ""}, Error: "x"}).Check, "consumer_id"},
		{"long stream", (&RecordError{Name: Name{"a", long, ""}, Error: "x"}).Check, "stream_name"},
		{"long subject", (&RecordError{Name: Name{"a", "b", long}, Error: "x"}).Check, "subject_id"},
		{"long in bytes", (&RecordError{Name: Name{strings.Repeat("ü", MaxName/2+1), "b", ""}, Error: "x"}).Check, "consumer_id"},
		{"no error", (&RecordError{Name: Name{"a", "b", ""}}).Check, "error"},
		{"an empty error", (&RecordError{Name: Name{"a", "b", ""}, Error: " \t\n"}).Check, "error"},
		{"long delivery id", (&Advance{Name: Name{"a", "b", ""}, LastSequence: &seq, DeliveryID: long}).Check, "delivery_id"},
		{"negative advance", (&Advance{Name: Name{"a", "b", ""}, LastSequence: &low}).Check, "last_sequence"},
		{"negative reset", (&Reset{Name: Name{"a", "b", ""}, LastSequence: &low, Reason: "x"}).Check, "last_sequence"},
		{"reset without reason", (&Reset{Name: Name{"a", "b", ""}, LastSequence: &seq, Reason: " "}).Check, "reason"},
		{"deletion without reason", (&Delete{Name: Name{"a", "b", ""}}).Check, "reason"},
		{"long reason", (&Delete{Name: Name{"a", "b", ""}, Reason: strings.Repeat("x", MaxText+1)}).Check, "reason"},
		{"list of no consumer", (&Query{ConsumerID: new(string)}).Check, "consumer_id"},
		{"list of a long subject", (&Query{SubjectID: &long}).Check, "subject_id"},
		{"list of no subject", (&Query{SubjectID: new(string)}).Check, ""},
	} {
		var bad *turns.InvalidError
		if err := c.check(); c.field == "" && err != nil || c.field != "" && (!errors.As(err, &bad) || bad.Field != c.field) {
			t.Errorf("%s: %v, want an error about %q", c.what, err, c.field)
		}
	}
	n := Name{" a\n", "\tb ", " "}
	if err := n.Check(); err != nil || n != (Name{"a", "b", ""}) {
		t.Errorf("%q, %v", n, err)
	}
	text := " a "
	q := Query{ConsumerID: &text}
	if err := q.Check(); err != nil || *q.ConsumerID != "a" || text != " a " {
		t.Errorf("%q, %v", *q.ConsumerID, err)
	}
}

func TestClientsDoNotChangeCursorsOfTheServer(t *testing.T) {
	seq := int64(1)
	for _, n := range []Name{{"subscription:a", "events", ""}, {" subscription:", "events", ""}} {
		for what, check := range map[string]func() error{
			"advance": (&Advance{Name: n, LastSequence: &seq}).Check, "error": (&RecordError{Name: n, Error: "x"}).Check,
			"reset": (&Reset{Name: n, LastSequence: &seq, Reason: "x"}).Check, "delete": (&Delete{Name: n, Reason: "x"}).Check,
		} {
			if err := check(); !errors.Is(err, ErrServers) {
				t.Errorf("%s of %q: %v", what, n.ConsumerID, err)
			}
		}
		if err := n.Check(); err != nil {
			t.Errorf("%q cannot be read: %v", n.ConsumerID, err)
		}
	}
	if (Name{ConsumerID: "Subscription:a"}).OfServer() || (Name{ConsumerID: "my subscription:a"}).OfServer() {
		t.Error("another consumer belongs to the server")
	}
}

// TestCursorD10EventsSayWhoAndWhy: a reset and a deletion keep their reason in the
// log, and not in the error of the cursor.
func TestCursorD10EventsSayWhoAndWhy(t *testing.T) {
	before := given
	before.SubjectID = "thread_a"
	after := before.Reset(3, at(9))
	want := ResetEvent{
		ConsumerID: "laptop", StreamName: "events", SubjectID: "thread_a", SubjectThreadID: "thread_a",
		FromSequence: 10, ToSequence: 3, Reason: "lost", By: ByServer,
	}
	d := ResetDraft(2, before, after, "lost", ByServer, at(9))
	if d.Method != notify.CursorReset || d.Header.Seq != notify.Provisional(2) || d.Header.ThreadID != "" || d.Header.Timestamp != at(9) || !reflect.DeepEqual(d.Body, &want) {
		t.Errorf("%+v %+v", d, d.Body)
	}
	if after.LastError != "" {
		t.Errorf("the reason became the error: %q", after.LastError)
	}
	gone := DeletedEvent(want)
	gone.ToSequence, gone.By = 0, ByClient
	if d := deletedDraft(before, "lost", ByClient, at(9)); d.Method != notify.CursorDeleted || !reflect.DeepEqual(d.Body, &gone) {
		t.Errorf("%+v", d.Body)
	}
	for _, n := range []Name{{"a", "events", ""}, {"a", "events", "no thread"}, {"a", "mail", "thread_a"}} {
		c := Zero(n)
		if b := ResetDraft(0, c, c, "x", ByClient, at(1)).Body.(*ResetEvent); b.SubjectThreadID != "" {
			t.Errorf("%v is about the thread %q", n, b.SubjectThreadID)
		}
	}
}

// A unit that makes and removes several cursors has one tally.
func TestUnitHasOneTally(t *testing.T) {
	u := &ledger.Unit{}
	a, b := Zero(Name{"a", "mail", ""}), Zero(Name{"b", "mail", ""})
	Write(u, a, a.Fail("x", at(1)))
	Remove(u, given)
	Write(u, b, b.Fail("x", at(1)))
	Write(u, passed, passed.Fail("x", at(1)))
	if len(u.Rows) != 5 || len(u.Fences) != 5 {
		t.Errorf("%d rows, %d fences", len(u.Rows), len(u.Fences))
	}
	if n := tallyOf(u); len(n.made) != 2 || n.removed != 1 {
		t.Errorf("%d made, %d removed", len(n.made), n.removed)
	}
}

func TestColumnsAreReadAsTheyAreWritten(t *testing.T) {
	for _, c := range []Cursor{begun, given, passed, unnamed} {
		if got := *Read(c.values()); got != c {
			t.Errorf("%+v, want %+v", got, c)
		}
	}
}
