package inbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// wantInvalid compares an error with the field and the reason of the
// *turns.InvalidError that it must be; no field means no error.
func wantInvalid(t *testing.T, what string, err error, field, reason string) {
	t.Helper()
	var bad *turns.InvalidError
	switch {
	case field == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case field != "" && (!errors.As(err, &bad) || bad.Field != field || bad.Reason != reason):
		t.Errorf("%s: %#v, want %s %s", what, err, field, reason)
	}
}

func TestItemCheck(t *testing.T) {
	long := strings.Repeat("x", MaxIDBytes)
	ok := Item{Source: "gh", NativeID: "1"}
	for name, c := range map[string]struct {
		change        func(*Item)
		field, reason string
	}{
		"least":                {func(*Item) {}, "", ""},
		"no source":            {func(it *Item) { it.Source = "" }, "i.source", "invalid"},
		"source with a space":  {func(it *Item) { it.Source = "a b" }, "i.source", "invalid"},
		"source with a slash":  {func(it *Item) { it.Source = "a/b" }, "i.source", "invalid"},
		"longest source":       {func(it *Item) { it.Source = long[:MaxSourceBytes] }, "", ""},
		"source too long":      {func(it *Item) { it.Source = long[:MaxSourceBytes+1] }, "i.source", "invalid"},
		"every character":      {func(it *Item) { it.Source = "azAZ09._-" }, "", ""},
		"no native_id":         {func(it *Item) { it.NativeID = "" }, "i.native_id", "required"},
		"longest native_id":    {func(it *Item) { it.NativeID = long }, "", ""},
		"native_id too long":   {func(it *Item) { it.NativeID = long + "x" }, "i.native_id", "too_large"},
		"native_id of 2 lines": {func(it *Item) { it.NativeID = "a\nb" }, "i.native_id", "invalid"},
		"native_id not UTF-8":  {func(it *Item) { it.NativeID = "a\xff" }, "i.native_id", "invalid"},
		"longest summary":      {func(it *Item) { it.Summary = strings.Repeat("é", MaxSummary) }, "", ""},
		"summary too long":     {func(it *Item) { it.Summary = strings.Repeat("é", MaxSummary+1) }, "i.summary", "too_large"},
		"summary of 2 lines":   {func(it *Item) { it.Summary = "a\u2028b" }, "i.summary", "invalid"},
		"summary backwards":    {func(it *Item) { it.Summary = "a\u202eb" }, "i.summary", "invalid"},
		"largest payload":      {func(it *Item) { it.Payload = make(jsontext.Value, MaxPayloadBytes) }, "", ""},
		"payload too large":    {func(it *Item) { it.Payload = make(jsontext.Value, MaxPayloadBytes+1) }, "i.payload", "too_large"},
		"empty grouping":       {func(it *Item) { it.Grouping = &Grouping{} }, "", ""},
		"whole grouping": {func(it *Item) {
			it.Grouping = &Grouping{ResourceRef: long, EventFamily: long, Flush: FlushNormal, Breaks: BreaksNone}
		}, "", ""},
		"resource too long": {func(it *Item) { it.Grouping = &Grouping{ResourceRef: long + "x"} }, "i.grouping.resource_ref", "too_large"},
		"family of 2 lines": {func(it *Item) { it.Grouping = &Grouping{EventFamily: "a\rb"} }, "i.grouping.event_family", "invalid"},
		"unknown flush":     {func(it *Item) { it.Grouping = &Grouping{Flush: "soon"} }, "i.grouping.flush", "unknown"},
		"unknown breaks":    {func(it *Item) { it.Grouping = &Grouping{Breaks: "both"} }, "i.grouping.breaks", "unknown"},
	} {
		it := ok
		c.change(&it)
		wantInvalid(t, name, it.Check("i"), c.field, c.reason)
	}
}

func TestIngestCheck(t *testing.T) {
	items := func(n int) (list []Item) {
		for i := range n {
			list = append(list, single(i))
		}
		return list
	}
	for name, c := range map[string]struct {
		items         []Item
		field, reason string
	}{
		"none":     {nil, "items", "out_of_range"},
		"most":     {items(MaxItems), "", ""},
		"too many": {items(MaxItems + 1), "items", "out_of_range"},
		"second":   {[]Item{single(1), {Source: "gh"}}, "items[1].native_id", "required"},
		"message":  {[]Item{{Source: SourceMessage, NativeID: "1"}}, "items[0].source", "invalid"},
		"events":   {[]Item{{Source: SourceEvents, NativeID: "1"}}, "items[0].source", "invalid"},
		"turns":    {[]Item{{Source: SourceTurns, NativeID: "1"}}, "items[0].source", "invalid"},
		"timer":    {[]Item{{Source: SourceTimer, NativeID: "1"}}, "items[0].source", "invalid"},
		"timers":   {[]Item{{Source: "ci", NativeID: "1"}, {Source: "timers", NativeID: "1"}}, "items[1].source", "invalid"},
	} {
		wantInvalid(t, name, (&Ingest{Items: c.items}).Check(), c.field, c.reason)
	}
}

