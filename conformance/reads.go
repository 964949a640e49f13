package conformance

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func readChecks() []check {
	return []check{
		{id: "read.turn", sentence: "turn/read gives the turn and, when asked, the first page of its items.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			turn := p.turn(d, thread, "/items 3 5").str("turn_id")
			d.completed(turn)
			r := p.call(d, "turn/read", obj{"turn_id": turn, "include_items": true})
			p.mustHave(r, "turn/read", "turn", "items", "latest_seq")
			p.must(r.str("turn.turn_id") == turn && r.str("turn.thread_id") == thread && r.str("turn.state") == "completed", "turn is %v", r["turn"])
			p.must(len(r.list("items")) == 4, "got %d items, want the message and three answers", len(r.list("items")))
		}},
		{id: "read.turn_list", sentence: "turn/list filters by thread and state.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			done := p.turn(d, thread, "/say x").str("turn_id")
			d.completed(done)
			active := p.running(d, thread, "/sleep 20000")
			for state, want := range map[string]string{"completed": done, "active": active} {
				got := p.pages("turn/list", "turns", obj{"thread_id": thread, "state": state}, 100)
				p.must(len(got) == 1 && got[0].str("turn_id") == want, "state %s lists %v, want %s", state, got, want)
			}
			p.must(len(p.pages("turn/list", "turns", obj{"thread_id": thread}, 100)) == 2, "the thread has not two turns")
		}},
		{id: "read.item_list", sentence: "item/list filters by thread, turn, status and type.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			turn := p.turn(d, thread, "/items 3 5").str("turn_id")
			d.completed(turn)
			for _, c := range []struct {
				params obj
				want   int
			}{
				{obj{"thread_id": thread}, 4}, {obj{"turn_id": turn}, 4},
				{obj{"turn_id": turn, "type": "agent_message"}, 3},
				{obj{"turn_id": turn, "type": "user_message"}, 1},
				{obj{"turn_id": turn, "status": "completed"}, 4},
				{obj{"turn_id": turn, "status": "failed"}, 0},
			} {
				got := p.pages("item/list", "items", c.params, 100)
				p.must(len(got) == c.want, "item/list %s gave %d items, want %d", encode(c.params), len(got), c.want)
			}
		}},
		{id: "read.same_content", sentence: "item/read gives the content that the last event of the item had.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "hello world").str("turn_id")
			d.completed(turn)
			want := p.finalMessage(d, turn)
			got := p.call(d, "item/read", obj{"item_id": want.str("item_id")}).obj("item")
			p.must(encode(got["content"]) == encode(want["content"]) && got.str("status") == want.str("status"), "item/read gave %s, the event %s", encode(got["content"]), encode(want["content"]))
		}},
		{id: "read.latest_seq", sentence: "Reads answer with latest_seq, which covers every change made before.", source: srcMethods, run: func(p *probe) {
			t := p.thread(p.http(), nil)
			for method, params := range map[string]obj{
				"thread/list": {"limit": 1}, "thread/read": {"thread_id": t.str("thread_id")},
				"turn/list": {"limit": 1}, "item/list": {"limit": 1}, "event/list": {"after_seq": p.oldest(), "limit": 1},
			} {
				r := p.call(p.http(), method, params)
				p.must(r.isInt("latest_seq") && r.num("latest_seq") >= t.num("seq"), "%s has latest_seq %v, thread/start had seq %v", method, r["latest_seq"], t["seq"])
			}
		}},
		{id: "read.pages", sentence: "A list cut by limit goes on at next_cursor, with no entry twice or missing.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			turn := p.turn(d, thread, "/items 7 5").str("turn_id")
			d.completed(turn)
			whole := p.pages("item/list", "items", obj{"turn_id": turn}, 1000)
			byTwo := p.pages("item/list", "items", obj{"turn_id": turn}, 2)
			p.must(len(whole) == 8 && len(byTwo) == 8, "got %d items whole and %d by pages, want 8", len(whole), len(byTwo))
			for i := range whole {
				p.must(whole[i].str("item_id") == byTwo[i].str("item_id"), "entry %d differs", i)
			}
			for range 2 {
				p.completedTurn(d, thread)
			}
			turns := p.pages("turn/list", "turns", obj{"thread_id": thread}, 1)
			p.must(len(turns) == 3, "turn/list by pages of one gave %d turns, want 3", len(turns))
		}},
		{id: "read.order", sentence: "With order desc a list begins with the newest and goes on backwards.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			thread := p.echoThread(d)
			turn := p.turn(d, thread, "/items 7 5").str("turn_id")
			d.completed(turn)
			whole := p.pages("item/list", "items", obj{"turn_id": turn}, 1000)
			back := p.pages("item/list", "items", obj{"turn_id": turn, "order": "desc"}, 3)
			p.must(len(whole) == 8 && len(back) == 8, "got %d items forwards and %d backwards, want 8", len(whole), len(back))
			for i := range whole {
				p.must(whole[i].str("item_id") == back[7-i].str("item_id"), "entry %d differs", i)
			}
			newest := p.call(d, "thread/list", obj{"order": "desc", "limit": 1}).objs("threads")
			p.must(len(newest) == 1, "got %d threads, the limit was 1", len(newest))
			first := p.call(d, "turn/list", obj{"thread_id": thread, "order": "asc"}).objs("turns")
			p.must(len(first) == 1 && first[0].str("turn_id") == turn, "turn/list does not list the turn")
			f := p.refuse(d, -32602, "invalid_params", "turn/list", obj{"order": "sideways"})
			p.must(f.str("data.field") == "order", "data.field is %q", f.str("data.field"))
		}},
		{id: "read.limits", sentence: "A limit outside 1 to 1,000 gets -32602.", source: srcMethods, run: func(p *probe) {
			for _, method := range []string{"thread/list", "turn/list", "item/list", "event/list"} {
				for _, limit := range []int{0, -1, 1001} {
					params := obj{"limit": limit}
					if method == "event/list" {
						params["after_seq"] = 0
					}
					f := p.refuse(p.http(), -32602, "invalid_params", method, params)
					p.must(f.str("data.field") == "limit", "%s: data.field is %q", method, f.str("data.field"))
				}
			}
		}},
		{id: "read.bad_cursor", sentence: "A list cursor that is none gets -32602.", source: srcErrors, run: func(p *probe) {
			for _, method := range []string{"thread/list", "turn/list", "item/list"} {
				m := p.http().try(method, obj{"cursor": "no such cursor"})
				p.must(m.code() == -32602, "%s answered %s", method, clip(m.raw, 200))
			}
		}},
		{id: "read.event_list", sentence: "event/list gives seq, time, method and params, and where to go on.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			from := int64(d.opened().num("latest_seq"))
			thread := p.echoThread(d)
			p.completedTurn(d, thread)
			var all []object
			for after := from; ; {
				r := p.call(d, "event/list", obj{"after_seq": after, "limit": 3, "thread_id": thread})
				p.mustHave(r, "event/list", "events", "next_after_seq", "latest_seq", "has_more")
				p.must(len(r.list("events")) <= 3, "got %d events, the limit was 3", len(r.list("events")))
				all = append(all, r.objs("events")...)
				next := int64(r.num("next_after_seq"))
				p.must(next >= after, "next_after_seq went back from %d to %d", after, next)
				if !r.isTrue("has_more") {
					break
				}
				p.must(next > after, "has_more, but next_after_seq stays at %d", next)
				after = next
			}
			live := d.ofThread(thread)
			p.must(len(all) == len(live), "event/list gave %d events, the stream %d", len(all), len(live))
			for i, m := range live {
				p.mustHave(all[i], "an event", "seq", "time", "method", "params")
				p.must(int64(all[i].num("seq")) == m.seq() && all[i].str("method") == m.method, "event %d is %s %v, on the stream %s %d", i, all[i].str("method"), all[i]["seq"], m.method, m.seq())
				p.mustTime(all[i], "an event", "time")
			}
		}},
		{id: "read.event_list_bytes", sentence: "event/list gives the same params, byte for byte, as the stream.", source: srcStreams, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			from := int64(d.opened().num("latest_seq"))
			thread := p.echoThread(d)
			p.completedTurn(d, thread)
			m := d.try("event/list", obj{"after_seq": from, "limit": 1000, "thread_id": thread})
			var page struct {
				Events []struct {
					Seq    int64          `json:"seq"`
					Params jsontext.Value `json:"params"`
				} `json:"events"`
			}
			err := json.Unmarshal(m.result, &page)
			p.must(err == nil, "event/list: %v", err)
			for i, live := range d.ofThread(thread) {
				p.must(i < len(page.Events) && bytes.Equal(page.Events[i].Params, live.params), "event %d differs from the stream's", i)
			}
		}},
		{id: "read.event_list_filter", sentence: "event/list takes method filters, kinds such as item/* included.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			from := int64(d.opened().num("latest_seq"))
			thread := p.echoThread(d)
			p.completedTurn(d, thread)
			r := p.call(d, "event/list", obj{"after_seq": from, "thread_id": thread, "methods": []any{"item/*", "turn/started"}})
			p.must(len(r.list("events")) > 1, "got %d events", len(r.list("events")))
			for _, e := range r.objs("events") {
				p.must(e.str("method") == "turn/started" || len(e.str("method")) > 5 && e.str("method")[:5] == "item/", "got %s", e.str("method"))
			}
		}},
	}
}

// completedTurn runs a small turn to its end and returns its id.
func (p *probe) completedTurn(d *duplex, thread string) string {
	turn := p.turn(d, thread, "hello there").str("turn_id")
	d.completed(turn)
	return turn
}
