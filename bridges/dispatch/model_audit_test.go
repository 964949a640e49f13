package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/sqlite"
)

// audit sees every commit of a run, in order, and says which one breaks a property.
type audit struct {
	store *sqlite.Store
	r     *receiver

	mu       sync.Mutex // held from before a commit until it was looked at
	log      *naiveLog
	rows     map[modelKey]*auditRow
	cursors  map[string]cursors.Cursor // by subscription
	subs     map[string]*bridges.Subscription
	bridges  map[string]*bridges.Bridge
	targets  map[string][]int64   // by subscription: the generations in which its targets begin
	sendings map[modelKey]sending // by subscription and generation: the target that begins with it
	choices  map[string][]choice  // by subscription: what it chooses from which seq on
	gaps     map[string][]bridges.DropGap
	pauses   map[string]bool   // bridges that are paused
	sending  map[string]int    // by subscription: attempts under way that are waited for
	inside   map[sending]int   // attempts that have not returned
	stuck    map[sending]bool  // whose last attempt did not return in time
	bodies   map[string]string // by delivery: what was sent
	failures []string
	life     int
	counts   map[string]int
}

type modelKey struct {
	sub string
	seq int64
}

// auditRow is a delivery as committed, and what has happened to it.
type auditRow struct {
	bridges.Delivery
	begunTimes int             // attempts whose number was committed
	sent       int             // attempts that the target has seen
	perhaps    bool            // the program died after the beginning of an attempt: later ones cannot know that it was not made
	answer     bridges.Outcome // of the last of them
	mates      []modelKey      // deliveries that began with the last attempt, and are sent before it
	receipts   map[int64]int   // by generation, without those of delivery/redeliver
	forced     bool            // it was asked for again
	died       int             // how often it was given up
	removed    bool            // the row is no longer kept
	was        *auditRow       // before its last change; nil = there was none
}

// choice is what a subscription chooses of the events after a seq.
type choice struct {
	after int64
	moved bool // by a reset or a skip: what is before it was given up
	sub   *bridges.Subscription
}

func newAudit(store *sqlite.Store, r *receiver) *audit {
	a := &audit{
		store: store, r: r, log: newNaiveLog(), rows: map[modelKey]*auditRow{}, cursors: map[string]cursors.Cursor{},
		subs: map[string]*bridges.Subscription{}, bridges: map[string]*bridges.Bridge{}, choices: map[string][]choice{}, targets: map[string][]int64{}, sendings: map[modelKey]sending{},
		gaps: map[string][]bridges.DropGap{}, pauses: map[string]bool{}, sending: map[string]int{}, inside: map[sending]int{}, stuck: map[sending]bool{}, bodies: map[string]string{}, counts: map[string]int{},
	}
	r.a = a
	return a
}

// fail notes what breaks a property, whose name comes first. a.mu need not be held.
func (a *audit) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	failuresMu.Lock()
	defer failuresMu.Unlock()
	if len(a.failures) < 20 {
		a.failures = append(a.failures, fmt.Sprintf("%s (life %d)", text, a.life))
	}
}

// failuresMu guards audit.failures, which is added to with and without audit.mu.
var failuresMu sync.Mutex

// audited is the store as everybody uses it: one commit after the other, and each is
// looked at.
type audited struct {
	ledger.Log
	a *audit
}

// Append implements ledger.Log.
func (s audited) Append(u *ledger.Unit) (ledger.Receipt, error) {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	return s.Log.Append(u)
}

// agents is the store as the makers of threads use it.
type agents struct {
	*sqlite.Store
	a *audit
}

// Append implements turns.Store.
func (s agents) Append(u *ledger.Unit) (ledger.Receipt, error) {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	r, err := s.Store.Append(u)
	s.a.pull()
	return r, err
}

// pull reads the new events. a.mu is held.
func (a *audit) pull() (fresh []*naiveEvent) {
	before := a.log.head()
	for a.log.head() < a.store.Tail().Head() {
		p, err := a.store.Reader().Page(context.Background(), notify.Query{After: a.log.head(), MaxEvents: 1000, MaxBytes: 1 << 20})
		if err != nil {
			panic(err)
		}
		for _, e := range p.Events {
			a.log.add(e)
		}
	}
	return a.log.events[before:]
}

