package conformance

import (
	"slices"
	"strings"
)

// single returns an item that is not grouped.
func single(name string) obj { return obj{"source": "ci", "native_id": name} }

// grouped returns an item of one digest.
func grouped(name, flush string) obj {
	return obj{"source": "ci", "native_id": name, "grouping": obj{"resource_ref": "pr:1", "event_family": "reviews", "flush": flush}}
}

// ingest stores items and returns the results, one for each.
func (p *probe) ingest(c caller, thread string, items ...any) []object {
	r := p.call(c, "inbox/ingest", obj{"thread_id": thread, "items": items}).objs("results")
	p.must(len(r) == len(items), "inbox/ingest of %d items has %d results", len(items), len(r))
	return r
}

// visible lists the ids of the entries that inbox/read returns by default.
func (p *probe) visible(c caller, thread string) (ids []string, page object) {
	page = p.call(c, "inbox/read", obj{"thread_id": thread, "limit": 1000})
	for _, e := range page.objs("entries") {
		ids = append(ids, e.str("entry_id"))
	}
	return ids, page
}

func inboxChecks() []check {
	return []check{
		{id: "inbox.too_large", sentence: "A payload, a summary or a text beyond its bound is refused as too_large, and one at the bound is stored.", source: srcInbox, needs: needEcho, run: func(p *probe) {
			c := p.http()
			thread := p.echoThread(c)
			most := p.facts.limit("max_inbox_payload_bytes", 65536)
			refused := func(field, method string, params obj) {
				params["thread_id"] = thread
				f := p.refuse(c, -32602, "invalid_params", method, params)
				p.must(f.str("data.field") == field && f.str("data.reason") == "too_large", "%s: field %q, reason %q", method, f.str("data.field"), f.str("data.reason"))
			}
			with := func(name, member string, value any) obj {
				item := single(name)
				item[member] = value
				return item
			}
			// The quotes count.
			refused("items[0].payload", "inbox/ingest", obj{"items": []any{with("a", "payload", strings.Repeat("x", most-1))}})
			summary := p.facts.limit("max_inbox_summary_characters", 400)
			refused("items[0].summary", "inbox/ingest", obj{"items": []any{with("a", "summary", strings.Repeat("ü", summary+1))}})
			text := p.facts.limit("max_inbox_send_bytes", 32768)
			refused("text", "inbox/send", obj{"text": strings.Repeat("x", text+1)})
			_, page := p.visible(c, thread)
			p.must(page.num("unacked_entries") == 0, "something that was refused is stored")
			r := p.ingest(c, thread, with("a", "payload", strings.Repeat("x", most-2)), with("b", "summary", strings.Repeat("ü", summary)))
			p.call(c, "inbox/send", obj{"thread_id": thread, "text": strings.Repeat("x", text)})
			got := p.call(c, "inbox/expand", obj{"thread_id": thread, "entry_id": r[0].str("entry_id")}).objs("items")
			p.must(len(got) == 1 && len(got[0].str("payload")) == most-2, "a payload of the largest size does not come back")
		}},
		{id: "inbox.too_many", sentence: "A request stores up to max_inbox_items_per_ingest items, in their order, and no more.", source: srcInbox, needs: needEcho, run: func(p *probe) {
			c := p.http()
			thread := p.echoThread(c)
			most := p.facts.limit("max_inbox_items_per_ingest", 256)
			items := make([]any, most+1)
			for i := range items {
				items[i] = single(itoa(int64(i)))
			}
			f := p.refuse(c, -32602, "invalid_params", "inbox/ingest", obj{"thread_id": thread, "items": items})
			p.must(f.str("data.field") == "items", "data.field is %q", f.str("data.field"))
			var posted []string
			for _, r := range p.ingest(c, thread, items[:most]...) {
				posted = append(posted, r.str("entry_id"))
			}
			ids, _ := p.visible(c, thread)
			p.must(slices.Equal(ids, posted), "inbox/read returns %v, inbox/ingest posted %v", ids, posted)
		}},
		{id: "inbox.idempotency", sentence: "Every change of an inbox or a timer takes an idempotency_key, and a repetition gets the first result.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			c := p.http()
			thread := p.echoThread(c)
			twice := func(method string, params obj) object {
				params["thread_id"], params["idempotency_key"] = thread, p.nonce("key")
				first := p.call(c, method, params)
				again := p.call(c, method, params)
				p.must(first.isInt("seq") && marshal(map[string]any(first)) == marshal(map[string]any(again)), "%s: the second answer is %s, the first %s", method,
					marshal(map[string]any(again)), marshal(map[string]any(first)))
				params["extended_context"] = 1
				p.refuse(c, -32003, "idempotency_conflict", method, params)
				return first
			}
			twice("inbox/configure", obj{"policy": obj{"max_items": 5}})
			twice("inbox/ingest", obj{"items": []any{single("a"), grouped("b", "immediate"), grouped("c", "normal")}})
			twice("inbox/send", obj{"text": "hello"})
			flushed := twice("inbox/flush", obj{})
			p.must(len(flushed.list("entry_ids")) == 1, "inbox/flush has posted %v", flushed["entry_ids"])
			entry := twice("inbox/ingest", obj{"items": []any{grouped("d", "immediate")}}).str("results.0.entry_id")
			twice("inbox/ingest", obj{"items": []any{grouped("e", "immediate")}})
			acked := twice("inbox/ack", obj{"entry_ids": []any{entry}})
			p.must(acked.num("acked_items") == 3 && len(acked.list("remainder_entry_ids")) == 1, "inbox/ack answers %s", marshal(map[string]any(acked)))
			twice("inbox/wake", obj{})
			sub := twice("inbox/subscribe", obj{"source": "events"}).str("subscription.subscription_id")
			twice("inbox/unsubscribe", obj{"subscription_id": sub})
			timer := twice("timer/create", obj{"every_seconds": 3600, "text": "x"}).str("timer.timer_id")
			twice("timer/delete", obj{"timer_id": timer})
			_, page := p.visible(c, thread)
			p.must(page.num("unacked_entries") == 3, "there are %v entries, want those of a, the message, and e: %s", page["unacked_entries"], clip([]byte(marshal(map[string]any(page))), 300))
		}},
		{id: "inbox.ack_while_arriving", sentence: "An ack of all as of a read acknowledges what was read, whatever arrives meanwhile.", source: srcInbox, needs: needEcho, run: func(p *probe) {
			d, other := p.duplex(""), p.duplex("")
			thread := p.echoThread(d)
			for round := range 10 {
				name := func(kind string) string { return kind + itoa(int64(round)) }
				p.ingest(d, thread, single(name("x")), grouped(name("a"), "immediate"), grouped(name("b"), "immediate"))
				_, page := p.visible(d, thread)
				arriving := other.start("inbox/ingest", obj{"thread_id": thread, "items": []any{grouped(name("c"), "immediate"), single(name("y"))}})
				acked := p.call(d, "inbox/ack", obj{"thread_id": thread, "all": true, "as_of_seq": page["as_of_seq"]})
				m := other.answer(arriving)
				p.must(m.failure == nil, "inbox/ingest was refused: %s", clip(m.failure, 200))
				p.must(acked.num("acked_items") == 3, "of 3 items that were read, %v are acknowledged", acked["acked_items"])
				left, rest := p.visible(d, thread)
				items := 0
				for _, e := range rest.objs("entries") {
					items += int(e.num("count"))
				}
				p.must(items == 2 && len(left) == 2, "%d items are left in %d entries, want the 2 that came later", items, len(left))
				p.call(d, "inbox/ack", obj{"thread_id": thread, "all": true, "as_of_seq": rest["as_of_seq"]})
			}
			ids, _ := p.visible(d, thread)
			p.must(len(ids) == 0, "left are %v", ids)
		}},
		{id: "inbox.duplicate_race", sentence: "Of many requests with the same item at once one stores it; all get its id.", source: srcInbox, needs: needEcho, run: func(p *probe) {
			thread := p.echoThread(p.http())
			var streams []*duplex
			var ids []string
			for range 6 {
				streams = append(streams, p.duplex(""))
			}
			for _, s := range streams {
				ids = append(ids, s.start("inbox/ingest", obj{"thread_id": thread, "items": []any{single("a")}}))
			}
			raw, stored := "", 0
			for i, s := range streams {
				m := s.answer(ids[i])
				p.must(m.failure == nil, "one was refused: %s", clip(m.failure, 200))
				r := decode(m.result).objs("results")
				p.must(len(r) == 1 && (raw == "" || raw == r[0].str("raw_id")), "the item has two ids: %s", clip(m.result, 200))
				if raw = r[0].str("raw_id"); !r[0].isTrue("duplicate") {
					stored++
				}
			}
			p.must(stored == 1, "the item was stored %d times", stored)
		}},
		{id: "inbox.fold", sentence: "A fold of inbox/posted and inbox/acked gives the entries that inbox/read returns.", source: srcInbox, needs: needEcho, run: func(p *probe) {
			c := p.http()
			started := p.thread(c, obj{"agent": "echo"})
			thread := started.str("thread_id")
			var posted, raws []string
			for i := range 12 {
				name := itoa(int64(i))
				r := p.ingest(c, thread, grouped("g"+name, "immediate"), single("s"+name), grouped("w"+name, "normal"))
				raws = append(raws, r[0].str("raw_id"), r[1].str("raw_id"))
				posted = append(posted, r[0].str("entry_id"), r[1].str("entry_id"))
				if i%3 == 2 {
					p.call(c, "inbox/ack", obj{"thread_id": thread, "entry_ids": []any{posted[len(posted)-4], posted[len(posted)-1]}})
				}
				if i%4 == 3 {
					p.call(c, "inbox/ack", obj{"thread_id": thread, "raw_ids": []any{raws[len(raws)-2], raws[len(raws)-5]}})
				}
			}
			ids, _ := p.visible(c, thread)
			folded := p.foldInbox(c, thread, started["seq"])
			p.must(len(ids) > 0 && slices.Equal(ids, folded), "inbox/read returns %v, the fold %v", ids, folded)
		}},
	}
}

