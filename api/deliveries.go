package api

import (
	"context"
	"errors"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
)

// Deliveries is what the methods of bridges, subscriptions and deliveries work on;
// *dispatch.Service implements it. It is called with commands that were checked
// (Check of the command). Errors are those of package bridges, *turns.InvalidError
// and threads.ErrNotFound. Reads return the newest seq of the log too.
type Deliveries interface {
	BridgeCreate(ctx context.Context, c bridges.CreateBridge) (bridges.BridgeResult, error)
	BridgeUpdate(ctx context.Context, c bridges.UpdateBridge) (bridges.BridgeResult, error)
	BridgePause(ctx context.Context, c bridges.ChangeBridge) (bridges.BridgeResult, error)
	BridgeResume(ctx context.Context, c bridges.ChangeBridge) (bridges.BridgeResult, error)
	BridgeRotate(ctx context.Context, c bridges.RotateSecret) (bridges.BridgeResult, error)
	BridgeDelete(ctx context.Context, c bridges.DeleteBridge) (bridges.BridgeResult, error)
	// BridgeTest takes as long as an attempt of the bridge may take.
	BridgeTest(ctx context.Context, bridgeID string, target bridges.Target) (bridges.TestResult, error)
	Bridge(bridgeID string) (bridges.Bridge, int64, error)
	Bridges(q bridges.BridgeQuery) (page []bridges.Bridge, next string, latest int64)

	SubscriptionCreate(ctx context.Context, c bridges.CreateSubscription) (bridges.SubscriptionResult, error)
	SubscriptionUpdate(ctx context.Context, c bridges.UpdateSubscription) (bridges.SubscriptionResult, error)
	SubscriptionPause(ctx context.Context, c bridges.ChangeSubscription) (bridges.SubscriptionResult, error)
	SubscriptionResume(ctx context.Context, c bridges.ChangeSubscription) (bridges.SubscriptionResult, error)
	SubscriptionReset(ctx context.Context, c bridges.ResetSubscription) (bridges.SubscriptionResult, error)
	SubscriptionSkip(ctx context.Context, c bridges.SkipSubscription) (bridges.SubscriptionResult, error)
	SubscriptionDelete(ctx context.Context, c bridges.ChangeSubscription) (bridges.SubscriptionResult, error)
	Subscription(ctx context.Context, subscriptionID string) (bridges.SubscriptionView, int64, error)
	Subscriptions(ctx context.Context, q bridges.SubscriptionQuery) (page []bridges.SubscriptionView, next string, latest int64, err error)

	Redeliver(ctx context.Context, deliveryID string, key *ledger.Key) (bridges.RedeliverResult, error)
	Delivery(ctx context.Context, deliveryID string) (bridges.Delivery, int64, error)
	Deliveries(ctx context.Context, q bridges.DeliveryQuery) (page []bridges.Delivery, next string, latest int64, err error)
}

// deliveries returns the Deliveries of the server, or an error if it has none.
func (a *API) deliveries() (Deliveries, error) {
	if a.Deliveries == nil {
		return nil, Errorf(KindUnavailable, "this server has no bridges")
	}
	return a.Deliveries, nil
}

// delivering checks a command and executes it; check is nil for a command that every
// value fits.
func delivering[C, R any](ctx context.Context, a *API, c *C, check func() error, do func(Deliveries, context.Context, C) (R, error)) (r R, err error) {
	in, err := a.deliveries()
	if err == nil && check != nil {
		err = check()
	}
	if err != nil {
		return r, err
	}
	return do(in, ctx, *c)
}

// aheadOf makes the error of a seq above the log, which says where the log is.
func (a *API) aheadOf(ctx context.Context, field string, err error) error {
	if !errors.Is(err, bridges.ErrAhead) {
		return err
	}
	at, failed := a.Position(ctx)
	if failed != nil {
		return failed
	}
	e := cursorError(KindCursorAhead, at, "%s is above the newest event, %d", field, at.Latest)
	e.Data.Field = field
	return e
}
