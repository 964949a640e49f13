package dispatch

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// backlog makes a subscription whose rounds have reached their full size, with ends of
// n turns that wait. It returns the seqs of these.
func backlog(t *testing.T, w *world, n int) (m *persisttest.Maker, waiting []int64) {
	w.bridge("b")
	w.subscribe("s", "b", "")
	m = w.thread("a")
	for i := range 5 {
		ends(m, fmt.Sprint("before", i))
		synctest.Wait()
	}
	if _, err := w.s.BridgePause(background, bridges.ChangeBridge{BridgeID: "b"}); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		id := fmt.Sprint("t", i)
		turn(m, id)
		waiting = append(waiting, end(m, id))
	}
	w.target.take()
	return m, waiting
}

// holdAt lets the attempt of an event wait. under is closed when it is under way; it is
// delivered once goOn is closed.
func (w *world) holdAt(seq int64) (under, goOn chan struct{}) {
	under, goOn = make(chan struct{}), make(chan struct{})
	w.target.set(func(o *bridges.Outgoing, _ int) bridges.Result {
		if o.Envelope().Seq == seq {
			close(under)
			<-goOn
		}
		return bridges.Result{Outcome: bridges.Delivered}
	})
	return under, goOn
}

// kill ends the program: nothing more is written.
func (w *world) kill() {
	w.life.mu.Lock()
	defer w.life.mu.Unlock()
	w.life.dead = true
}

// resume lets the bridge send.
func resume(t *testing.T, w *world) {
	t.Helper()
	if _, err := w.s.BridgeResume(background, bridges.ChangeBridge{BridgeID: "b"}); err != nil {
		t.Fatal(err)
	}
}

// wantAttempts checks how many attempts deliveries have had, and whether they are settled.
func wantAttempts(t *testing.T, w *world, what string, seqs []int64, attempts int, state bridges.DeliveryState) {
	t.Helper()
	for i, seq := range seqs {
		d, _, err := w.s.Delivery(background, bridges.DeliveryID("s", seq))
		if err != nil || d.Attempts != attempts || len(d.Tries) != attempts || d.State != state {
			t.Errorf("%s: the %d. (%d) is %s after %d attempts, with %d tries, want %s after %d: %v", what, i+1, seq, d.State, d.Attempts, len(d.Tries), state, attempts, err)
		}
	}
}

// TestAQuickTargetGetsRounds: two commits for 20 deliveries of different turns, and one
// to begin. Those of one turn wait for each other's receipts.
func TestAQuickTargetGetsRounds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var commits atomic.Int64
		w.change = func(cfg *Config) {
			cfg.Store = counting{cfg.Store, &commits}
		}
		w.restart()
		_, waiting := backlog(t, w, 20)
		before := commits.Load()
		resume(t, w)
		synctest.Wait()
		if n := commits.Load() - before; n != 3 {
			t.Errorf("%d commits for %d deliveries, want 3", n, len(waiting))
		}
		wantAttempts(t, w, "all", waiting, 1, bridges.StateDelivered)
		if c := w.view("s").Cursor; c.LastDeliveryID != bridges.DeliveryID("s", waiting[19]) {
			t.Errorf("%+v", c)
		}
	})
}

// counting counts the units with rows of deliveries.
type counting struct {
	ledger.Log
	n *atomic.Int64
}

// Append implements ledger.Log.
func (c counting) Append(u *ledger.Unit) (ledger.Receipt, error) {
	for _, row := range u.Rows {
		if row.Table().Name == bridges.DeliveryTable.Name {
			c.n.Add(1)
			break
		}
	}
	return c.Log.Append(u)
}

