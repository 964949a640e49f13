package conformance

// asking starts a turn whose agent asks for a permission, and returns the turn
// and the question.
func (p *probe) asking(d *duplex, thread string) (string, object) {
	turn := p.turn(d, thread, "/ask May I?").str("turn_id")
	return turn, d.itemOf(turn, "permission_request")
}

func questionChecks() []check {
	return []check{
		{id: "question.place", sentence: "Turns that wait for a person do not keep others from starting.", source: srcMethods, needs: needEcho, run: func(p *probe) {
			d := p.duplex("")
			slots := p.facts.limit("max_active_turns", 64)
			if slots > 200 {
				p.skipf("max_active_turns is %d: it would take too many turns", slots)
			}
			for range slots + 1 {
				p.asking(d, p.echoThread(d))
			}
			d.completed(p.turn(d, p.echoThread(d), "/say x").str("turn_id"))
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
	}
}
