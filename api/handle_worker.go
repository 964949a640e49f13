package api

import (
	"context"
	"errors"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// workers returns the Workers of the server, or an error if it has none.
func (h *Handlers) workers() (Workers, error) {
	if h.api.Workers == nil {
		return nil, Errorf(KindUnavailable, "this server has no workers")
	}
	return h.api.Workers, nil
}

// leased works like workers, for a method that takes a lease. It checks the members of
// the lease; the engine decides whether the lease is valid.
func (h *Handlers) leased(l turns.Lease) (Workers, error) {
	switch {
	case l.TurnID == "":
		return nil, Invalid("lease.turn_id", "required", "the member is required")
	case l.Attempt < 1:
		return nil, Invalid("lease.attempt", "out_of_range", "attempts count from 1")
	case l.Token == "":
		return nil, Invalid("lease.token", "required", "the member is required")
	}
	return h.workers()
}

// TurnClaimParams are the params of turn/claim. Worker is what the worker calls
// itself. WaitSeconds is how long to wait for a turn; if absent or 0, the
// answer comes at once.
type TurnClaimParams struct {
	Agent       string  `json:"agent"`
	Worker      string  `json:"worker,omitzero"`
	WaitSeconds float64 `json:"wait_seconds,omitzero"`
	Keyed
	Extra
}

// TurnClaimResult answers turn/claim. If no turn came in time, Turn is null,
// and lease and input are absent.
type TurnClaimResult = turns.ClaimResult

// TurnClaim answers turn/claim. It stops waiting when its client disconnects or
// the server stops. A client that has disconnected gets no turn; if it still
// reads, the answer says so.
func (h *Handlers) TurnClaim(ctx context.Context, p TurnClaimParams) (TurnClaimResult, error) {
	w, err := h.workers()
	if err != nil {
		return TurnClaimResult{}, err
	}
	if p.WaitSeconds < 0 || p.WaitSeconds > turns.MaxClaimWait.Seconds() {
		return TurnClaimResult{}, Invalid("wait_seconds", "out_of_range", "it must be 0 to %v", turns.MaxClaimWait.Seconds())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.api.open, cancel)()
	r, err := w.Claim(ctx, turns.Claim{
		Agent: p.Agent, Worker: p.Worker, Wait: time.Duration(p.WaitSeconds * float64(time.Second)), Key: p.key,
	})
	if errors.Is(err, context.Canceled) {
		switch {
		case h.api.open.Err() != nil:
			err = turns.ErrDraining
		case endOf(ctx) == nil:
			err = nil
		}
	}
	if r.Turn == nil {
		r.Seq = h.api.Head() // nothing was changed
	}
	if alive := AliveOf(ctx); alive != nil && r.Access != nil && h.api.BindAccess != nil {
		h.api.BindAccess(r.Access.Token, alive)
	}
	return r, err
}

// TurnRenewParams are the params of turn/renew.
type TurnRenewParams struct {
	turns.Renew
	Keyed
	Extra
}

// TurnRenewResult answers turn/renew.
type TurnRenewResult = turns.RenewResult

// TurnRenew answers turn/renew.
func (h *Handlers) TurnRenew(ctx context.Context, p TurnRenewParams) (TurnRenewResult, error) {
	w, err := h.leased(p.Lease)
	if err != nil {
		return TurnRenewResult{}, err
	}
	r, err := w.Renew(ctx, p.Renew)
	r.Steers = append([]turns.WorkerInput{}, r.Steers...)
	return r, err
}

// TurnCompleteParams are the params of turn/complete.
type TurnCompleteParams struct {
	turns.CompleteTurn
	Keyed
	Extra
}

// TurnCompleteResult answers turn/complete.
type TurnCompleteResult = turns.EndTurnResult

// TurnComplete answers turn/complete.
func (h *Handlers) TurnComplete(ctx context.Context, p TurnCompleteParams) (TurnCompleteResult, error) {
	w, err := h.leased(p.Lease)
	if err != nil {
		return TurnCompleteResult{}, err
	}
	if p.Usage != nil {
		p.Usage.Type = items.KindUsage // whatever the worker called it
	}
	return w.Complete(ctx, p.CompleteTurn)
}

// TurnFailParams are the params of turn/fail.
type TurnFailParams struct {
	turns.FailTurn
	Keyed
	Extra
}

// TurnFailResult answers turn/fail.
type TurnFailResult = turns.EndTurnResult

// TurnFail answers turn/fail.
func (h *Handlers) TurnFail(ctx context.Context, p TurnFailParams) (TurnFailResult, error) {
	w, err := h.leased(p.Lease)
	switch {
	case err != nil:
		return TurnFailResult{}, err
	case p.Error.Kind == "":
		return TurnFailResult{}, Invalid("error.kind", "required", "the member is required")
	case p.Error.Message == "":
		return TurnFailResult{}, Invalid("error.message", "required", "the member is required")
	}
	return w.Fail(ctx, p.FailTurn)
}