// TestARoundEndsAtAFailure: what comes after it has not begun.
func TestARoundEndsAtAFailure(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 10)
		fails := true
		w.target.set(func(o *bridges.Outgoing, _ int) bridges.Result {
			if fails && o.Envelope().Seq == waiting[3] {
				return bridges.Result{Outcome: bridges.Failed, Error: "connection_reset", Arrived: true}
			}
			return bridges.Result{Outcome: bridges.Delivered}
		})
		resume(t, w)
		synctest.Wait()
		wantAttempts(t, w, "before it", waiting[:3], 1, bridges.StateDelivered)
		wantAttempts(t, w, "the failure", waiting[3:4], 1, bridges.StatePending)
		wantAttempts(t, w, "after it", waiting[4:], 0, bridges.StatePending)
		w.target.set(func(*bridges.Outgoing, int) bridges.Result { return bridges.Result{Outcome: bridges.Delivered} })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantAttempts(t, w, "again", waiting[3:4], 2, bridges.StateDelivered)
		wantAttempts(t, w, "then", waiting[4:], 1, bridges.StateDelivered)
	})
}

// TestARoundOfASlowTargetIsShort: what was decided long ago may no longer be true.
func TestARoundOfASlowTargetIsShort(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 10)
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			time.Sleep(roundTime * 2 / 3)
			return bridges.Result{Outcome: bridges.Delivered}
		})
		resume(t, w)
		synctest.Wait()
		time.Sleep(roundTime * 8 / 6) // 33 ms, 67 ms
		synctest.Wait()
		wantAttempts(t, w, "in time", waiting[:2], 1, bridges.StateDelivered)
		wantAttempts(t, w, "under way", waiting[2:3], 1, bridges.StatePending)
		wantAttempts(t, w, "too late", waiting[3:], 0, bridges.StatePending)
		time.Sleep(time.Second)
		synctest.Wait()
		wantAttempts(t, w, "then", waiting, 1, bridges.StateDelivered)
	})
}

// TestAChangeEndsARound: a command about the subscription finds only the attempt that is
// under way, and the others have not begun.
func TestAChangeEndsARound(t *testing.T) {
	for what, change := range map[string]func(w *world, waiting []int64) error{
		"pause": func(w *world, _ []int64) error {
			_, err := w.s.SubscriptionPause(background, bridges.ChangeSubscription{SubscriptionID: "s"})
			return err
		},
		"reset": func(w *world, waiting []int64) error {
			_, err := w.s.SubscriptionReset(background, bridges.ResetSubscription{SubscriptionID: "s", ToSeq: &waiting[9], Reason: "test"})
			return err
		},
		"pause of the bridge": func(w *world, _ []int64) error {
			_, err := w.s.BridgePause(background, bridges.ChangeBridge{BridgeID: "b"})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				_, waiting := backlog(t, w, 10)
				under, goOn := w.holdAt(waiting[2])
				resume(t, w)
				<-under
				if err := change(w, waiting); err != nil {
					t.Fatal(err)
				}
				close(goOn)
				synctest.Wait()
				wantAttempts(t, w, "made", waiting[:3], 1, bridges.StateDelivered)
				state := bridges.StatePending
				if what == "reset" {
					state = bridges.StateSuppressed
				}
				wantAttempts(t, w, "not made", waiting[3:], 0, state)
			})
		})
	}
}

// TestWhatARoundHasNotSentIsDecidedAgain: a retry that comes meanwhile takes it back
// before it is sent.
func TestWhatARoundHasNotSentIsDecidedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m, waiting := backlog(t, w, 10)
		under, goOn := w.holdAt(waiting[2])
		resume(t, w)
		<-under
		retry(m, "t7")
		synctest.Wait()
		close(goOn)
		synctest.Wait()
		wantAttempts(t, w, "taken back", waiting[7:8], 0, bridges.StateSuperseded)
		wantAttempts(t, w, "others", append(waiting[3:7:7], waiting[8:]...), 1, bridges.StateDelivered)
	})
}

// TestACrashInARound: each of its deliveries may have arrived, and comes under the same id.
func TestACrashInARound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 10)
		w.target.set(func(o *bridges.Outgoing, _ int) bridges.Result {
			if o.Envelope().Seq == waiting[2] {
				w.kill()
			}
			return bridges.Result{Outcome: bridges.Delivered}
		})
		resume(t, w)
		time.Sleep(time.Minute)
		w.target.set(nil)
		before := map[string]string{}
		w.target.mu.Lock()
		for _, a := range w.target.got {
			before[a.id] = a.body
		}
		w.target.mu.Unlock()
		w.crash()
		time.Sleep(time.Minute)
		synctest.Wait()
		wantAttempts(t, w, "all", waiting, 2, bridges.StateDelivered)
		w.target.mu.Lock()
		defer w.target.mu.Unlock()
		for _, a := range w.target.got {
			if body, ok := before[a.id]; ok && body != a.body {
				t.Errorf("%s was sent with other bytes", a.id)
			}
			delete(before, a.id)
		}
		if len(before) > 0 {
			t.Errorf("not sent again: %v", before)
		}
	})
}

