package dispatch

import (
	"context"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// check compares what every subscription had to get, according to the log, with what
// the target has received, and with the rows and cursors.
func (r *modelRun) check() {
	a := r.a
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stored(r)
	for id, sub := range a.subs {
		a.chosen(r, id, sub)
		a.takeBacks(id)
	}
	for key, row := range a.rows {
		a.row(key, row)
	}
	a.deaths()
	a.messages()
}

// stored compares the rows and cursors with what was committed.
func (a *audit) stored(r *modelRun) {
	found := map[modelKey]bool{}
	if err := r.w.store.Reader().Read(context.Background(), func(tx ledger.Reader) error {
		for id, sub := range a.subs {
			c, err := cursors.Get(tx, cursorName(sub))
			if err != nil {
				return err
			}
			if want := a.cursors[id]; c.LastSequence != want.LastSequence || c.LastDeliveryID != want.LastDeliveryID {
				a.fail("cursor: that of %s is stored as %+v, committed as %+v", id, c, want)
			}
		}
		return tx.Scan(ledger.Range{Index: bridges.DeliveryByKey}, func(v ledger.Values) error {
			d, err := bridges.ReadDelivery(v)
			if err != nil {
				return err
			}
			key := modelKey{d.SubscriptionID, d.Seq}
			found[key] = true
			if row := a.rows[key]; row == nil || row.removed || row.State != d.State || row.Generation != d.Generation || row.Attempts != d.Attempts {
				a.fail("P1: %s is stored as %s, committed as %+v", d.DeliveryID, d.State, row)
			}
			return nil
		})
	}); err != nil {
		a.fail("read: %v", err)
	}
	for key, row := range a.rows {
		if !row.removed && !found[key] {
			a.fail("P1: %s was committed and is not stored", row.DeliveryID)
		}
	}
}

// since is the seq after which a subscription owes everything: what was before it was
// given up by a reset or a skip, or before its beginning.
func (a *audit) since(id string) (after int64, rest []choice) {
	list := a.choices[id]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].moved || i == 0 {
			return list[i].after, list[i:]
		}
	}
	return a.log.head(), nil
}

// chosen checks that every event that a subscription has chosen has come to an end that
// the rules allow.
func (a *audit) chosen(r *modelRun, id string, sub *bridges.Subscription) {
	after, list := a.since(id)
	cursor := a.cursors[id]
	for i, c := range list {
		through := a.log.head()
		if i+1 < len(list) {
			through = list[i+1].after
		}
		if sub.State == bridges.Deleted {
			through = min(through, sub.ScannedSeq)
		}
		for seq := max(c.after, after) + 1; seq <= through; seq++ {
			e := a.log.at(seq)
			as := e.chosenAs(c.sub)
			row := a.rows[modelKey{id, seq}]
			switch {
			case as == "" || as == bridges.TypeSuperseded: // see takeBacks
				continue
			case row == nil:
				a.fail("P1: %s chose %s %d, and there is no row of it", id, e.method, seq)
				continue
			case row.State.Open() && sub.State != bridges.Deleted && !a.behindMismatch(row):
				a.fail("P1: %s is %s at the end, after %d attempts", row.DeliveryID, row.State, row.Attempts)
			case !row.State.Open() && row.Seq > cursor.LastSequence && !row.forced:
				a.fail("cursor: that of %s is at %d, and %s is %s", id, cursor.LastSequence, row.DeliveryID, row.State)
			}
			if row.State == bridges.StateMismatch && !a.log.broken[row.TurnID] {
				a.fail("P1: %s is a mismatch (%s), and nothing is damaged", row.DeliveryID, row.Reason)
			}
		}
	}
}

// behindMismatch reports whether a delivery is a mismatch of a damaged turn, or waits
// behind one.
func (a *audit) behindMismatch(row *auditRow) bool {
	if row.State == bridges.StateMismatch {
		return a.log.damaged[row.TurnID]
	}
	strict := a.subs[row.SubscriptionID].Order == bridges.OrderStrict
	for key, other := range a.rows {
		if key.sub == row.SubscriptionID && key.seq < row.Seq && other.State == bridges.StateMismatch && !other.removed && (strict || other.TurnID == row.TurnID) {
			return true
		}
	}
	return false
}

// blocked counts the deliveries of a subscription that are, or wait behind, a mismatch.
func (a *audit) blocked(sub *bridges.Subscription) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, row := range a.rows {
		if key.sub == sub.SubscriptionID && row.State.Open() && !row.removed && a.behindMismatch(row) {
			n++
		}
	}
	return n
}

