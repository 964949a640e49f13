package notify

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestDraftBecomesTheStoredParams(t *testing.T) {
	d := Draft{
		Method: TurnStarted,
		Header: Header{ThreadID: "thread_a", TurnID: "turn_b", Attempt: 1, Timestamp: TimeFromMilli(1_700_000_000_123)},
		Body:   struct{}{},
	}
	if err := d.Encode(); err != nil {
		t.Fatal(err)
	}
	e := d.Event(42, 7)
	const want = `{"seq":42,"thread_seq":7,"thread_id":"thread_a","turn_id":"turn_b","attempt":1,"timestamp":"2023-11-14T22:13:20.123Z"}`
	if string(e.Params) != want {
		t.Errorf("got  %s\nwant %s", e.Params, want)
	}
	frame := e.AppendFrame(nil)
	if len(frame) != e.FrameSize() {
		t.Errorf("FrameSize is %d, the frame has %d bytes", e.FrameSize(), len(frame))
	}
	if want := `{"jsonrpc":"2.0","method":"turn/started","params":` + want + "}\n"; string(frame) != want {
		t.Errorf("got %s", frame)
	}
	var h Header
	if err := json.Unmarshal(e.Params, &h); err != nil || h.Seq != 42 || h.Timestamp != d.Header.Timestamp {
		t.Errorf("the header is decoded as %+v, %v", h, err)
	}
}

// The header is encoded by hand: it must match its tags.
func TestHeaderIsEncodedAsItsTagsSay(t *testing.T) {
	at := TimeFromMilli(1_700_000_000_123)
	for _, h := range []Header{
		{},
		{Timestamp: at},
		{ThreadID: "thread_a", Timestamp: at},
		{ThreadID: "thread_a", TurnID: "turn_b", Attempt: 12, Timestamp: at},
		{ThreadID: "a \"quoted\" one\n", TurnID: "é\xff", Timestamp: at},
	} {
		want, err := json.Marshal(h, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			t.Fatal(err)
		}
		if got := `{"seq":0,` + string(h.appendRest(nil, nil)) + "}"; got != string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestEventWithoutThreadHasNoThreadSeq(t *testing.T) {
	d := Draft{Method: HolonPaused, Header: Header{Timestamp: TimeFromMilli(1)}, Body: map[string]int{"a": 1}}
	if err := d.Encode(); err != nil {
		t.Fatal(err)
	}
	e := d.Event(3, 9)
	if want := `{"seq":3,"timestamp":"1970-01-01T00:00:00.001Z","a":1}`; string(e.Params) != want || e.ThreadSeq != 0 {
		t.Errorf("got %s, thread_seq %d", e.Params, e.ThreadSeq)
	}
}

func TestInvalidUTF8BecomesReplacementCharacters(t *testing.T) {
	d := Draft{Method: ItemDelta, Header: Header{Timestamp: TimeFromMilli(1)}, Body: map[string]string{"text": "a\xffb"}}
	if err := d.Encode(); err != nil {
		t.Fatal(err)
	}
	if want := `"timestamp":"1970-01-01T00:00:00.001Z","text":"a` + "\uFFFD" + `b"}`; string(d.Rest) != want {
		t.Errorf("got %s", d.Rest)
	}
}

func TestAssignSeqs(t *testing.T) {
	if got := AssignSeq(Provisional(0), 10); got != 10 {
		t.Errorf("first draft: %d", got)
	}
	if got := AssignSeq(Provisional(3), 10); got != 13 {
		t.Errorf("fourth draft: %d", got)
	}
	if got := AssignSeq(5, 10); got != 5 {
		t.Errorf("a real seq moved to %d", got)
	}
}
