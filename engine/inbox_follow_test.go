package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// followedSeqs are the seqs of the events that have entered an inbox.
func (h *harness) followedSeqs(thread string) (seqs []int64) {
	h.t.Helper()
	synctest.Wait()
	for _, b := range bodies[inbox.Received](h, notify.InboxReceived, thread) {
		if b.Source != inbox.SourceEvents || strings.HasPrefix(b.NativeID, "source_lagged:") {
			continue
		}
		n, err := strconv.ParseInt(b.NativeID, 10, 64)
		if err != nil {
			h.t.Errorf("native_id %s", b.NativeID)
		}
		seqs = append(seqs, n)
	}
	return seqs
}

// seqsOf are the seqs of the events of the log that match.
func (h *harness) seqsOf(match func(event) bool) (seqs []int64) {
	for _, e := range h.of(match) {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

func endOf(ids ...string) func(event) bool {
	return func(e event) bool {
		return terminal(e.Method) && (len(ids) == 0 || slices.Contains(ids, e.ThreadID))
	}
}

func TestEndsOfOtherThreadsEnterAnInboxOnce(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		for _, id := range []string{"a", "b", "c"} {
			h.thread(id, "quick")
		}
		h.ended(h.start("b").TurnID) // before the subscription
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "b", Source: inbox.SourceEvents, ThreadIDs: []string{"b"}})
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "all", Source: inbox.SourceEvents})
		after := h.seen[len(h.seen)-1].Seq
		for range 3 {
			for _, id := range []string{"a", "b", "c"} {
				h.ended(h.start(id).TurnID)
			}
		}
		synctest.Wait()
		want := h.seqsOf(func(e event) bool { return e.Seq > after && endOf("b", "c")(e) })
		got := h.followedSeqs("a")
		slices.Sort(got)
		if !slices.Equal(got, want) || len(want) != 6 {
			t.Errorf("entered %v, want %v", got, want)
		}
		act := h.inboxes().Activity("a", "b")
		all := h.inboxes().Activity("a", "all")
		if act.Received+all.Received != 6 || act.Duplicates+all.Duplicates != 3 {
			t.Errorf("activity %+v %+v", act, all)
		}
	})
}

func TestEndWithoutWordsIsOneShortSentence(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		h.thread("a", "quick")
		h.thread("b", "quick")
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "b", Source: inbox.SourceEvents})
		h.ended(h.startWith(turns.Start{ThreadID: "b", Input: text(" ")}).TurnID)
		synctest.Wait()
		got := bodies[inbox.Received](h, notify.InboxReceived, "a")
		if len(got) != 1 || got[0].Summary != "a turn of b completed" {
			t.Errorf("received %d: %+v", len(got), got[0])
		}
	})
}

func TestFollowersAreToldThatATurnStoppedEarly(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		h.thread("a", "quick")
		h.thread("b", "puppet")
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "b", Source: inbox.SourceEvents})
		for _, review := range []turns.ReviewPolicy{turns.ReviewNone, turns.ReviewAlways} {
			r := h.startWith(turns.Start{ThreadID: "b", Review: review})
			h.next(h.agent).out <- turns.Outcome{State: turns.Completed, StopReason: "max\ntokens"}
			h.ended(r.TurnID)
			if review == turns.ReviewAlways {
				h.review(r.TurnID, turns.Approved)
			}
		}
		synctest.Wait()
		var got []string
		for _, r := range bodies[inbox.Received](h, notify.InboxReceived, "a") {
			got = append(got, r.Summary)
		}
		want := []string{"a turn of b stopped early (max tokens)", "a turn of b stopped early (max tokens), approved in a review: note: approved"}
		if !slices.Equal(got, want) {
			t.Errorf("received %q, want %q", got, want)
		}
	})
}

// fillAfter lets so many more units be stored; then the disk is full.
func (h *harness) fillAfter(units int) {
	var left atomic.Int64
	left.Store(int64(units))
	h.faults.fail(func(*ledger.Unit) error {
		if left.Add(-1) < 0 {
			return ledger.ErrStorageFull
		}
		return nil
	})
}

