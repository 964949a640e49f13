package items

import (
	"reflect"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/notify"
)

// An item belongs to the try that created it, also after other tries change it.
func TestItemKeepsTheLineageOfItsCreation(t *testing.T) {
	setup := notify.NewSpan("turn_a", "setup", 2, notify.NewSpan("turn_a", "", 1, nil))
	d := notify.Draft{Header: notify.Header{Seq: notify.Provisional(1), TurnID: "turn_a", Attempt: 1}}
	d.In(setup)
	row := Apply(nil, d.Header, &Created{ItemID: "item_a", Status: StatusInProgress, Content: Raw(`{"type":"plan"}`)})
	for _, body := range []any{&Updated{Status: StatusCompleted, Content: Raw(`{"type":"plan"}`)}, &Deleted{}} {
		row = Apply(row, notify.Header{Seq: notify.Provisional(3), TurnID: "turn_a", Attempt: 1}, body)
		if row.Step != "setup" || row.Epoch != 2 || !reflect.DeepEqual(row.Lineage, setup.Lineage) || row.Span != notify.Provisional(1) {
			t.Errorf("after %T: %+v", body, row)
		}
	}
	if row.AssignSeqs(10); row.Span != 11 || row.CreatedSeq != 11 || row.UpdatedSeq != 13 {
		t.Errorf("settled: %+v", row)
	}
	plain := Apply(nil, notify.Header{Seq: notify.Provisional(0)}, &Created{Content: Raw(`{"type":"plan"}`)})
	if plain.AssignSeqs(10); plain.Span != 0 || plain.Lineage != nil {
		t.Errorf("an item without a try: %+v", plain)
	}
}

// What an agent says of the format of its message stays; it is not in messages that say
// nothing.
func TestMessagesKeepTheirFormat(t *testing.T) {
	for said, want := range map[string]Format{`"format":"plain",`: FormatPlain, `"format":"markdown",`: FormatMarkdown, ``: ""} {
		content, err := FromAgent(Raw(`{"type":"agent_message",` + said + `"content":[{"text":"__init__.py"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := Encode(WithText(content, "longer"))
		if err != nil || strings.Contains(string(raw), `"format":"`+string(want)+`"`) != (want != "") || strings.Contains(string(raw), "format") != (want != "") {
			t.Errorf("%q becomes %s, %v", said, raw, err)
		}
	}
}