// row checks that what a row says has happened, by the log and by the target.
func (a *audit) row(key modelKey, row *auditRow) {
	e, id := a.log.at(key.seq), row.DeliveryID
	received := a.r.times[id]
	if received > row.begunTimes {
		a.fail("P3: %s was received %d times in %d attempts", id, received, row.begunTimes)
	}
	switch row.State {
	case bridges.StateDelivered:
		if received == 0 {
			a.fail("P1: %s has a receipt, and was not received", id)
		}
	case bridges.StateSuperseded:
		if a.log.supersededBy(e) == 0 {
			a.fail("P1: %s is superseded, and no marker says so", id)
		}
	case bridges.StateSuppressed:
		a.suppressed(e, row, received)
	case bridges.StateMismatch:
		if !a.log.broken[row.TurnID] {
			a.fail("P1: %s is a mismatch (%s), and nothing is damaged", id, row.Reason)
		}
	}
	if (e.method == notify.DeliveryDead || e.method == notify.DeliveryMismatch) && row.EventType != bridges.TypeEvent {
		a.fail("P6: %s is about %s", id, e.method)
	}
}

// suppressed checks the reason of what was not sent.
func (a *audit) suppressed(e *naiveEvent, row *auditRow, received int) {
	id := row.DeliveryID
	reason, _, _ := strings.Cut(row.Reason, ":")
	if row.Reduced() {
		return
	}
	a.counts["suppressed: "+reason]++
	holds := false
	switch reason {
	case bridges.ReasonPaused:
		holds = a.dropped(row.BridgeID, row.Seq)
	case bridges.ReasonAnswered:
		holds = a.log.settled[e.body.ItemID] != 0
	case bridges.ReasonUnasked:
		q := a.question(row)
		holds = q == nil || a.r.times[q.DeliveryID] == 0 || q.forced
	case bridges.ReasonUnshown:
		holds = !slices.ContainsFunc(row.Supersedes, func(id string) bool { return a.r.times[id] > 0 })
		if e.ends() { // it would change a message of progress
			holds = row.BridgeID != modelChat || !a.showsProgress(row)
		}
	case bridges.ReasonStale:
		holds = row.BridgeID == modelChat
	case bridges.ReasonSkipped:
		for _, s := range a.log.about(notify.SubscriptionSkipped, row.SubscriptionID) {
			holds = holds || s.body.ToSeq >= row.Seq
		}
	case bridges.ReasonReset:
		for _, s := range a.log.about(notify.SubscriptionReset, row.SubscriptionID) {
			holds = holds || s.body.ToSeq >= row.Seq
		}
	}
	if !holds {
		a.fail("P1: %s is suppressed (%s), and was received %d times; the log does not say why", id, row.Reason, received)
	}
}

// question is the delivery of the question that an answer is about.
func (a *audit) question(answer *auditRow) (found *auditRow) {
	for key, row := range a.rows {
		if key.sub == answer.SubscriptionID && row.EventType == bridges.TypeQuestion && row.ItemID == answer.ItemID && key.seq < answer.Seq {
			found = row
		}
	}
	return found
}

// takeBacks checks that the receiver has learned what no longer holds: everything that
// it was sent and that a marker has superseded is named by one delivery of that marker.
func (a *audit) takeBacks(subscription string) {
	after, _ := a.since(subscription)
	sub := a.subs[subscription]
	named := map[string][]*auditRow{}
	for key, row := range a.rows {
		if key.sub != subscription || row.EventType != bridges.TypeSuperseded {
			continue
		}
		for _, id := range row.Supersedes {
			named[id] = append(named[id], row)
			_, seq, _ := bridges.ParseDeliveryID(id)
			old := a.rows[modelKey{subscription, seq}]
			if old == nil || old.begunTimes == 0 && !old.perhaps {
				a.fail("P1: %s takes %s back, which was never sent", row.DeliveryID, id)
			}
			if by := a.log.supersededBy(a.log.at(seq)); by != row.Seq {
				a.fail("P1: %s takes %s back, which %d has superseded", row.DeliveryID, id, by)
			}
		}
	}
	for id, by := range named {
		if len(by) > 1 {
			a.fail("P1: %s was taken back %d times", id, len(by))
		}
	}
	for key, row := range a.rows {
		marker := a.log.supersededBy(a.log.at(key.seq))
		if key.sub != subscription || marker <= after || a.r.times[row.DeliveryID] == 0 || row.forced || sub.State == bridges.Deleted && marker > sub.ScannedSeq {
			continue
		}
		if row.EventType == bridges.TypeEvent && row.Card == "" && !row.Tried {
			continue
		}
		a.counts["taken back"]++
		switch by := named[row.DeliveryID]; {
		case len(by) == 0:
			a.fail("P1: %s (%s) was received, %d has superseded it, and nothing says so", row.DeliveryID, row.State, marker)
		case by[0].State == bridges.StateDelivered && a.r.times[by[0].DeliveryID] == 0:
			a.fail("P1: the take-back %s was not received", by[0].DeliveryID)
		case by[0].State.Open() && sub.State != bridges.Deleted && !a.behindMismatch(by[0]):
			a.fail("P1: the take-back %s is %s at the end", by[0].DeliveryID, by[0].State)
		}
	}
}