// TestTheTriesOfADeliveryAreThoseThatWereStored, whatever has happened: what is in memory
// and what a start reads are the same.
func TestTheTriesOfADeliveryAreThoseThatWereStored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 2)
		tries := func(of int64) string {
			d, _, err := w.s.Delivery(background, bridges.DeliveryID("s", of))
			if err != nil {
				t.Fatal(err)
			}
			list := fmt.Sprint(d.Attempts, d.State)
			for _, try := range d.Tries {
				list += fmt.Sprint(" ", try.Attempt, try.Outcome)
			}
			return list
		}
		die := func(*bridges.Outgoing, int) bridges.Result {
			w.kill()
			return bridges.Result{Outcome: bridges.Delivered}
		}
		w.target.set(die)
		resume(t, w)
		time.Sleep(time.Minute)
		w.target.set(func(_ *bridges.Outgoing, n int) bridges.Result {
			w.target.set(die)
			return bridges.Result{Outcome: bridges.Failed, Status: 500, Error: "status 500"}
		})
		for _, want := range []string{"1pending 1", "3pending 1 2failed 3", "4pending 1 2failed 3 4"} {
			if got := tries(waiting[0]); got != want {
				t.Errorf("before a start: %s, want %s", got, want)
			}
			w.crash()
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		w.target.set(nil)
		w.crash()
		time.Sleep(time.Minute)
		synctest.Wait()
		for i, want := range []string{"6delivered 1 2failed 3 4 5 6delivered", "2delivered 1 2delivered"} {
			if got := tries(waiting[i]); got != want {
				t.Errorf("at the end: %s, want %s", got, want)
			}
		}
	})
}

// TestAStrictSubscriptionSettlesInItsOrder: what is no longer to be sent waits for what
// comes before it, also if both would begin together.
func TestAStrictSubscriptionSettlesInItsOrder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m, waiting := backlog(t, w, 6)
		strict := bridges.OrderStrict
		if _, err := w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: "s", Order: &strict}); err != nil {
			t.Fatal(err)
		}
		before := w.view("s").Cursor.LastSequence
		retry(m, "t3")
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			return bridges.Result{Outcome: bridges.Failed, Status: 500, Error: "status 500"}
		})
		resume(t, w)
		synctest.Wait()
		wantAttempts(t, w, "the first", waiting[:1], 1, bridges.StatePending)
		wantAttempts(t, w, "the others", waiting[1:], 0, bridges.StatePending)
		if c := w.view("s").Cursor; c.LastSequence != before {
			t.Errorf("the cursor is at %d, want %d: the first is %d", c.LastSequence, before, waiting[0])
		}
		w.target.set(nil)
		time.Sleep(time.Minute)
		wantAttempts(t, w, "at the end", waiting[3:4], 0, bridges.StateSuperseded)
		wantAttempts(t, w, "at the end", append(waiting[1:3:3], waiting[4:]...), 1, bridges.StateDelivered)
	})
}

// TestWhatIsSettledUnsentMakesRoom: a lane that waits for room goes on when that comes
// without an attempt.
func TestWhatIsSettledUnsentMakesRoom(t *testing.T) {
	hosttest.Long(t)
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "", bridges.OnQuestions)
		m := w.thread("a")
		turn(m, "t")
		ask(m, "t", "first")
		synctest.Wait()
		if _, err := w.s.BridgePause(background, bridges.ChangeBridge{BridgeID: "b"}); err != nil {
			t.Fatal(err)
		}
		const n = bridges.MaxBacklog + 100
		for i := range n {
			ask(m, "t", fmt.Sprint("i", i))
		}
		synctest.Wait()
		v := w.view("s")
		if v.State != bridges.Active || v.Pending > bridges.MaxBacklog {
			t.Fatalf("%s, %d wait", v.State, v.Pending)
		}
		for i := range n {
			answer(m, "t", fmt.Sprint("i", i))
		}
		resume(t, w)
		time.Sleep(time.Minute)
		w.target.take()
		ask(m, "t", "last")
		if got := w.target.take(); got == "" {
			t.Errorf("the lane takes nothing any more: %+v", w.view("s"))
		}
	})
}