func TestEndsEnterOnceAcrossRestartsAtAnyPoint(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			bubble(t, setup{follow: true, forget: seed%2 == 0}, func(h *harness) {
				for _, id := range []string{"a", "b", "c"} {
					h.thread(id, "quick")
				}
				h.subscribe("a", inbox.Subscribe{SubscriptionID: "one", Source: inbox.SourceEvents})
				h.subscribe("a", inbox.Subscribe{SubscriptionID: "two", Source: inbox.SourceEvents, ThreadIDs: []string{"c"}})
				for range 15 {
					n := r.IntN(4)
					for range n {
						h.start([]string{"b", "c"}[r.IntN(2)])
					}
					if r.IntN(3) == 0 { // a crash after some of its commits
						h.fillAfter(r.IntN(6))
					}
					time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
					h.faults.fail(nil)
					h.restart()
				}
				time.Sleep(time.Minute)
				got := h.followedSeqs("a")
				slices.Sort(got)
				if want := h.seqsOf(endOf("b", "c")); !slices.Equal(got, want) {
					t.Errorf("entered %v, want %v", got, want)
				}
			})
		})
	}
}

func TestQuestionsAndMethodsThatASubscriptionWants(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		h.thread("a", "")
		h.thread("b", "")
		h.thread("m", "")
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "q", Source: inbox.SourceEvents, Methods: []string{inbox.OnQuestions}})
		h.subscribe("m", inbox.Subscribe{SubscriptionID: "m", Source: inbox.SourceEvents, Methods: []string{"item/*", notify.ThreadPaused}})
		h.start("b")
		c := h.next(h.agent)
		q := h.ask(c, permission(), turns.AskOptions{})
		if _, err := c.Ask(bg, permission(), turns.AskOptions{OptionID: "yes"}); err != nil { // it waits for nobody
			t.Error(err)
		}
		h.message(c, "text that enters nothing")
		h.allow(q)
		h.send("a", "inbox events enter no inbox")
		c.end(turns.Completed)
		h.ended(c.TurnID)
		h.change("b", threads.VerbPause)
		h.change("m", threads.VerbPause) // its own
		question := h.seqsOf(func(e event) bool { return e.Method == notify.ItemCreated && e.ItemID == q.id })
		if got := h.followedSeqs("a"); !slices.Equal(got, question) || len(got) != 1 {
			t.Errorf("questions %v, want %v", got, question)
		}
		want := h.seqsOf(func(e event) bool {
			return e.ThreadID == "b" && (e.ItemID != "" && e.Method != notify.ItemDelta || e.Method == notify.ThreadPaused)
		})
		if got := h.followedSeqs("m"); !slices.Equal(got, want) {
			t.Errorf("methods %v, want %v", got, want)
		}
	})
}

// What a question is about is in its item, as in what whoever answers reads.
func TestAQuestionThatEntersSaysWhatItIsAbout(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		h.thread("a", "")
		h.thread("b", "")
		h.thread("m", "mailbox")
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "q", Source: inbox.SourceEvents, Methods: []string{inbox.OnQuestions}})
		h.subscribe("m", inbox.Subscribe{SubscriptionID: "m", Source: inbox.SourceEvents, Methods: []string{notify.ItemCreated}})
		h.start("b")
		c := h.next(h.agent)
		about := items.NewID()
		h.emit(c, items.Create{ItemID: about, Status: items.StatusInProgress, Content: items.CommandExecution{Type: items.KindCommandExecution, Command: "make deploy"}})
		p := permission()
		p.Title, p.Subject = "Show the date", items.Subject{ItemID: about, Type: "command"}
		q := h.ask(c, p, turns.AskOptions{})
		synctest.Wait()
		if l := h.entries("a"); len(l) != 1 || l[0].Summary != "b asks: run make deploy" {
			t.Errorf("entries %+v", l)
		}
		if l := h.entries("m"); len(l) != 3 || l[1].Summary != "item/created in b" || l[2].Summary != "b asks: run make deploy" {
			t.Errorf("entries of all items %+v", l)
		}
		h.allow(q)
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestUnsubscribedSourceEntersNoMore(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		h.thread("a", "quick")
		h.thread("b", "quick")
		subscribe := inbox.Subscribe{ThreadID: "a", SubscriptionID: "b", Source: inbox.SourceEvents, Key: key("k", "inbox/subscribe")}
		h.subscribe("a", subscribe)
		h.ended(h.start("b").TurnID)
		synctest.Wait()
		unsubscribe := func() {
			if _, err := h.inboxes().Unsubscribe(bg, inbox.Unsubscribe{ThreadID: "a", SubscriptionID: "b"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if f := h.followers.Followers(); len(f) != 0 {
				t.Errorf("followers %+v", f)
			}
		}
		unsubscribe()
		h.subscribe("a", subscribe) // the first answer again: it subscribes nothing
		synctest.Wait()
		h.ended(h.start("b").TurnID)
		h.restart()
		h.ended(h.start("b").TurnID)
		if got := h.followedSeqs("a"); len(got) != 1 {
			t.Errorf("entered %v", got)
		}
		subscribe.Key = nil
		h.subscribe("a", subscribe)
		h.ended(h.start("b").TurnID)
		if got := h.followedSeqs("a"); len(got) != 2 {
			t.Errorf("entered %v", got)
		}
		unsubscribe()
	})
}

