package events

import (
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

func TestEveryMethodOfTheLogDecodes(t *testing.T) {
	span := notify.NewSpan("turn_a", "setup", 2, notify.NewSpan("turn_a", "", 1, nil))
	for i := range All {
		method, make := All[i].Method, All[i].New
		d := notify.Draft{Method: method, Body: make(), Header: notify.Header{
			Seq: notify.Provisional(0), ThreadID: "thread_a", TurnID: "turn_a", Attempt: 1, Timestamp: notify.TimeOf(time.UnixMilli(1e12)),
		}}
		if content := reflect.ValueOf(d.Body).Elem().FieldByName("Content"); content.IsValid() {
			content.Set(reflect.ValueOf(items.Raw(`{"type":"plan"}`)))
		}
		for _, name := range []string{"EntryIDs", "NewRawIDs"} { // lists that are never absent
			if ids := reflect.ValueOf(d.Body).Elem().FieldByName(name); ids.IsValid() {
				ids.Set(reflect.ValueOf([]notify.ID{"ent_3"}))
			}
		}
		want := d.Header
		about := reflect.ValueOf(d.Body).Elem().FieldByName("TurnID") // of events about a turn that are not the turn's
		switch b := d.Body.(type) {
		case *turns.RewindEvent: // the body has a step, and there is no lineage
			b.Step, want.Step = "setup", "setup"
		case *turns.LateEvent:
			b.Step, b.Epoch, want.Step, want.Epoch = "setup", 1, "setup", 1
			b.Event = turns.LateInner{Method: notify.ItemDelta, Params: jsontext.Value(`{"delta":{"text":"x"}}`)}
		default:
			if about.IsValid() {
				about.SetString("turn_a")
				d.Header.TurnID = ""
				break
			}
			d.In(span)
			want = d.Header
		}
		if err := d.Encode(); err != nil {
			t.Fatal(err)
		}
		e := d.Event(7, 3)
		got, body, err := Decode(method, e.Params)
		want.Seq, want.ThreadSeq, want.Span = 7, 3, 0 // the span is not on the wire
		if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(body, d.Body) {
			t.Errorf("%s decodes to %+v %+v, %v", method, got, body, err)
		}
	}
	if _, _, err := Decode("stream/opened", []byte("{}")); err == nil {
		t.Error("a method that is in no log was decoded")
	}
}
