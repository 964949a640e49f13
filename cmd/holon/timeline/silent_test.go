package timeline

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// A turn of which nothing comes for half a minute says what may be the reason; one that has
// begun to answer does not, however long it works.
func TestAnAgentThatSaysNothingIsSuspected(t *testing.T) {
	now := clock()
	r := New(&bytes.Buffer{}, Options{Terminal: true, Now: func() time.Time { return now }})
	event := func(method, params string) {
		t.Helper()
		e, err := client.ParseEvent([]byte(`{"jsonrpc":"2.0","method":"` + method + `","params":{"seq":1,"thread_seq":1,"thread_id":"thread_a","turn_id":"turn_1",` + params + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	const says = "nothing from the agent yet: holon doctor checks it"
	event("turn/started", `"type":"started","state":"active","attempt":1,"started_at":"`+now.Format(time.RFC3339Nano)+`"`)
	event("turn/progress", `"type":"progress","progress":"running","message":""`)
	event("item/created", `"item_id":"item_1","type":"created","status":"completed","content":{"type":"user_message","content":[{"type":"text","text":"hi"}]}`)
	now = now.Add(turns.SilentAfter - time.Second)
	if status := r.status(); strings.Contains(status, says) {
		t.Errorf("too early: %q", status)
	}
	now = now.Add(2 * time.Second)
	if status := r.status(); !strings.Contains(status, says) {
		t.Errorf("after half a minute: %q", status)
	}
	event("item/created", `"item_id":"item_2","type":"created","status":"in_progress","content":{"type":"agent_message","text":""}`)
	if status := r.status(); strings.Contains(status, says) || status == "" {
		t.Errorf("it speaks: %q", status)
	}
}