// TestNoRoundFollowsAPause: receipts that could not be committed come late, and the bridge
// was paused meanwhile.
func TestNoRoundFollowsAPause(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 40)
		fill := func(full bool) {
			w.life.mu.Lock()
			defer w.life.mu.Unlock()
			w.life.full = full
		}
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			fill(true)
			return bridges.Result{Outcome: bridges.Delivered}
		})
		resume(t, w)
		synctest.Wait()
		time.Sleep(storageRetry / 2)
		fill(false)
		if _, err := w.s.BridgePause(background, bridges.ChangeBridge{BridgeID: "b"}); err != nil {
			t.Fatal(err)
		}
		w.target.set(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		n := 0
		for _, seq := range waiting {
			d, _, err := w.s.Delivery(background, bridges.DeliveryID("s", seq))
			if err != nil {
				t.Fatal(err)
			}
			if d.Attempts > 0 {
				n++
			}
		}
		if n != maxRound {
			t.Errorf("%d attempts, want %d", n, maxRound)
		}
	})
}

// TestBodiesOfWhatFailsAreNotKept in memory beyond the bound.
func TestBodiesOfWhatFailsAreNotKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 4)
		w.restart() // nothing is in memory
		w.s.bodies.Add(maxBodies)
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			return bridges.Result{Outcome: bridges.Failed, Status: 500, Error: "status 500"}
		})
		resume(t, w)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := w.s.bodies.Load(); n != maxBodies {
			t.Errorf("%d bytes too many", n-maxBodies)
		}
		w.target.set(nil)
		time.Sleep(12 * time.Hour)
		synctest.Wait()
		for _, seq := range waiting {
			if d, _, err := w.s.Delivery(background, bridges.DeliveryID("s", seq)); err != nil || d.State != bridges.StateDelivered {
				t.Errorf("%+v: %v", d, err)
			}
		}
		if n := w.s.bodies.Load(); n != maxBodies {
			t.Errorf("%d bytes too many at the end", n-maxBodies)
		}
	})
}

// TestARecallComesBeforeTheFirstAttempt: a round may be recalled before it has made any.
// The race detector looks at it.
func TestARecallComesBeforeTheFirstAttempt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 10)
		l := w.s.known.lane("s")
		l.mu.Lock()
		w.s.slots.set(l.out, func(o *bridgeLoad) { o.sends = true })
		w.s.slots.mu.Lock()
		w.s.slots.take(l)
		w.s.slots.mu.Unlock()
		r := l.begin(background)
		go func() {
			for closed := false; !closed; {
				r.mu.Lock()
				closed = r.closed
				r.mu.Unlock()
			}
			l.send(r)
		}()
		err := l.recall()
		l.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantAttempts(t, w, "all", waiting, 1, bridges.StateDelivered)
	})
}

// TestAfterAFailureOneBegins: a target that fails is asked with one delivery, also if it
// was the last of a round.
func TestAfterAFailureOneBegins(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 20)
		under, goOn := make(chan struct{}), make(chan struct{})
		tries := 0
		w.target.set(func(o *bridges.Outgoing, _ int) bridges.Result {
			if o.Envelope().Seq != waiting[maxRound-1] {
				return bridges.Result{Outcome: bridges.Delivered}
			}
			if tries++; tries == 1 {
				return bridges.Result{Outcome: bridges.Failed, Status: 500, Error: "status 500"}
			}
			close(under)
			<-goOn
			return bridges.Result{Outcome: bridges.Delivered}
		})
		resume(t, w)
		<-under
		wantAttempts(t, w, "the one that has failed", waiting[maxRound-1:maxRound], 2, bridges.StatePending)
		wantAttempts(t, w, "the others", waiting[maxRound:], 0, bridges.StatePending)
		close(goOn)
		synctest.Wait()
		wantAttempts(t, w, "then", waiting[maxRound:], 1, bridges.StateDelivered)
	})
}

