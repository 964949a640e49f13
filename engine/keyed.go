package engine

import "github.com/seed82539d15/holon/ledger"

// keyed decides one command of a thread and commits it. f adds its events to the
// decision and returns the answer. If the key has been used, f is not called and
// the first answer is returned again. The caller has checked mayDecide.
func keyed[R any, P ledger.Result[R]](a *actor, key *ledger.Key, f func(d *decision) (R, error)) (result R, replayed bool, err error) {
	var d *decision
	return ledger.Keyed[R, P](a.e.store, key, func() (*ledger.Unit, R, error) {
		d = a.decide()
		r, err := f(d)
		return &d.change.unit, r, err
	}, func(u *ledger.Unit) (ledger.Receipt, error) {
		d.change.flushDelta() // otherwise a unit that has only text would look empty
		if d.unfinished {
			u.Key, u.Result, u.Holes = nil, nil, nil
		}
		if d.change.empty() && u.Key == nil {
			a.enact(d) // text beyond an item's bound makes no event but changes the state
			return ledger.Receipt{Last: a.state.thread.LatestSeq}, nil
		}
		return a.commit(d)
	})
}