// The same id is subscribed again before the follower of the first has ended.
func TestSubscribingAgainAtOnceKeepsTheNewSubscription(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		h.thread("a", "quick")
		h.thread("b", "quick")
		for i := range 5 {
			s := inbox.Subscribe{SubscriptionID: "b", Source: inbox.SourceEvents, ThreadIDs: []string{"b"}}
			h.subscribe("a", s)
			release := h.hold(has(notify.InboxReceived)) // the follower is at work
			h.ended(h.start("b").TurnID)
			synctest.Wait()
			done := make(chan error, 2)
			go func() {
				_, err := h.inboxes().Unsubscribe(bg, inbox.Unsubscribe{ThreadID: "a", SubscriptionID: "b"})
				done <- err
			}()
			synctest.Wait()
			go func() {
				_, err := h.inboxes().Subscribe(bg, inbox.Subscribe{ThreadID: "a", SubscriptionID: "b", Source: inbox.SourceEvents, ThreadIDs: []string{"b"}})
				done <- err
			}()
			synctest.Wait()
			release()
			for range 2 {
				if err := <-done; err != nil {
					t.Errorf("%d: %v", i, err)
				}
			}
			synctest.Wait()
			h.ended(h.start("b").TurnID)
			if got := len(h.followedSeqs("a")); got != 2*i+2 {
				t.Errorf("%d entered, want %d", got, 2*i+2)
			}
			time.Sleep(time.Second)
			if _, err := h.inboxes().Unsubscribe(bg, inbox.Unsubscribe{ThreadID: "a", SubscriptionID: "b"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
	})
}

// A client that hangs up while its subscription is committed has subscribed.
func TestSubscriptionOfAClientThatHangsUpIsFollowed(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		h.thread("a", "quick")
		h.thread("b", "quick")
		release := h.hold(has(notify.InboxSubscribed))
		ctx, cancel := context.WithCancel(bg)
		done := make(chan error, 1)
		go func() {
			_, err := h.inboxes().Subscribe(ctx, inbox.Subscribe{ThreadID: "a", SubscriptionID: "b", Source: inbox.SourceEvents})
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; err == nil {
			t.Error("answered before the commit")
		}
		release()
		h.event(notify.InboxSubscribed, nil)
		synctest.Wait()
		h.ended(h.start("b").TurnID)
		if got := h.followedSeqs("a"); len(got) != 1 {
			t.Errorf("entered %v", got)
		}
	})
}

func TestFullInboxCountsEventsAndSaysHowManyOnceThereIsRoom(t *testing.T) {
	bubble(t, setup{follow: true, cfg: engine.Config{Inbox: inbox.Bounds{MaxUnackedItems: 3}}}, func(h *harness) {
		h.thread("a", "")
		h.thread("b", "quick")
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "b", Source: inbox.SourceEvents})
		h.timer("a", inbox.CreateTimer{TimerID: "t", EverySeconds: 600})
		for range 7 {
			h.ended(h.start("b").TurnID)
			synctest.Wait()
		}
		if act := h.inboxes().Activity("a", "b"); act.Received != 3 || act.Failed != 4 || act.LastError != inbox.ErrFull.Error() {
			t.Errorf("activity %+v", act)
		}
		time.Sleep(25 * time.Minute) // two firings do not fit either
		h.restart()
		if l := h.entries("a"); len(l) != 3 {
			t.Fatalf("entries %s", ids(l))
		}
		if got := h.box("a").Lagged; got[inbox.SourceEvents] != 4 || got[inbox.SourceTimer] != 2 {
			t.Errorf("lagged %v", got)
		}
		all := h.entries("a")
		h.ackEntries("a", all[0].EntryID, all[1].EntryID)
		l := h.entries("a")
		if len(l) != 3 || l[1].Summary != "4 items of events not stored, because the inbox was full (source_lagged)" || l[2].Source != inbox.SourceTimer {
			t.Errorf("entries %+v", l)
		}
		if got := h.box("a").Lagged; len(got) != 0 {
			t.Errorf("lagged %v", got)
		}
	})
}

