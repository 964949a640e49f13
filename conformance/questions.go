package conformance

// asking starts a turn whose agent asks for a permission, and returns the turn
// and the question.
func (p *probe) asking(d *duplex, thread string) (string, object) {
	turn := p.turn(d, thread, "/ask May I?").str("turn_id")
	return turn, d.itemOf(turn, "permission_request")
}

// optionOf finds the option of a kind.
func optionOf(question object, kind string) string {
	for _, o := range question.objs("content.options") {
		if o.str("kind") == kind {
			return o.str("option_id")
		}
	}
	return ""
}

func questionChecks() []check {
	return []check{
		{id: "question.asked", sentence: "A permission_request is pending, with a title and options that have ids and kinds.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			_, q := p.asking(d, p.echoThread(d))
			p.must(q.str("status") == "pending", "status is %q", q.str("status"))
			p.must(q.str("content.title") == "May I?", "title is %q", q.str("content.title"))
			for _, kind := range []string{"allow_once", "reject_once"} {
				p.must(optionOf(q, kind) != "", "no option of kind %s: %v", kind, q["content"])
			}
			for _, o := range q.objs("content.options") {
				p.must(o.str("option_id") != "" && o.str("name") != "" && o.str("kind") != "", "an option lacks a field: %v", o)
			}
		}},
		{id: "question.allow", sentence: "Allowing completes the question; the turn goes on.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn, q := p.asking(d, p.echoThread(d))
			id, option := q.str("item_id"), optionOf(q, "allow_once")
			r := p.call(d, "item/respond", obj{"item_id": id, "option_id": option})
			p.mustHave(r, "item/respond", "item_id", "status", "outcome", "seq")
			p.must(r.str("status") == "completed" && r.str("outcome.type") == "selected" && r.str("outcome.option_id") == option, "got %s", encode(obj(r)))
			ev := d.event("item/updated", "item_id", id)
			p.must(ev.args().str("status") == "completed" && ev.args().str("content.outcome.option_id") == option, "item/updated is %s", clip(ev.raw, 400))
			p.must(ev.seq() <= int64(r.num("seq")), "item/updated has seq %d, the result says %v", ev.seq(), r.num("seq"))
			d.completed(turn)
		}},
		{id: "question.reject", sentence: "Rejecting declines the question.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn, q := p.asking(d, p.echoThread(d))
			r := p.call(d, "item/respond", obj{"item_id": q.str("item_id"), "kind": "reject_once"})
			p.must(r.str("status") == "declined" && r.str("outcome.kind") == "reject_once", "got %s", encode(obj(r)))
			d.outcome(turn)
		}},
		{id: "question.kind", sentence: "With kind the first option of that kind is chosen.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn, q := p.asking(d, p.echoThread(d))
			r := p.call(d, "item/respond", obj{"item_id": q.str("item_id"), "kind": "allow_once"})
			p.must(r.str("outcome.option_id") == optionOf(q, "allow_once"), "got %s", encode(obj(r)))
			d.completed(turn)
		}},
		{id: "question.cancelled", sentence: "A question can be answered cancelled.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn, q := p.asking(d, p.echoThread(d))
			r := p.call(d, "item/respond", obj{"item_id": q.str("item_id"), "outcome": "cancelled"})
			p.must(r.str("status") == "cancelled" && r.str("outcome.type") == "cancelled", "got %s", encode(obj(r)))
			d.outcome(turn)
		}},
		{id: "question.first_wins", sentence: "The first answer wins; a later one gets already_resolved, whatever it says.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn, q := p.asking(d, p.echoThread(d))
			id := q.str("item_id")
			p.call(d, "item/respond", obj{"item_id": id, "kind": "allow_once"})
			for _, kind := range []string{"allow_once", "reject_once"} {
				p.refuse(d, -32004, "already_resolved", "item/respond", obj{"item_id": id, "kind": kind})
			}
			d.completed(turn)
		}},
		{id: "question.race", sentence: "Of many answers at once exactly one wins.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn, q := p.asking(d, p.echoThread(d))
			var streams []*duplex
			var ids []string
			for range 4 {
				streams = append(streams, p.duplex(""))
			}
			for i, s := range streams {
				ids = append(ids, s.start("item/respond", obj{"item_id": q.str("item_id"), "kind": []string{"allow_once", "reject_once"}[i%2]}))
			}
			won := 0
			for i, s := range streams {
				if m := s.answer(ids[i]); m.failure == nil {
					won++
				} else {
					p.mustError(m, -32004, "already_resolved", "a later answer")
				}
			}
			p.must(won == 1, "%d answers won", won)
			d.outcome(turn)
		}},
		{id: "question.pending", sentence: "item/list with status pending finds every question that waits, and only those.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn, q := p.asking(d, p.echoThread(d))
			find := func() bool {
				for _, item := range p.pages("item/list", "items", obj{"status": "pending"}, 1000) {
					if item.str("item_id") == q.str("item_id") {
						return true
					}
				}
				return false
			}
			p.must(find(), "item/list does not list the waiting question")
			p.call(d, "item/respond", obj{"item_id": q.str("item_id"), "kind": "allow_once"})
			p.must(!find(), "item/list still lists the answered question")
			d.completed(turn)
		}},
		{id: "question.waiting", sentence: "While a question waits the turn's progress is waiting, and status counts it.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn, _ := p.asking(d, p.echoThread(d))
			d.event("turn/progress", "turn_id", turn, "state", "waiting")
			p.must(p.call(d, "holon/status", nil).num("turns.waiting") >= 1, "status counts no waiting turn")
		}},
		{id: "question.interrupted", sentence: "Interrupting a turn cancels its open question first.", source: srcEvents, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn, q := p.asking(d, p.echoThread(d))
			p.call(d, "turn/interrupt", obj{"turn_id": turn})
			end := d.outcome(turn)
			p.must(end.method == "turn/interrupted", "it ended with %s", end.method)
			ev := d.event("item/updated", "item_id", q.str("item_id"))
			p.must(ev.args().str("status") == "cancelled" && ev.seq() < end.seq(), "the question ended %s", clip(ev.raw, 300))
			p.refuse(d, -32004, "already_resolved", "item/respond", obj{"item_id": q.str("item_id"), "kind": "allow_once"})
		}},
		{id: "question.unknown_option", sentence: "An option that is not there gets -32602 and leaves the question open.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			turn, q := p.asking(d, p.echoThread(d))
			f := p.refuse(d, -32602, "invalid_params", "item/respond", obj{"item_id": q.str("item_id"), "option_id": "nope"})
			p.must(f.str("data.field") == "option_id", "data.field is %q", f.str("data.field"))
			p.refuse(d, -32602, "invalid_params", "item/respond", obj{"item_id": q.str("item_id"), "kind": "allow_always"})
			p.refuse(d, -32602, "invalid_params", "item/respond", obj{"item_id": q.str("item_id")})
			p.call(d, "item/respond", obj{"item_id": q.str("item_id"), "kind": "allow_once"})
			d.completed(turn)
		}},
		{id: "question.not_found", sentence: "An item that is not there gets item_not_found.", source: srcErrors, run: func(p *probe) {
			id := "item_00000000-0000-7000-8000-000000000000"
			p.refuse(p.http(), -32002, "item_not_found", "item/respond", obj{"item_id": id, "kind": "allow_once"})
			p.refuse(p.http(), -32002, "item_not_found", "item/read", obj{"item_id": id})
		}},
	}
}
