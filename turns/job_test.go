package turns

import (
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

func TestNamesOfJobs(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "build/linux": true, "1/2/3/4/5/6/7/8": true, "a.b_c-D9": true, strings.Repeat("x", 64): true,
		"": false, "/": false, "a/": false, "/a": false, "a//b": false, "1/2/3/4/5/6/7/8/9": false, strings.Repeat("x", 65): false,
		"a b": false, "ä": false, "a\n": false, "a:b": false,
	} {
		if err := CheckJob("job", name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The digest is that of JSON values: the order of members does not matter, everything else does.
func TestTheDigestOfAJob(t *testing.T) {
	said := func(text string) []InputMessage {
		return []InputMessage{{Type: "message", Role: "user", Content: []items.Part{{Type: items.PartText, Text: text}}}}
	}
	digest := func(input []InputMessage, agent string) string {
		s, err := JobDigest(input, agent)
		if err != nil || len(s) != 32 {
			t.Errorf("%q, %v", s, err)
		}
		return s
	}
	first := digest(said("x"), "a")
	if digest(said("x"), "a") != first {
		t.Error("it is another one each time")
	}
	for _, other := range []string{digest(said("x "), "a"), digest(said("x"), "b"), digest(append(said("x"), said("y")...), "a"), digest(said("a"), "x")} {
		if other == first {
			t.Errorf("%s is that of something else", other)
		}
	}
	if JobThread("turn_1", "a/b") == JobThread("turn_1", "a") || JobThread("turn_1", "a") == JobThread("turn_2", "a") || !threads.ValidNewID(JobThread("turn_1", "a")) {
		t.Error("two jobs have one thread")
	}
}

// rowsOf reads two rows.
type rowsOf struct {
	ledger.Reader
	parent  *Turn
	attempt *Step
}

func (r rowsOf) Get(ix *ledger.Index, _ ...any) (ledger.Values, error) {
	if ix == ByID {
		return r.parent.Values(0)
	}
	return r.attempt.Values(0)
}

// Both the seq and the time say whether a job ended before an attempt began: the seq that of the
// wait for the attempt, the time also if the clock was set back meanwhile.
func TestWhatHasEndedBeforeAnAttempt(t *testing.T) {
	began := notify.TimeOf(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	r := rowsOf{parent: &Turn{TurnID: "turn_p", Attempt: 2, State: Active, StartedAt: began}, attempt: &Step{Seq: 100, TurnID: "turn_p", Epoch: 2, Lineage: []notify.Ref{{Epoch: 2}}}}
	for name, c := range map[string]struct {
		seq    int64
		at     time.Duration
		before bool
	}{
		"in an earlier attempt":          {90, -time.Minute, true},
		"in the wait for it":             {110, -time.Second, true},
		"in it":                          {110, time.Second, false},
		"in the first millisecond of it": {110, 0, false},
		"earlier, and the clock was set back meanwhile": {90, time.Hour, true},
	} {
		job := &Turn{TurnID: "turn_j", State: Failed, Parent: &threads.Parent{ThreadID: "a", TurnID: "turn_p"}, AcceptedSeq: c.seq, CompletedAt: notify.TimeOf(began.Add(c.at))}
		if got, err := EndedBefore(r, job); err != nil || got != c.before {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