// The end of a turn makes room: the agent that was told what filled the inbox is
// told next what did not fit.
func TestTurnThatAcknowledgesAFullInboxSaysWhatDidNotFit(t *testing.T) {
	bubble(t, setup{follow: true, cfg: engine.Config{Inbox: inbox.Bounds{MaxUnackedItems: 2}}}, func(h *harness) {
		h.thread("a", "model")
		h.thread("b", "quick")
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "b", Source: inbox.SourceEvents})
		for range 2 {
			h.ended(h.start("b").TurnID)
			synctest.Wait()
		}
		c := h.next(h.model)
		for range 3 {
			h.ended(h.start("b").TurnID)
			synctest.Wait()
		}
		if n := h.box("a").Lagged[inbox.SourceEvents]; n != 3 {
			t.Fatalf("%d are counted", n)
		}
		h.speak(c)
		c = h.next(h.model)
		if len(toldIn(c)) != 1 || !strings.Contains(c.said(), "3 items of events not stored, because the inbox was full (source_lagged)") {
			t.Errorf("told %s", c.said())
		}
		h.speak(c)
		h.idle(h.model)
		if b := h.box("a"); len(b.Lagged) != 0 || len(h.entries("a")) != 0 {
			t.Errorf("counted %v, entries %s", b.Lagged, ids(h.entries("a")))
		}
	})
}

// lagged is how many events the inbox has counted because they did not fit: those
// that an entry tells, and those that none tells yet.
func (h *harness) lagged(thread string) (n int64) {
	h.t.Helper()
	synctest.Wait()
	for _, b := range bodies[inbox.Received](h, notify.InboxReceived, thread) {
		var told struct {
			N int64 `json:"source_lagged"`
		}
		if b.Source == inbox.SourceEvents && json.Unmarshal(b.Payload, &told) == nil {
			n += told.N
		}
	}
	if box := h.box(thread); box != nil {
		n += box.Lagged[inbox.SourceEvents]
	}
	return n
}

// Each event is stored or counted, once, also if a crash makes followers bring it
// again, if there is room then, and if several subscriptions want it.
func TestFullInboxCountsEventsOnceAcrossRestartsAtAnyPoint(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			bubble(t, setup{follow: true, forget: seed%2 == 0, cfg: engine.Config{Inbox: inbox.Bounds{MaxUnackedItems: 3}}}, func(h *harness) {
				for _, id := range []string{"a", "b", "c"} {
					h.thread(id, "quick")
				}
				h.subscribe("a", inbox.Subscribe{SubscriptionID: "one", Source: inbox.SourceEvents})
				h.subscribe("a", inbox.Subscribe{SubscriptionID: "two", Source: inbox.SourceEvents, ThreadIDs: []string{"c"}})
				h.subscribe("a", inbox.Subscribe{SubscriptionID: "three", Source: inbox.SourceEvents, Methods: []string{notify.TurnFailed}})
				for range 15 {
					for range r.IntN(5) {
						h.start([]string{"b", "c"}[r.IntN(2)])
					}
					if r.IntN(3) == 0 { // a crash after some of its commits
						h.fillAfter(r.IntN(8))
					}
					time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
					h.faults.fail(nil)
					if r.IntN(3) == 0 { // there is room when followers bring events again
						for _, e := range h.entries("a") {
							h.ackEntries("a", e.EntryID)
						}
					}
					h.restart()
				}
				time.Sleep(time.Minute)
				stored, ends := h.followedSeqs("a"), h.seqsOf(endOf("b", "c"))
				slices.Sort(stored)
				for i, seq := range stored {
					if !slices.Contains(ends, seq) || i > 0 && stored[i-1] == seq {
						t.Errorf("entered %v of %v", stored, ends)
					}
				}
				if n := h.lagged("a"); int64(len(stored))+n != int64(len(ends)) {
					t.Errorf("%d entered and %d were counted, of %d", len(stored), n, len(ends))
				}
			})
		})
	}
}

// Of a batch that does not fit whole, what fits is stored.
func TestOfEventsThatDoNotFitTogetherThoseThatDoAreStored(t *testing.T) {
	bubble(t, setup{follow: true, cfg: engine.Config{Inbox: inbox.Bounds{MaxUnackedItems: 3}}}, func(h *harness) {
		h.thread("a", "")
		h.thread("b", "quick")
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "b", Source: inbox.SourceEvents})
		h.change("b", threads.VerbPause)
		for range 7 {
			h.start("b")
		}
		release := h.hold(has(notify.InboxReceived))
		h.change("b", threads.VerbResume)
		synctest.Wait()
		release()
		synctest.Wait()
		if n, lagged := len(h.followedSeqs("a")), h.box("a").Lagged[inbox.SourceEvents]; n != 3 || lagged != 4 {
			t.Errorf("%d entered, %d lagged", n, lagged)
		}
	})
}

