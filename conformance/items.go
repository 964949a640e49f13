package conformance

import "strings"

func itemChecks() []check {
	return []check{
		{id: "item.created", sentence: "item/created has item_id, type, status and content with its own type.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/say hello\n/items 1 5").str("turn_id")
			d.completed(turn)
			for _, m := range d.ofTurn(turn) {
				if m.method != "item/created" && m.method != "item/updated" {
					continue
				}
				a := m.args()
				p.mustHave(a, m.method, "item_id", "type", "status", "content.type", "thread_id", "turn_id", "attempt", "seq", "thread_seq", "timestamp")
				p.must(strings.HasPrefix(a.str("item_id"), "item_"), "item_id is %q", a.str("item_id"))
				p.must(m.method == "item/"+a.str("type"), "%s has type %q", m.method, a.str("type"))
			}
		}},
		{id: "item.truncated", sentence: "An item over max_item_bytes is cut to head and tail, and says so with its whole size.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			limit := p.facts.limit("max_item_bytes", 1<<20)
			size := 32 << 10
			n := limit/size + 8
			turn := p.turn(d, p.echoThread(d), "/deltas "+itoa(int64(n))+" "+itoa(int64(size))).str("turn_id")
			d.completed(turn)
			item := p.finalMessage(d, turn)
			p.must(item.isTrue("content.truncated") || item.isTrue("truncated"), "the last item/updated does not say truncated")
			total := max(item.num("content.total_bytes"), item.num("total_bytes"))
			p.must(total >= float64(n*size), "total_bytes is %v, the agent wrote %d", total, n*size)
			p.must(len(encode(item["content"])) <= limit+1024, "the content has %d bytes, over the limit %d", len(encode(item["content"])), limit)
			sum := 0
			for _, m := range d.ofTurn(turn) {
				if m.method == "item/delta" && m.args().str("item_id") == item.str("item_id") {
					sum += len(m.args().str("delta.text"))
				}
			}
			p.must(sum <= limit, "the deltas went on to %d bytes", sum)
		}},
	}
}

// finalMessage returns the last state of a turn's last agent_message.
func (p *probe) finalMessage(in interface{ ofTurn(string) []*message }, turn string) object {
	var item object
	for _, m := range in.ofTurn(turn) {
		if (m.method == "item/updated" || m.method == "item/created") && m.args().str("content.type") == "agent_message" {
			item = m.args()
		}
	}
	p.must(item != nil, "the turn has no agent_message")
	return item
}

func deltaChecks() []check {
	return []check{
		{id: "delta.add_up", sentence: "Deltas add up to the last item/updated, each at the offset in bytes of UTF-8 of what was before.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "/deltas 60 37 5").str("turn_id")
			d.completed(turn)
			text := p.mustAddUp(d.ofTurn(turn))
			p.must(len(text) == 60*37, "the text has %d bytes, want %d", len(text), 60*37)
		}},
		{id: "delta.unicode", sentence: "No delta splits a code point, and offsets count bytes.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			said := "Grüße, 世界! 🎉 e\u0301 👩‍👩‍👧 \u2028 \"quoted\" \\ <&>"
			turn := p.turn(d, p.echoThread(d), said).str("turn_id")
			d.completed(turn)
			p.must(p.mustAddUp(d.ofTurn(turn)) == said, "the text came back as %q", p.mustAddUp(d.ofTurn(turn)))
		}},
		{id: "delta.words", sentence: "The echo agent answers plain text word by word.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn := p.turn(d, p.echoThread(d), "one two three four").str("turn_id")
			d.completed(turn)
			d.event("item/delta", "turn_id", turn)
			p.must(p.mustAddUp(d.ofTurn(turn)) == "one two three four", "the text came back changed")
		}},
	}
}

// mustAddUp folds the deltas of a turn's agent_message and compares the sum
// with the item's last state.
func (p *probe) mustAddUp(all []*message) string {
	sum, id, final, ended := "", "", "", false
	for _, m := range all {
		a := m.args()
		switch {
		case m.method == "item/created" && a.str("content.type") == "agent_message":
			p.must(id == "", "the turn has a second agent_message")
			id, sum = a.str("item_id"), firstText(a)
			final, ended = sum, a.str("status") == "completed"
		case m.method == "item/delta" && a.str("item_id") == id:
			p.must(!ended, "a delta came after the item's end")
			p.must(a.isInt("offset") && int(a.num("offset")) == len(sum), "a delta has offset %v, the text so far has %d bytes", a.num("offset"), len(sum))
			part := a.str("delta.text")
			p.must(part != "" && !strings.ContainsRune(part, '\uFFFD'), "a delta's text is %q", part)
			sum += part
		case m.method == "item/updated" && a.str("item_id") == id:
			final, ended = firstText(a), a.str("status") == "completed"
			p.must(final == sum, "item/updated has %d bytes, the deltas add up to %d", len(final), len(sum))
		}
	}
	p.must(id != "", "the turn has no agent_message")
	p.must(ended && final == sum, "the item did not end with the sum of its deltas")
	return sum
}
