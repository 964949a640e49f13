package dispatch

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
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

// TestSeqOfAReadIsNeverAhead: readers see a commit a moment before it is published. What they
// have returned then is a place where a subscription may begin or continue.
func TestSeqOfAReadIsNeverAhead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		m := w.thread("a")
		first := ends(m, "t1")
		want(t, "before", w.target.take(), fmt.Sprint("turn.completed ", first))
		m.At(time.Now())
		m.Create("", "item_a", items.StatusCompleted, items.NewNotice("info", "x"))
		u := m.Unit()
		errs := make(chan error, 2)
		persisttest.AssignAtItem(t, u, func() {
			latest := w.store.Tail().Head() + int64(len(u.Drafts))
			go func() {
				_, err := w.s.SubscriptionReset(background, bridges.ResetSubscription{SubscriptionID: "s", ToSeq: &latest, Reason: "it was read"})
				errs <- err
				_, err = w.s.SubscriptionCreate(background, bridges.CreateSubscription{SubscriptionID: "new", BridgeID: "b", From: &bridges.From{Seq: &latest}})
				errs <- err
			}()
			synctest.Wait() // both are refused, or wait for the store
		})
		r, err := w.store.Append(u)
		if err != nil {
			t.Fatal(err)
		}
		m.Took(u, r)
		for range 2 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		second := ends(m, "t2")
		want(t, "what follows", w.target.take(), fmt.Sprintf("turn.completed %d, turn.completed %d", second, second))
	})
}
