package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/turns"
)

// What a person sees of the progress of a turn that is over: nothing beside the end; where the
// subscription has no ends, the end in its place; and that it waits for a review.
func TestProgressEndsWithItsTurn(t *testing.T) {
	endsNow := func(m *persisttest.Maker) { end(m, "t1") }
	inReview := func(m *persisttest.Maker) {
		m.EndInReview("t1")
		m.Commit()
	}
	approved := func(m *persisttest.Maker) {
		inReview(m)
		synctest.Wait()
		m.Review("t1", turns.Approved, "")
		m.Commit()
	}
	rejected := func(m *persisttest.Maker) {
		inReview(m)
		synctest.Wait()
		m.Review("t1", turns.Rejected, "t2")
		m.Commit()
	}
	final, progress := bridges.OnFinal, bridges.OnProgress
	for name, c := range map[string]struct {
		on      []bridges.On
		end     func(*persisttest.Maker)
		visible string
		plain   string // what a kind gets that cannot change messages
	}{
		"with ends":                 {[]bridges.On{final, progress}, endsNow, "turn.completed 5", "turn.started 4, turn.completed 5"},
		"progress first":            {[]bridges.On{progress, final}, endsNow, "turn.completed 5", "turn.started 4, turn.completed 5"},
		"without ends":              {[]bridges.On{progress}, endsNow, "turn.completed 5", "turn.started 4"},
		"in review":                 {[]bridges.On{final, progress}, inReview, "turn.completed 5", "turn.started 4"},
		"in review without ends":    {[]bridges.On{progress}, inReview, "turn.completed 5", "turn.started 4"},
		"approved":                  {[]bridges.On{final, progress}, approved, "turn.reviewed 6", "turn.started 4, turn.reviewed 6"},
		"approved without ends":     {[]bridges.On{progress}, approved, "turn.reviewed 6", "turn.started 4"},
		"continued by another turn": {[]bridges.On{final, progress}, rejected, "turn.reviewed 6", "turn.started 4"},
		"only ends":                 {[]bridges.On{final}, endsNow, "turn.completed 5", "turn.completed 5"},
	} {
		for _, edits := range []bool{true, false} {
			for _, restarts := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					inWorld(t, func(t *testing.T, w *world) {
						w.target.edits = edits
						w.bridge("b")
						w.subscribe("s", "b", "", c.on...)
						m := w.thread("a")
						turn(m, "t1")
						synctest.Wait()
						if restarts {
							w.restart()
						}
						c.end(m)
						time.Sleep(time.Minute)
						if edits {
							want(t, "visible", w.target.visible(), c.visible)
						} else {
							want(t, "arrived", w.target.take(), c.plain)
						}
						if v := w.view("s"); v.Pending != 0 || v.Cursor.LastError != "" {
							t.Errorf("%+v", v)
						}
					})
				})
			}
		}
	}
}

// Where nothing of the progress is shown, its end changes nothing: whoever subscribes to progress
// later, or whose messages failed, is not sent ends.
func TestProgressThatIsNotShownHasNoEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.target.edits = true
		w.bridge("b")
		m := w.thread("a")
		turn(m, "t1")
		synctest.Wait()
		w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", On: []bridges.On{bridges.OnProgress}, From: &bridges.From{}})
		end(m, "t1")
		time.Sleep(time.Minute)
		want(t, "arrived", w.target.take(), "")
		want(t, "rows", w.deliveries("s"), "progress 5 suppressed (unshown)")
	})
}

// A reset sends again what holds: of a turn that has ended that is its end, and no progress.
func TestProgressDoesNotComeBackWithAReset(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.target.edits = true
		w.bridge("b")
		w.subscribe("s", "b", "", bridges.OnFinal, bridges.OnProgress)
		m := w.thread("a")
		turn(m, "t1")
		synctest.Wait()
		end(m, "t1")
		time.Sleep(time.Minute)
		zero := int64(0)
		if _, err := w.s.SubscriptionReset(background, bridges.ResetSubscription{SubscriptionID: "s", ToSeq: &zero, Reason: "again"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		want(t, "visible", w.target.visible(), "turn.completed 5")
	})
}