// committed looks at a unit that was committed. Those of followers alone change
// nothing that the model knows; they come without a.mu.
func (a *audit) committed(u *ledger.Unit) {
	if !concerns(u) {
		return
	}
	fresh := a.pull()
	a.changes(u, fresh)
	var changed []*auditRow
	for _, row := range u.Rows {
		if d := bridges.DeliveryOfRow(row); d != nil {
			changed = append(changed, a.delivery(d))
		}
	}
	together := map[*auditRow]bool{} // attempts that are made one after the other
	for _, row := range changed {
		if row.begins() {
			a.begun(row, together)
			if together[row] = true; len(together) > 1 {
				a.counts["together"]++
			}
		}
	}
	a.cursorMoves(u, fresh, changed)
}

// concerns reports whether a unit has something of deliveries.
func concerns(u *ledger.Unit) bool {
	if len(u.Drafts) > 0 {
		return true
	}
	for _, row := range u.Rows {
		switch row.Table().Name {
		case bridges.DeliveryTable.Name, bridges.BridgeTable.Name, bridges.SubscriptionTable.Name, cursors.Table.Name:
			return true
		}
	}
	return false
}

// changes follows bridges and subscriptions.
func (a *audit) changes(u *ledger.Unit, fresh []*naiveEvent) {
	for _, row := range u.Rows {
		switch row := row.(type) {
		case *bridges.Bridge:
			a.bridges[row.BridgeID] = row.Clone()
		case *bridges.Subscription:
			was := a.subs[row.SubscriptionID]
			if was == nil || was.State != row.State {
				a.counts[string(row.State)]++
			}
			if was == nil || was.TargetGeneration != row.TargetGeneration {
				a.targets[row.SubscriptionID] = append(a.targets[row.SubscriptionID], row.TargetGeneration)
				a.sendings[modelKey{row.SubscriptionID, row.TargetGeneration}] = sending{bridgeID: row.BridgeID, target: row.Target}
				a.counts["targets"]++
			}
			a.subs[row.SubscriptionID] = row.Clone()
		case *ledger.Removal:
			if row.Of.Name == bridges.DeliveryTable.Name {
				a.rows[modelKey{row.Key[0].(string), row.Key[1].(int64)}].removed = true
			}
		}
	}
	for _, e := range fresh {
		gaps := a.gaps[e.body.BridgeID]
		switch e.method {
		case notify.BridgePaused:
			a.pauses[e.body.BridgeID] = true
		case notify.BridgeResumed:
			a.pauses[e.body.BridgeID] = false
		}
		row := a.bridges[e.body.BridgeID]
		if row == nil {
			continue
		}
		drops := a.pauses[e.body.BridgeID] && row.OnPause == bridges.PauseDrops
		last := len(gaps) - 1
		if open := last >= 0 && gaps[last].To == 0; drops && !open {
			a.gaps[e.body.BridgeID] = append(gaps, bridges.DropGap{From: e.seq})
		} else if !drops && open {
			gaps[last].To = e.seq
		}
	}
	for _, row := range u.Rows {
		if row.Table().Name != "followers" || !row.New() {
			continue
		}
		v, err := row.Values(0)
		if err != nil {
			panic(err)
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(v.Text(0), bridges.FollowerPrefix), "/")
		moved := slices.ContainsFunc(fresh, func(e *naiveEvent) bool {
			return e.method == notify.SubscriptionReset || e.method == notify.SubscriptionSkipped
		})
		a.choices[id] = append(a.choices[id], choice{after: v.Int(2), moved: moved, sub: a.subs[id]})
	}
}

// delivery follows the row of a delivery.
func (a *audit) delivery(d *bridges.Delivery) *auditRow {
	key := modelKey{d.SubscriptionID, d.Seq}
	row := &auditRow{Delivery: *d, receipts: map[int64]int{}, forced: d.Forced}
	row.Tries, row.Supersedes = slices.Clone(d.Tries), slices.Clone(d.Supersedes)
	if was := a.rows[key]; was != nil {
		was.was = nil
		row.was, row.forced = was, row.forced || was.forced
		row.begunTimes, row.sent, row.perhaps, row.answer, row.mates, row.receipts, row.died = was.begunTimes, was.sent, was.perhaps, was.answer, was.mates, was.receipts, was.died
	}
	a.rows[key] = row
	if d.State == bridges.StateMismatch && (row.was == nil || row.was.State != d.State) {
		a.counts[string(d.State)]++
	}
	if row.recalled() {
		row.begunTimes--
		a.counts["recalled"]++
	}
	if !row.settles() {
		return row
	}
	a.counts[string(d.State)]++
	switch d.State {
	case bridges.StateDelivered:
		a.receipt(row)
	case bridges.StateDead:
		row.died++
		if d.Refusals < 3 && d.Attempts < 11 {
			a.fail("P1: %s is dead after %d attempts and %d refusals", d.DeliveryID, d.Attempts, d.Refusals)
		}
	}
	if row.was != nil && row.was.State == bridges.StateMismatch {
		a.leavesMismatch(row)
	}
	return row
}

