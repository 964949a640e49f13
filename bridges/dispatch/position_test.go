package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/follow"
)

// TestWhatWasTakenIsNotTakenAgain: between the commit of a batch and the moment at
// which its follower knows of it, a change of the subscription begins a new follower.
func TestWhatWasTakenIsNotTakenAgain(t *testing.T) {
	for _, change := range []string{"update", "delete and create"} {
		t.Run(change, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.bridge("b")
				w.subscribe("s", "b", "")
				synctest.Wait()
				l := w.s.known.lane("s")
				if err := w.followers.Remove(l.sub.FollowerName()); err != nil {
					t.Fatal(err)
				}
				know := make(chan struct{})
				follower, err := w.followers.Add(background, follow.Follower{
					Name: l.sub.FollowerName(), Interest: follow.Interest{All: true, Methods: l.sub.Followed()},
					Handle: func(ctx context.Context, b *follow.Batch) ([]follow.Task, error) {
						err := l.take(ctx, 1, b)
						<-know
						return nil, err
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				l.follower = follower
				m := w.thread("a")
				ends(m, "t1")
				synctest.Wait()
				go func() {
					time.Sleep(time.Second)
					close(know)
				}()
				if change == "update" {
					w.do(w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: "s", On: &[]bridges.On{bridges.OnFinal, bridges.OnInbox}}))
				} else {
					w.do(w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
					w.subscribe("s", "b", "")
				}
				time.Sleep(time.Minute)
				want(t, "arrived", w.target.take(), "turn.completed 5")
			})
		})
	}
}
