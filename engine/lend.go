package engine

import "github.com/seed82539d15/holon/turns"

// lent is the prompt whose slot at its agent is lent, because the agent waits in a call for
// child turns. It belongs to the actor's goroutine.
type lent struct {
	prompt executor // nil = none
	lender turns.Lender
}

// follow lends the slot or reclaims it, as the actor's state says. The loop calls it after
// everything that may change that, so that no slot stays lent, however the call or the
// prompt ends.
func (l *lent) follow(a *actor) {
	var now executor
	if w := a.work; w != nil && *w.calls > 0 {
		now = w.exec
	}
	if now == l.prompt {
		return
	}
	if l.prompt != nil {
		l.lender.Reclaim(a.id)
	}
	*l = lent{}
	if now == nil {
		return
	}
	if lender := a.agent().lender; lender != nil {
		lender.Lend(a.id)
		*l = lent{now, lender}
	}
}