func TestAckCheck(t *testing.T) {
	seq, negative := int64(1), int64(-1)
	for name, c := range map[string]struct {
		ack           Ack
		field, reason string
	}{
		"nothing":          {Ack{}, "entry_ids", "required"},
		"two":              {Ack{All: true, AsOfSeq: &seq, ThroughEntryID: "ent_1"}, "entry_ids", "required"},
		"no ids":           {Ack{EntryIDs: []notify.ID{}}, "entry_ids", "out_of_range"},
		"ids":              {Ack{EntryIDs: make([]notify.ID, MaxAckIDs)}, "", ""},
		"too many ids":     {Ack{EntryIDs: make([]notify.ID, MaxAckIDs+1)}, "entry_ids", "out_of_range"},
		"all without seq":  {Ack{All: true}, "as_of_seq", "required"},
		"all":              {Ack{All: true, AsOfSeq: &seq}, "", ""},
		"all as of -1":     {Ack{All: true, AsOfSeq: &negative}, "as_of_seq", "out_of_range"},
		"through":          {Ack{ThroughEntryID: "ent_1"}, "", ""},
		"through with seq": {Ack{ThroughEntryID: "ent_1", AsOfSeq: &seq}, "as_of_seq", "invalid"},
	} {
		wantInvalid(t, name, c.ack.Check(), c.field, c.reason)
	}
}

func TestCutPayloadIsJSONWithinTheBound(t *testing.T) {
	for name, payload := range map[string]string{
		"quotes": `"` + strings.Repeat(`\"`, MaxPayloadBytes) + `"`, "text": `"` + strings.Repeat("é", MaxPayloadBytes) + `"`,
		"control": `"` + strings.Repeat(`\u0001`, MaxPayloadBytes) + `"`, "list": "[" + strings.Repeat("1,\n", MaxPayloadBytes) + "1]",
		"just too large": `"` + strings.Repeat("x", MaxPayloadBytes-1) + `"`,
	} {
		var it Item
		it.Cut(jsontext.Value(payload))
		var head string
		if err := json.Unmarshal(it.Payload, &head); err != nil || len(it.Payload) > MaxPayloadBytes || head == "" {
			t.Errorf("%s: %d bytes, %v", name, len(it.Payload), err)
		}
		if !it.Truncated || it.TotalBytes != int64(len(payload)) || !strings.HasPrefix(payload, head) {
			t.Errorf("%s: %v, %d bytes, begins %.20q", name, it.Truncated, it.TotalBytes, head)
		}
	}
	var it Item
	it.Cut(jsontext.Value(`{"a":1}`))
	if it.Truncated || it.TotalBytes != 0 || string(it.Payload) != `{"a":1}` {
		t.Errorf("a small payload: %+v", it)
	}
}

// The beginning of a payload alone does not say who sent it.
func TestCutPayloadKeepsItsSender(t *testing.T) {
	w := newWorld()
	large := func(n int, sender string) Item {
		it := grouped(n)
		it.Cut(jsontext.Value(`{"text":"` + strings.Repeat("x", MaxPayloadBytes) + `","sender":` + sender + `}`))
		if !it.Truncated {
			t.Errorf("%d is not cut", n)
		}
		return it
	}
	w.ingest(t, large(1, `"bob"`), large(2, `{"login":"ann"}`), large(3, `"bob"`))
	if d := w.digests(); len(d) != 1 || len(d[0].Senders) != 2 {
		t.Errorf("%+v", d)
	}
	it := Item{Sender: "cyd"} // the source has said so
	it.Cut(jsontext.Value(`{"sender":"bob","text":"` + strings.Repeat("x", MaxPayloadBytes) + `"}`))
	if it.Sender != "cyd" {
		t.Errorf("the sender is %s", it.Sender)
	}
}

func TestPayloadCountsTheBytesOfItsEvent(t *testing.T) {
	for _, payload := range []string{
		`{"a":1}`, ` { "a" : [1, 2.50e3 , null] } `, `{"a":"\u0041\/é\u00e9\u2028\ud83d\ude00"}`, `"\u0000\n\""`, `[ ]`, "1e400",
	} {
		var it Item
		it.Cut(jsontext.Value(payload))
		event, err := json.Marshal(Received{Payload: it.Payload})
		if err != nil {
			t.Fatal(payload, err)
		}
		var b Received
		if err := json.Unmarshal(event, &b); err != nil {
			t.Fatal(payload, err)
		}
		if string(b.Payload) != string(it.Payload) {
			t.Errorf("%s is %s when it arrives, and %s in its event", payload, it.Payload, b.Payload)
		}
	}
}

func TestNamesThatCouldBeTakenForOurSources(t *testing.T) {
	for own, names := range map[string][]string{
		SourceTimer:   {"timer", "timers", "Timer", "TIMERS", "t.i.m-e_r", "t1mer", "tlmer", "tImer", "tirner", "timer.s", "timer_"},
		SourceMessage: {"message", "messages", "Message", "rnessage", "me55age"},
		SourceEvents:  {"events", "event", "EVENTS", "event-s", "event5"},
		SourceTurns:   {"turns", "turn", "Turn.s", "tums"},
		"": {
			"", "s", "ci", "github", "alertmanager", "events-ci", "my-timer", "timer2", "mailer", "returns", "turner", "eventbus", "message-queue", "home-assistant",
		},
	} {
		for _, name := range names {
			if got := TakenForOwn(name); got != own {
				t.Errorf("%q is taken for %q, want %q", name, got, own)
			}
		}
	}
}