// What did not fit is said before nothing can be read any more but what is there.
func TestThreadThatClosesSaysHowManyDidNotFit(t *testing.T) {
	bubble(t, setup{follow: true, cfg: engine.Config{Inbox: inbox.Bounds{MaxUnackedItems: 3}}}, func(h *harness) {
		h.thread("a", "")
		h.thread("b", "quick")
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "b", Source: inbox.SourceEvents})
		h.timer("a", inbox.CreateTimer{TimerID: "t", EverySeconds: 600})
		for range 5 {
			h.ended(h.start("b").TurnID)
			synctest.Wait()
		}
		time.Sleep(25 * time.Minute)
		h.change("a", threads.VerbClose)
		l := h.entries("a")
		if len(l) != 5 || l[3].Summary != "2 items of events not stored, because the inbox was full (source_lagged)" ||
			l[4].Summary != "2 items of timer not stored, because the inbox was full (source_lagged)" {
			t.Errorf("entries %+v", l)
		}
		if got := h.box("a").Lagged; len(got) != 0 {
			t.Errorf("lagged %v", got)
		}
	})
}

// A subscription is the same for whoever made it, made it again, or reads it.
func TestSubscriptionIsReadAsItWasCreated(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		h.thread("a", "")
		for name, c := range map[string]inbox.Subscribe{
			"events": {Source: inbox.SourceEvents}, "none": {Source: inbox.SourceEvents, ThreadIDs: []string{}, Methods: []string{}},
			"some": {Source: inbox.SourceEvents, ThreadIDs: []string{"b"}, Methods: []string{inbox.OnFinal}}, "hook": {Source: "ci", Filter: "true"},
		} {
			c.ThreadID, c.SubscriptionID = "a", name
			var shown []string
			for range 2 {
				r, err := h.inboxes().Subscribe(bg, c)
				if err != nil {
					t.Fatal(err)
				}
				shown = append(shown, encoded(t, r.Subscription))
			}
			over, err := h.reader.InboxOf(bg, "a")
			if err != nil {
				t.Fatal(err)
			}
			shown = append(shown, encoded(t, over.Subscriptions[len(over.Subscriptions)-1]))
			if shown[1] != shown[0] || shown[2] != shown[0] || strings.Contains(shown[0], "[]") {
				t.Errorf("created, created again and read:\n%s", strings.Join(shown, "\n"))
			}
		}
	})
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// One webhook is one item, whichever of the subscriptions of a thread want it.
func TestDeliveryCountsForEverySubscriptionThatWantsIt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		for range 2 {
			if _, err := h.inboxes().Deliver(bg, "a", []string{"x", "y"}, []inbox.Item{item("1")}); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{"x", "y"} {
			if act := h.inboxes().Activity("a", id); act.Received != 1 || act.Duplicates != 1 {
				t.Errorf("%s: %+v", id, act)
			}
		}
		if l := h.entries("a"); len(l) != 1 {
			t.Errorf("entries %s", ids(l))
		}
	})
}

// The subscriptions that have let an item in are those of its first arrival: the item of another
// one is a duplicate. What no subscription has brought has none.
func TestItemsSayWhichSubscriptionsHaveLetThemIn(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		h.thread("a", "quick")
		h.thread("b", "quick")
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "first", Source: inbox.SourceEvents, ThreadIDs: []string{"b"}})
		for _, ids := range [][]string{{"x", "y"}, {"z"}} {
			if _, err := h.inboxes().Deliver(bg, "a", ids, []inbox.Item{item("1")}); err != nil {
				t.Fatal(err)
			}
		}
		h.send("a", "hello")
		h.ingest("a", grouped("2", "pr:1"))
		h.timer("a", inbox.CreateTimer{At: notify.TimeOf(time.Now().Add(time.Minute))})
		h.ended(h.start("b").TurnID)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		page, err := h.reader.InboxItems(bg, inbox.ItemQuery{ThreadID: "a"})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for _, it := range page.Items {
			if it.Source == "ci" {
				it.Source += " " + it.NativeID
			}
			got[it.Source] = it.SubscriptionIDs
		}
		want := map[string][]string{"ci 1": {"x", "y"}, "message": nil, "ci 2": nil, "timer": nil, "events": {"first"}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("let in by %v, want %v", got, want)
		}
		h.sound()
	})
}