// foldInbox lists the visible entries of a thread in their order, from its events
// after a seq. An ack acknowledges the items of its entries, and those that it names: it is
// complete for an entry whose items were all acknowledged.
func (p *probe) foldInbox(c caller, thread string, after any) (visible []string) {
	items := map[string][]string{} // of each entry
	digest := map[string]string{}  // the newest entry of each digest
	acked, gone := map[string]bool{}, map[string]bool{}
	var order []string
	page := p.call(c, "event/list", obj{"after_seq": after, "thread_id": thread, "methods": []any{"inbox/*"}, "limit": 1000})
	p.must(!page.isTrue("has_more"), "the check reads one page of events, there are more")
	for _, e := range page.objs("events") {
		args := object(e.obj("params"))
		switch e.str("method") {
		case "inbox/posted":
			id, of := args.str("entry.entry_id"), args.str("entry.digest_id")
			for _, raw := range items[digest[of]] { // those of the snapshot before that are not acknowledged
				if of != "" && !acked[raw] {
					items[id] = append(items[id], raw)
				}
			}
			for _, raw := range args.list("new_raw_ids") {
				name, _ := raw.(string)
				items[id] = append(items[id], name)
			}
			p.must(len(items[id]) == int(args.num("entry.count")), "%s has the count %v, its items are %v", id, args["entry"], items[id])
			gone[args.str("supersedes_entry_id")] = true
			digest[of], order = id, append(order, id)
		case "inbox/acked":
			count := 0
			for _, id := range args.list("raw_ids") { // items that were named
				if name, _ := id.(string); !acked[name] {
					acked[name] = true
					count++
				}
			}
			for _, id := range args.list("entry_ids") {
				name, _ := id.(string)
				for _, raw := range items[name] {
					if !acked[raw] {
						acked[raw] = true
						count++
					}
				}
			}
			p.must(count == int(args.num("raw_count")), "inbox/acked counts %v items, the fold %d", args["raw_count"], count)
		}
	}
	for _, id := range order {
		left := slices.ContainsFunc(items[id], func(raw string) bool { return !acked[raw] })
		if left && !gone[id] {
			visible = append(visible, id)
		}
	}
	return visible
}
