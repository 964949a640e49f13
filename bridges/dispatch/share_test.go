package dispatch

import (
	"errors"
	"fmt"
	"testing"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
)

// A token that is limited to threads makes MaxSubscriptionsEach subscriptions, and no more:
// what they hold back would use up MaxOpen, and they the bound of all. A restart changes
// nothing about it, a deletion makes room, and nobody else is concerned.
func TestALimitedTokenHasAShareOfTheSubscriptions(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.thread("a")
		create := func(id string, requester ledger.Requester, limited bool) error {
			_, err := w.s.SubscriptionCreate(background, bridges.CreateSubscription{SubscriptionID: id, BridgeID: "b", ThreadID: "a", Requester: requester, Limited: limited})
			return err
		}
		for i := range bridges.MaxSubscriptionsEach {
			if err := create(fmt.Sprint("s", i), "token:phone", true); err != nil {
				t.Fatal(err)
			}
		}
		full := func(when string) {
			t.Helper()
			if err := create("more", "token:phone", true); !errors.Is(err, bridges.ErrShareFull) {
				t.Errorf("%s: %v", when, err)
			}
		}
		full("at first")
		w.restart()
		full("after a restart")
		if err := errors.Join(create("s3", "token:phone", true), create("owners", "", false), create("others", "token:other", true), create("operators", "token:phone", false)); err != nil {
			t.Error(err)
		}
		for _, id := range []string{"s3", "operators"} {
			w.do(w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: id}))
		}
		if err := create("s3", "token:phone", true); err != nil {
			t.Errorf("after a deletion: %v", err)
		}
		full("and one more")
	})
}
