package wire

import (
	"encoding/json"
	"testing"
	"time"
)

func TestTimeIsReadInAnyFormAndWrittenInOne(t *testing.T) {
	at := Time{time.Date(2026, 11, 29, 5, 7, 9, 120e6, time.UTC)}
	for text, want := range map[string]Time{
		`"2026-11-29T05:07:09.120Z"`:       at,
		`"2026-11-29T06:07:09.12+01:00"`:   at,
		`"2026-11-29T05:07:09.120000000Z"`: at,
		`"2026-11-29T05:07:09.120\u005a"`:  at,
		`null`:                             {},
	} {
		got := Time{time.Now()}
		if err := json.Unmarshal([]byte(text), &got); err != nil || !got.Equal(want.Time) {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{`""`, `"yesterday"`, `7`, `{}`} {
		if err := json.Unmarshal([]byte(text), new(Time)); err == nil {
			t.Errorf("%s is taken as a time", text)
		}
	}
	if b, err := json.Marshal(at); err != nil || string(b) != `"2026-11-29T05:07:09.120Z"` {
		t.Errorf("written is %s, %v", b, err)
	}
	if b, err := json.Marshal(struct {
		At Time `json:"at,omitzero"`
	}{}); err != nil || string(b) != `{}` {
		t.Errorf("a time that is not known is %s, %v", b, err)
	}
}
