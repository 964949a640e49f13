package persist

import (
	"reflect"
	"testing"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
)

func TestEveryMethodOfTheLogDecodes(t *testing.T) {
	for _, method := range notify.LogMethods {
		make := bodies[method]
		if make == nil {
			t.Errorf("%s has no body", method)
			continue
		}
		h := notify.Header{ThreadID: "thread_a", TurnID: "turn_a", Attempt: 1, Timestamp: notify.TimeOf(time.UnixMilli(1e12))}
		made := make()
		if content := reflect.ValueOf(made).Elem().FieldByName("Content"); content.IsValid() {
			content.Set(reflect.ValueOf(items.Raw(`{"type":"plan"}`)))
		}
		d := notify.Draft{Method: method, Header: h, Body: made}
		if err := d.Encode(); err != nil {
			t.Fatal(err)
		}
		e := d.Event(7, 3)
		got, body, err := Decode(method, e.Params)
		h.Seq, h.ThreadSeq = 7, 3
		if err != nil || !reflect.DeepEqual(got, h) || !reflect.DeepEqual(body, d.Body) {
			t.Errorf("%s decodes to %+v %+v, %v", method, got, body, err)
		}
	}
	if _, _, err := Decode("stream/opened", []byte("{}")); err == nil {
		t.Error("a method that is in no log was decoded")
	}
}