// settles reports whether the last change has settled the delivery.
func (r *auditRow) settles() bool {
	return !r.State.Open() && (r.was == nil || r.was.removed || r.was.State != r.State || r.was.Generation != r.Generation)
}

// begins reports whether the last change begins an attempt.
func (r *auditRow) begins() bool {
	if r.State != bridges.StatePending || len(r.Tries) == 0 || r.Tries[len(r.Tries)-1].Outcome != "" {
		return false
	}
	return r.was == nil || r.Attempts > r.was.Attempts
}

// recalled reports whether the last change says that an attempt was not made.
func (r *auditRow) recalled() bool {
	return r.was != nil && r.State == bridges.StatePending && r.was.State == r.State && r.Generation == r.was.Generation && len(r.Tries) < len(r.was.Tries)
}

// begun looks at the beginning of an attempt. Those that begin together are made one
// after the other, each only if the one before it was delivered: see sent.
func (a *audit) begun(row *auditRow, together map[*auditRow]bool) {
	row.begunTimes++
	row.answer = "" // an earlier one says nothing of this attempt
	row.mates = nil
	for other := range together {
		if other.SubscriptionID == row.SubscriptionID && other.Seq < row.Seq {
			row.mates = append(row.mates, modelKey{other.SubscriptionID, other.Seq})
		}
	}
	id := row.DeliveryID
	if sub := a.subs[row.SubscriptionID]; sub == nil || sub.State != bridges.Active {
		a.fail("P1: an attempt of %s begins, its subscription is %+v", id, sub)
	}
	if !row.Forced && (row.was == nil || row.was.removed || !row.was.Arrived) {
		a.fresh(row)
	}
	if first := a.mayCome(row, together); first != nil {
		a.fail("P2: an attempt of %s begins while %s is %s after %d attempts", id, first.DeliveryID, first.State, first.Attempts)
	}
}

// mayCome returns the delivery that has to come before this one; nil = it may come now.
func (a *audit) mayCome(row *auditRow, together map[*auditRow]bool) *auditRow {
	var open []*auditRow
	for key, other := range a.rows {
		if key.sub == row.SubscriptionID && key.seq < row.Seq && other.State.Open() && !other.removed {
			open = append(open, other)
		}
	}
	slices.SortFunc(open, func(a, b *auditRow) int { return int(a.Seq - b.Seq) })
	waits := map[string]bool{} // turns of which something stands aside
	for _, other := range open {
		switch {
		case together[other] && (other.TurnID == "" || other.TurnID != row.TurnID):
		case a.subs[row.SubscriptionID].Order == bridges.OrderStrict:
			return other
		case other.TurnID != "" && (other.TurnID == row.TurnID || waits[other.TurnID]):
			if other.TurnID == row.TurnID {
				return other
			}
		case other.State == bridges.StateMismatch || other.Attempts >= 4 || a.stuck[a.sendingOf(other)]:
			waits[other.TurnID] = true
		default:
			return other
		}
	}
	return nil
}

// fresh looks at an attempt of what has not been sent: the decision must be true now.
func (a *audit) fresh(row *auditRow) {
	e := a.log.at(row.Seq)
	if by := a.log.supersededBy(e); by != 0 {
		a.fail("P4: an attempt of %s begins, which %d has superseded", row.DeliveryID, by)
	}
	if row.EventType == bridges.TypeQuestion && a.log.settled[e.body.ItemID] != 0 {
		a.fail("P4: an attempt of %s begins, whose question was answered by %d", row.DeliveryID, a.log.settled[e.body.ItemID])
	}
	if row.EventType == bridges.TypeFinal && (!e.accepted() || a.log.damaged[row.TurnID]) {
		a.fail("P4: an attempt of %s begins, which is no accepted end, or whose turn is damaged", row.DeliveryID)
	}
	if !row.Moved && a.dropped(row.BridgeID, row.Seq) {
		a.fail("P1: an attempt of %s begins, which came during a pause that drops", row.DeliveryID)
	}
}