// TestARoundUsesOneChannel: what was not made when the bridge was changed goes through
// the new one.
func TestARoundUsesOneChannel(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		other := &target{shown: map[string]string{}}
		w.change = func(cfg *Config) {
			cfg.Open = func(b *bridges.Bridge, _ bridges.Secrets, _ *bridges.Secrets) (bridges.Channel, error) {
				if b.URL == "https://other.example.com" {
					return other, nil
				}
				return w.target, nil
			}
		}
		w.restart()
		_, waiting := backlog(t, w, 10)
		under, goOn := w.holdAt(waiting[2])
		resume(t, w)
		<-under
		url := "https://other.example.com"
		if _, err := w.s.BridgeUpdate(background, bridges.UpdateBridge{BridgeID: "b", URL: &url}); err != nil {
			t.Fatal(err)
		}
		close(goOn)
		synctest.Wait()
		wantAttempts(t, w, "all", waiting, 1, bridges.StateDelivered)
		other.mu.Lock()
		defer other.mu.Unlock()
		if n := len(other.got); n != 7 {
			t.Errorf("%d went through the new channel, want 7", n)
		}
	})
}

// TestEachAttemptOfARoundSaysSomethingOfTheBridge: a success before a failure ends the
// days of failures.
func TestEachAttemptOfARoundSaysSomethingOfTheBridge(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 10)
		b := w.s.known.bridge("b")
		w.target.set(func(o *bridges.Outgoing, _ int) bridges.Result {
			if o.Envelope().Seq == waiting[0] { // it has failed yesterday
				if err := b.change(w.s, "", "", func(next *bridges.Bridge, _ int64, _ notify.Time) { next.Failed(time.Now().Add(-24 * time.Hour)) }); err != nil {
					t.Error(err)
				}
			}
			if o.Envelope().Seq == waiting[2] {
				return bridges.Result{Outcome: bridges.Failed, Status: 500, Error: "status 500", Unhealthy: true}
			}
			return bridges.Result{Outcome: bridges.Delivered}
		})
		resume(t, w)
		synctest.Wait()
		wantAttempts(t, w, "made", waiting[:2], 1, bridges.StateDelivered)
		if days := b.row.Load().FailedDays; len(days) != 1 {
			t.Errorf("failed on %v, want this day only", days)
		}
	})
}

// TestASubscriptionThatIsHeldMeanwhileEndsARound: what has begun is not made.
func TestASubscriptionThatIsHeldMeanwhileEndsARound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m, waiting := backlog(t, w, 10)
		under, goOn := w.holdAt(waiting[2])
		resume(t, w)
		<-under
		turn(m, "old")
		m.At(time.Now().Add(-bridges.MaxBacklogAge - time.Hour))
		m.EndTurn("old")
		m.Commit()
		synctest.Wait()
		if v := w.view("s"); v.State != bridges.Held {
			t.Fatal(v.State)
		}
		close(goOn)
		synctest.Wait()
		wantAttempts(t, w, "made", waiting[:3], 1, bridges.StateDelivered)
		wantAttempts(t, w, "not made", waiting[3:], 0, bridges.StatePending)
	})
}

// TestABridgeThatWaitsEndsARound: an attempt that is put off costs nothing, and those
// after it have not begun.
func TestABridgeThatWaitsEndsARound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 10)
		w.target.set(func(o *bridges.Outgoing, _ int) bridges.Result {
			if o.Envelope().Seq == waiting[2] {
				w.target.set(nil)
				return bridges.Result{Outcome: bridges.Wait, Status: 429, Error: "status 429", RetryAfter: time.Minute}
			}
			return bridges.Result{Outcome: bridges.Delivered}
		})
		resume(t, w)
		time.Sleep(time.Minute - time.Second)
		synctest.Wait()
		wantAttempts(t, w, "made", waiting[:2], 1, bridges.StateDelivered)
		for i, seq := range waiting[2:] {
			if d, _, err := w.s.Delivery(background, bridges.DeliveryID("s", seq)); err != nil || d.Attempts != 0 || d.Arrived || len(d.Tries) > 0 && i > 0 {
				t.Errorf("%d: %+v: %v", seq, d, err)
			}
		}
		time.Sleep(2 * time.Second)
		wantAttempts(t, w, "then", waiting[3:], 1, bridges.StateDelivered)
	})
}

