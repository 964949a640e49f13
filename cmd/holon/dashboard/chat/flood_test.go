package chat

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// Five thousand deltas a second, each a message of its own, make at most 30 pictures a
// second: one a frame.
func TestAFloodOfDeltasIsDrawnOnceAFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &program{ctx: t.Context(), options: Options{Thread: "a"}, drafts: &conversation.Drafts{}}
		p.push("a")
		p.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
		page := p.top().page
		answers := map[string]string{"thread/read": `{"thread":{"thread_id":"a","state":"running"},"latest_seq":0}`, "item/list": `{"items":[]}`, "turn/list": `{"turns":[]}`}
		for actions := page.Update(time.Now(), conversation.Begin{}); len(actions) > 0; actions = actions[1:] {
			if call, ok := actions[0].(screen.Call); ok {
				actions = append(actions, page.Update(time.Now(), screen.Done{Action: call, Result: json.RawMessage(answers[call.Method])})...)
			}
		}
		seq := 0
		event := func(method, members string) {
			seq++
			p.Update(batch{p.round, client.Event{Seq: int64(seq), ThreadID: "a", Method: method, Time: time.Now(),
				Params: json.RawMessage(fmt.Sprintf(`{"seq":%d,"thread_id":"a","turn_id":"t1",%s}`, seq, members))}})
			for !p.tickAt.IsZero() && !time.Now().Before(p.tickAt) { // the timer that the program has asked for
				p.Update(tick{p.tickAt})
			}
			p.View()
		}
		event("turn/started", `"state":"active"`)
		event("item/created", `"item_id":"i1","status":"in_progress","type":"agent_message","content":{"type":"agent_message","content":[]}`)
		time.Sleep(time.Second)
		before := page.Counts().Renders
		const deltas = 5000
		for i := range deltas {
			time.Sleep(time.Second / deltas)
			event("item/delta", fmt.Sprintf(`"item_id":"i1","offset":%d,"delta":{"text":"word "}`, 5*i))
		}
		if n := page.Counts().Renders - before; n > 31 || n < 25 {
			t.Errorf("%d deltas were drawn %d times in a second", deltas, n)
		}
	})
}