// sendingOf is a delivery at its target.
func (a *audit) sendingOf(row *auditRow) sending {
	at := a.sendings[modelKey{row.SubscriptionID, a.targetOf(row)}]
	at.deliveryID = row.DeliveryID
	return at
}

// targetOf is the generation that began with the target for which a delivery is.
func (a *audit) targetOf(row *auditRow) (began int64) {
	for _, g := range a.targets[row.SubscriptionID] {
		if g <= row.Generation {
			began = g
		}
	}
	return began
}

// dropped reports whether an event came during a pause of the bridge that drops.
func (a *audit) dropped(bridgeID string, seq int64) bool {
	for _, g := range a.gaps[bridgeID] {
		if seq > g.From && (g.To == 0 || seq < g.To) {
			return true
		}
	}
	return false
}

// receipt looks at a receipt.
func (a *audit) receipt(row *auditRow) {
	a.r.mu.Lock()
	times := a.r.times[row.DeliveryID]
	a.r.mu.Unlock()
	if times == 0 {
		a.fail("P1: %s has a receipt, and was not received", row.DeliveryID)
	}
	if row.Forced {
		return
	}
	row.receipts[row.Generation]++
	if n := row.receipts[row.Generation]; n > 1 {
		a.fail("P3: %s has %d receipts in the generation %d", row.DeliveryID, n, row.Generation)
	}
}

// leavesMismatch looks at a mismatch that was settled: only a client, a marker or the
// repair of its turn does that.
func (a *audit) leavesMismatch(row *auditRow) {
	skipped := strings.HasPrefix(row.Reason, bridges.ReasonSkipped) || row.Reason == bridges.ReasonReset
	superseded := a.log.supersededBy(a.log.at(row.Seq)) != 0
	if a.log.damaged[row.TurnID] && !skipped && !superseded {
		a.fail("P1: the mismatch %s was settled by itself: %s %s", row.DeliveryID, row.State, row.Reason)
	}
}

// cursorMoves looks at the cursors of the subscriptions that a unit changes.
func (a *audit) cursorMoves(u *ledger.Unit, fresh []*naiveEvent, changed []*auditRow) {
	after, want := map[string]cursors.Cursor{}, map[string]cursors.Cursor{}
	for _, row := range u.Rows {
		if row.Table() != cursors.Table {
			continue
		}
		v, err := row.Values(0)
		if err != nil {
			panic(err)
		}
		c := cursors.Read(v)
		after[strings.TrimPrefix(c.ConsumerID, bridges.ConsumerPrefix)] = *c
	}
	for _, row := range changed {
		id := row.SubscriptionID
		c, ok := want[id]
		if !ok {
			c = a.cursors[id]
		}
		if row.settles() && !row.Forced {
			c.LastSequence = max(c.LastSequence, row.Seq)
			if row.State == bridges.StateDelivered {
				c.LastDeliveryID = row.DeliveryID
			}
		}
		want[id] = c
	}
	for _, e := range fresh {
		c, id := a.cursors[e.body.SubscriptionID], e.body.SubscriptionID
		switch e.method {
		case notify.SubscriptionReset:
			want[id] = cursors.Cursor{LastSequence: e.body.ToSeq}
		case notify.SubscriptionSkipped:
			c.LastSequence = max(c.LastSequence, e.body.ToSeq)
			want[id] = c
		}
	}
	for id, c := range after {
		if _, ok := want[id]; !ok {
			want[id] = a.cursors[id]
		}
		if c.LastDeliveryID != "" && c.LastDeliveredAt.IsZero() {
			a.fail("cursor: that of %s has a delivery without a time", id)
		}
	}
	for id, c := range want {
		got, ok := after[id]
		if !ok {
			got = a.cursors[id]
		}
		if got.LastSequence != c.LastSequence || got.LastDeliveryID != c.LastDeliveryID {
			a.fail("cursor: that of %s is at %d (%s), want %d (%s)", id, got.LastSequence, got.LastDeliveryID, c.LastSequence, c.LastDeliveryID)
		}
		a.cursors[id] = got
		a.saysWhatBlocks(id, got)
	}
}