// deaths checks that the log says what was given up, and no more.
func (a *audit) deaths() {
	said := map[string]int{}
	for _, e := range a.log.events {
		if e.method == notify.DeliveryDead {
			said[e.body.DeliveryID]++
			if of := a.log.at(e.body.SubjectSeq); strings.HasPrefix(of.method, "delivery/") {
				a.fail("P6: %d says that a delivery of %s is dead", e.seq, of.method)
			}
		}
		if e.method == notify.DeliveryMismatch {
			if of := a.log.at(e.body.SubjectSeq); !a.log.broken[of.turnID] {
				a.fail("P1: %d says that %s is a mismatch, and nothing is damaged", e.seq, e.body.DeliveryID)
			}
		}
	}
	for key, row := range a.rows {
		want := row.died
		if strings.HasPrefix(a.log.at(key.seq).method, "delivery/") {
			want = 0
		}
		if said[row.DeliveryID] != want {
			a.fail("P1: %s was given up %d times, the log says %d", row.DeliveryID, row.died, said[row.DeliveryID])
		}
	}
}

// showsProgress reports whether a message of progress was delivered to a subscription before an
// end, and not removed since.
func (a *audit) showsProgress(end *auditRow) bool {
	newest, removed := int64(0), int64(0)
	for key, row := range a.rows {
		if key.sub != end.SubscriptionID || row.TurnID != end.TurnID || row.Seq >= end.Seq || row.State != bridges.StateDelivered || row.forced || row.removed || a.targetOf(row) != a.targetOf(end) {
			continue
		}
		switch row.Card {
		case bridges.CardProgress:
			newest = max(newest, row.Seq)
		case bridges.CardEnd:
			removed = max(removed, row.Seq)
		}
	}
	return newest > removed
}

// messages checks what is visible where messages can be changed: at most one message
// for each card, and it shows the newest that was delivered.
func (a *audit) messages() {
	type card struct {
		name   string
		newest int64 // that was delivered
		ended  int64 // of progress: the end that was delivered last, which removes it
		lost   bool  // something of it was received, and its message is not known
	}
	cards := map[string]*card{}
	for key, row := range a.rows {
		if row.BridgeID != modelChat || row.Card == "" || a.targetOf(row) != a.subs[key.sub].TargetGeneration {
			continue
		}
		name := bridges.CardKey(a.logID(), a.subs[key.sub], row.TurnID, row.Card)
		s := cards[name]
		if s == nil {
			s = &card{name: row.DeliveryID}
			cards[name] = s
		}
		lost := a.r.times[row.DeliveryID] > 0 && row.State != bridges.StateDelivered || row.forced || row.removed
		delivered := row.State == bridges.StateDelivered && !row.forced
		if delivered {
			s.newest = max(s.newest, row.Seq)
		}
		s.lost = s.lost || lost
		if row.Card == bridges.CardEnd { // it removes the progress
			of := bridges.CardKey(a.logID(), a.subs[key.sub], row.TurnID, bridges.CardProgress)
			if cards[of] == nil {
				cards[of] = &card{name: "the progress before " + row.DeliveryID}
			}
			if cards[of].lost = cards[of].lost || lost; delivered {
				cards[of].ended = max(cards[of].ended, row.Seq)
			}
		}
	}
	for name, s := range cards {
		var visible []*post
		for _, p := range a.r.posts {
			if p.card == name && !p.removed {
				visible = append(visible, p)
			}
		}
		switch {
		case s.lost:
		case s.ended > s.newest:
			if len(visible) > 0 {
				a.fail("P7: %s is still visible after the end %d", s.name, s.ended)
			}
		case len(visible) > 1:
			a.fail("P7: %d messages are visible in the card of %s", len(visible), s.name)
		case s.newest > 0 && (len(visible) == 0 || visible[0].seq < s.newest):
			a.fail("P7: the card of %s shows %+v, and %d was delivered", s.name, visible, s.newest)
		}
	}
}

func (a *audit) logID() string {
	p, err := a.store.Reader().Position(context.Background())
	if err != nil {
		a.fail("read: %v", err)
	}
	return p.LogID
}

// mismatch returns the seq of a mismatch of a subscription; 0 = it has none.
func (a *audit) mismatch(id string) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, row := range a.rows {
		if key.sub == id && row.State == bridges.StateMismatch && !row.removed {
			return key.seq
		}
	}
	return 0
}

// someDelivery returns the id of one of the deliveries; "" if there is none.
func (a *audit) someDelivery(how int) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ids []string
	for _, row := range a.rows {
		if !row.removed {
			ids = append(ids, row.DeliveryID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	slices.Sort(ids)
	return ids[how%len(ids)]
}
