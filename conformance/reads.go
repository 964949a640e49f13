package conformance

import (
	"bytes"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func readChecks() []check {
	return []check{
		{id: "read.pages", sentence: "A list cut by limit continues at next_cursor, with no entry twice or missing.", source: srcMethods, needs: needEcho, run: func(p *probe) {
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
		{id: "read.order", sentence: "With order desc a list begins with the newest and continues backwards.", source: srcMethods, needs: needEcho, run: func(p *probe) {
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
		{id: "read.event_list", sentence: "event/list gives seq, time, method and params, and where to continue.", source: srcMethods, needs: needEcho, run: func(p *probe) {
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

// pages collects every page of a list.
func (p *probe) pages(method, key string, params obj, limit int) []object {
	var all []object
	cursor := ""
	for range 200 {
		ask := obj{"limit": limit}
		maps.Copy(ask, params)
		if cursor != "" {
			ask["cursor"] = cursor
		}
		r := p.call(p.http(), method, ask)
		p.must(r.has(key), "%s lacks %q", method, key)
		p.must(len(r.list(key)) <= limit, "%s gave %d entries, the limit was %d", method, len(r.list(key)), limit)
		all = append(all, r.objs(key)...)
		cursor = r.str("next_cursor")
		if cursor == "" {
			return all
		}
	}
	p.failf("%s did not end after 200 pages", method)
	return nil
}