// saysWhatBlocks checks the error of a cursor (P8): as long as there is a mismatch, it names the
// oldest, whatever was delivered since.
func (a *audit) saysWhatBlocks(id string, c cursors.Cursor) {
	if sub := a.subs[id]; sub == nil || sub.State == bridges.Deleted {
		return
	}
	oldest := int64(0)
	for key, row := range a.rows {
		if key.sub == id && row.State == bridges.StateMismatch && !row.removed && (oldest == 0 || key.seq < oldest) {
			oldest = key.seq
		}
	}
	says := strings.HasPrefix(c.LastError, "mismatch at ")
	if says != (oldest != 0) || says && c.LastError != fmt.Sprint("mismatch at ", oldest) {
		a.fail("P8: the oldest mismatch of %s is %d, its cursor says %q", id, oldest, c.LastError)
	}
	if says {
		a.counts["blocked"]++
	}
}

// answered notes what the target has said.
func (a *audit) answered(o *bridges.Outgoing, outcome bridges.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if row := a.rows[modelKey{o.Envelope().Data.SubscriptionID, o.Envelope().Seq}]; row != nil {
		row.answer = outcome
	}
}

// sent looks at an attempt that the target sees. notWaitedFor says that it did not
// return in time, ended that it has returned.
func (a *audit) sent(to channel, o *bridges.Outgoing) (notWaitedFor, ended func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id, subscription := o.Envelope().DeliveryID, o.Envelope().Data.SubscriptionID
	key := modelKey{subscription, o.Envelope().Seq}
	row, life, waitedFor := a.rows[key], a.life, true
	at := sending{deliveryID: id}
	if row != nil {
		at = a.sendingOf(row)
	}
	leave := func(inside bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.life != life {
			return
		}
		if waitedFor {
			a.sending[subscription]--
		}
		if waitedFor = false; inside {
			a.stuck[at] = true // until the next attempt: the dispatcher learns a moment later that it has returned
		} else {
			a.inside[at]--
		}
	}
	notWaitedFor, ended = func() { leave(true) }, func() { leave(false) }
	a.sending[subscription]++
	a.inside[at]++
	delete(a.stuck, at)
	switch {
	case row == nil || id != bridges.DeliveryID(key.sub, key.seq):
		a.fail("P3: %s was sent, which is no delivery", id)
		return notWaitedFor, ended
	case a.inside[at] > 1:
		a.fail("P2: %s was sent while its attempt before had not returned", id)
	case a.sending[subscription] > 1:
		a.fail("P2: %s was sent while another delivery of its subscription was under way", id)
	case row.sent >= row.begunTimes:
		a.fail("P1: %s was sent %d times, and %d attempts were committed", id, row.sent+1, row.begunTimes)
	case row.BridgeID != to.bridge:
		a.fail("P1: %s was sent through %s", id, to.bridge)
	}
	for _, mate := range row.mates {
		if first := a.rows[mate]; first.State.Open() && first.Generation == row.Generation && first.answer != bridges.Delivered {
			a.fail("P2: %s was sent before %s, which began with it, was delivered", id, first.DeliveryID)
		}
	}
	row.sent++
	row.answer = ""
	if !strings.HasSuffix(o.ID, ":"+id) {
		a.fail("P3: %s was sent as %s", id, o.ID)
	}
	if body, ok := a.bodies[id]; ok && body != o.ID+string(o.Body) {
		a.fail("P3: %s was sent as\n%s\nand as\n%s", id, body, o.ID+string(o.Body))
	}
	a.bodies[id] = o.ID + string(o.Body)
	e := a.log.at(key.seq)
	if o.Envelope().Final && !e.accepted() {
		a.fail("P4: %s was sent as final, and is no accepted end", id)
	}
	named := slices.ContainsFunc(a.choices[subscription], func(c choice) bool { return slices.Contains(c.sub.Methods, e.method) })
	if ofDelivery(e.method) && !named {
		a.fail("P6: %s was sent, which is about %s", id, e.method)
	}
	return notWaitedFor, ended
}
