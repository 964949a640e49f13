package engine

import (
	"context"
	"math"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// statsKeeper gives what commits did to turns to Config.ObserveTurns. It belongs to the
// actor's goroutine.
type statsKeeper struct {
	a *actor
	// session is the cost of the agent's session, as an attempt of this thread last
	// reported it. nil = not known: the rows say.
	session *items.Cost
}

// committed follows a commit, those of recovery included.
func (k *statsKeeper) committed(d *decision) {
	observe, s := k.a.e.rules.cfg.ObserveTurns, d.change.stats
	if observe == nil || s.Empty() {
		return
	}
	s.Agent = k.a.state.thread.Agent
	for i := range s.Used {
		s.Used[i].Cost = k.costOf(&s.Used[i])
	}
	observe(&s)
}

// costOf returns what an attempt itself has cost. Agents of kind acp report the cost of their
// session so far, which continues over turns and often over restarts. So it is the
// difference to the last report in the thread. A smaller amount than before belongs to a
// new session.
func (k *statsKeeper) costOf(u *turns.Use) *items.Cost {
	if u.Cost == nil || !k.costsBySession() {
		return u.Cost
	}
	before := k.session
	if before == nil {
		var err error
		if before, err = k.storedCost(u.TurnID); err != nil {
			k.a.e.log.Warn("read the cost of the turn before: the cost of this one is not counted", zap.String("turn_id", u.TurnID), zap.Error(err))
			before = u.Cost
		}
	}
	k.session = u.Cost
	spent := *u.Cost
	if spent.Currency == before.Currency && spent.Amount >= before.Amount {
		spent.Amount -= before.Amount
	}
	return &spent
}

func (k *statsKeeper) costsBySession() bool {
	g := k.a.agent()
	return g.Agent != nil && g.Info().Kind == turns.KindACP
}

// turnsWithoutCost is how many turns of a thread are looked at for a cost.
const turnsWithoutCost = 32

// storedCost returns the newest cost that another turn of the thread has reported; the zero
// Cost if there is none.
func (k *statsKeeper) storedCost(turnID string) (found *items.Cost, err error) {
	found = &items.Cost{}
	looked := 0
	err = k.a.e.rules.inboxes.ReadToDecide(context.Background(), func(r ledger.Reader) error {
		newest := ledger.Range{Index: turns.OfThread, Prefix: []any{k.a.id}, After: int64(math.MaxInt64), Newest: true}
		return r.Scan(newest, func(v ledger.Values) error {
			t, err := turns.Read(v)
			switch {
			case err != nil:
				return err
			case t.TurnID != turnID && t.Usage != nil && t.Usage.Cost != nil:
				found = t.Usage.Cost
				return ledger.ErrEnough
			}
			if looked++; looked > turnsWithoutCost {
				return ledger.ErrEnough
			}
			return nil
		})
	})
	return found, err
}