// TestATargetThatIsGoneEndsARound: those after it have not begun, and are sent when the
// bridge is resumed.
func TestATargetThatIsGoneEndsARound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 10)
		w.target.set(func(o *bridges.Outgoing, _ int) bridges.Result {
			if o.Envelope().Seq == waiting[2] {
				return bridges.Result{Outcome: bridges.Gone, Status: 410, Error: "status 410"}
			}
			return bridges.Result{Outcome: bridges.Delivered}
		})
		resume(t, w)
		time.Sleep(time.Hour)
		synctest.Wait()
		wantAttempts(t, w, "made", waiting[:2], 1, bridges.StateDelivered)
		for _, seq := range waiting[2:] {
			if d, _, err := w.s.Delivery(background, bridges.DeliveryID("s", seq)); err != nil || d.Attempts != 0 || d.State != bridges.StatePending {
				t.Errorf("%d: %+v: %v", seq, d, err)
			}
		}
		w.target.set(nil)
		resume(t, w)
		synctest.Wait()
		wantAttempts(t, w, "then", waiting[3:], 1, bridges.StateDelivered)
	})
}

// TestAStopEndsARound: the attempt under way gets its time, and the others have not begun.
func TestAStopEndsARound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 10)
		under, goOn := make(chan struct{}), make(chan struct{})
		sent := map[int64]int{}
		w.target.set(func(o *bridges.Outgoing, _ int) bridges.Result {
			if sent[o.Envelope().Seq]++; o.Envelope().Seq == waiting[2] {
				close(under)
				<-goOn
			}
			return bridges.Result{Outcome: bridges.Delivered}
		})
		resume(t, w)
		<-under
		go func() {
			time.Sleep(100 * time.Millisecond)
			close(goOn)
		}()
		w.restart()
		time.Sleep(time.Second) // until the lane has caught up
		synctest.Wait()
		wantAttempts(t, w, "all", waiting, 1, bridges.StateDelivered)
		for _, seq := range waiting {
			if sent[seq] != 1 {
				t.Errorf("%d was sent %d times", seq, sent[seq])
			}
		}
	})
}

// TestWhatARoundHasNotMadeComesNext, before what comes after it.
func TestWhatARoundHasNotMadeComesNext(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 3*maxRound)
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			time.Sleep(roundTime / 5)
			return bridges.Result{Outcome: bridges.Delivered}
		})
		resume(t, w)
		time.Sleep(time.Minute)
		synctest.Wait()
		wantAttempts(t, w, "all", waiting, 1, bridges.StateDelivered)
		w.target.mu.Lock()
		defer w.target.mu.Unlock()
		for i, a := range w.target.got {
			if a.envelope.Seq != waiting[i] {
				t.Fatalf("the %d. is %d, want %d", i+1, a.envelope.Seq, waiting[i])
			}
		}
	})
}

// TestARoundIsNamedByItsTurns: events of no turn have nothing to do with each other.
func TestARoundIsNamedByItsTurns(t *testing.T) {
	event := func(turnID string) *taken {
		return &taken{chosen: &bridges.Chosen{Header: notify.Header{TurnID: turnID}}}
	}
	r := &round{attempts: []*attempt{{delivery: &bridges.Delivery{}}, {delivery: &bridges.Delivery{}}, {delivery: &bridges.Delivery{TurnID: "t"}}}}
	for turnID, want := range map[string]bool{"": false, "t": true, "other": false} {
		if got := r.names([]*taken{event("x"), event(turnID)}); got != want {
			t.Errorf("%q: %t", turnID, got)
		}
	}
}
