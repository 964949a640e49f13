package persisttest

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// stepPaths are the paths that random turns have.
var stepPaths = []string{"a", "b", "a/x", "a/y", "a/x/z"}

// actor is a thread of a random history. It has one running turn at a time.
type actor struct {
	*Maker
	turn       string   // that runs, or waits for its next attempt; "" if none
	plain      bool     // the turn has no tries
	queue      []string // turns that have not started
	open       []string // items of the turn
	superseded []Try    // of the turn; they may still write
	fresh      bool     // no unit has been committed since a try began
}

// pick draws a number below n, at most 100. Each is as likely as another, unlike
// those of rapid.IntRange.
func pick(r *rapid.T, n int, label string) int {
	return rapid.SampledFrom(numbers[:n]).Draw(r, label)
}

var numbers = func() []int {
	list := make([]int, 100)
	for i := range list {
		list[i] = i
	}
	return list
}()

// unit commits a unit of a few random events, or one that must be refused.
func (m *model) unit(r *rapid.T) {
	if pick(r, 16, "runtime") == 0 {
		m.commit(nil, RuntimeUnit(m.t, m.runtime, !m.runtime.Paused))
	}
	if len(m.actors) == 0 || pick(r, 10, "new thread") == 0 {
		k := m.start(m.id("thread"))
		if pick(r, 6, "closes") == 0 {
			k.Add(notify.ThreadUpdated, "", "", &threads.Updated{Type: "updated", Title: "told", State: threads.Closing})
			m.commit(k, k.Unit())
		}
	}
	k := m.known(r)
	if pick(r, 10, "renamed") == 0 {
		k.Add(notify.ThreadUpdated, "", "", rapid.SampledFrom([]*threads.Updated{
			{Type: "updated", Title: "given", TitleBy: threads.ByClient}, {Type: "updated", TitleBy: threads.ByClient},
			{Type: "updated", Title: "told"}, {Type: "updated", Cwd: "/elsewhere"},
		}).Draw(r, "how"))
		m.commit(k, k.Unit())
	}
	var key *ledger.Key
	if pick(r, 4, "keyed") == 0 {
		if key = m.key(r); m.stored(key.Key) != nil {
			m.replayed(k, key)
			return
		}
		if rapid.Bool().Draw(r, "without events") {
			u := k.Maker.Clone().Unit()
			if rapid.Bool().Draw(r, "without a thread") {
				u = &ledger.Unit{}
			}
			u.Key, u.Result = key, []byte(m.id("result"))
			m.commit(nil, u)
			return
		}
	}
	var other *Maker // a second actor of the thread
	if pick(r, 4, "stale") == 0 {
		other = k.Maker.Clone()
		other.Create("", m.id("item"), items.StatusCompleted, items.NewNotice("info", "x"))
	}
	k.fresh = false
	for range 1 + pick(r, 6, "events") {
		m.event(r, k)
	}
	u := k.Unit()
	if u.Key = key; key != nil {
		u.Result = []byte(m.id("result"))
	}
	if !m.runtime.Paused {
		u.Fences = []ledger.Fence{turns.NotPaused}
	}
	m.commit(k, u)
	if other != nil && len(u.Drafts) > 0 {
		m.refused(other.Unit(), ledger.ErrStale)
	}
	if m.runtime.Paused {
		other = k.Maker.Clone()
		other.Create("", m.id("item"), items.StatusCompleted, items.NewNotice("info", "x"))
		u := other.Unit()
		u.Fences = []ledger.Fence{turns.NotPaused}
		m.refused(u, turns.ErrRuntimePaused)
	}
}

// known returns one of the newest actors.
func (m *model) known(r *rapid.T) *actor {
	n := len(m.actors)
	return m.actors[n-1-pick(r, min(n, 6), "thread")]
}

// key chooses a key. It may move the clock to the last moment at which the key
// is stored, or to the first at which it is free again.
func (m *model) key(r *rapid.T) *ledger.Key {
	name := rapid.SampledFrom([]string{"k1", "k2", "k3"}).Draw(r, "key")
	if m.keys[name] != nil {
		end := m.used[name].Add(limits.IdempotencyKeysFor)
		if at := end.Add(-rapid.SampledFrom([]time.Duration{0, 1, 1000}).Draw(r, "before") * time.Millisecond); at.After(m.now) {
			m.now = at
			m.h.SetNow(at)
		}
	}
	k := KeyOf(name, "thread/start", fmt.Sprint(m.next))
	k.Requester = rapid.SampledFrom([]ledger.Requester{"", "token:a", "agent:b"}).Draw(r, "requester")
	return k
}

// replayed appends a unit whose key has been used: it gets the first answer and
// is not written.
func (m *model) replayed(k *actor, key *ledger.Key) {
	other := k.Maker.Clone()
	other.Create("", m.id("item"), items.StatusCompleted, items.NewNotice("info", "x"))
	u := other.Unit()
	u.Key, u.Result = key, []byte("another")
	r, err := m.h.Store.Append(u)
	if err != nil || r.Stored == nil || !reflect.DeepEqual(r.Stored, m.keys[key.Key]) {
		m.t.Fatalf("a used key answers %+v, %v; want %+v", r, err, m.keys[key.Key])
	}
	m.unsettled(u)
}

// event adds something that an actor could do now.
func (m *model) event(r *rapid.T, k *actor) {
	text := rapid.StringN(0, 20, 60).Draw(r, "text")
	if k.turn == "" {
		m.begin(r, k, text)
		return
	}
	row := k.Maker.turn(k.turn)
	if !k.plain && (k.Live(k.turn, "") == nil || !row.RetryAt.IsZero()) {
		if len(k.superseded) > 0 && rapid.Bool().Draw(r, "late first") {
			m.late(r, k)
		}
		k.Attempt(k.turn)
		k.fresh = true
		return
	}
	live := []string{""}
	for _, path := range stepPaths {
		if k.Live(k.turn, path) != nil {
			live = append(live, path)
		}
	}
	step := rapid.SampledFrom(live).Draw(r, "step")
	switch what := pick(r, 20, "what"); {
	case what <= 2 && !k.plain: // a step without a live try, below one that has one
		path := rapid.SampledFrom(stepPaths).Draw(r, "path")
		if !slices.Contains(live, path) && slices.Contains(live, notify.StepAbove(path)) {
			k.Begin(k.turn, path)
			k.fresh = true
		}
	case what == 3 && step != "":
		k.End(k.turn, step, turns.StepCompleted)
	case what <= 5 && !k.fresh && !k.plain:
		m.giveUp(r, k, step)
	case what == 6 && len(k.superseded) > 0:
		m.late(r, k)
	case what <= 8 && len(k.open) == 0:
		m.end(r, k)
	case what <= 10 && len(k.open) > 0:
		k.finish(k.open[0])
		k.open = k.open[1:]
	case what <= 13:
		m.say(r, k, text)
	case what == 14:
		k.Add(notify.TurnProgress, k.turn, "", &turns.ProgressEvent{Type: "progress", State: turns.Running, Claimed: true, Worker: text})
	case what == 15:
		k.Add(notify.TurnProgress, k.turn, "", &turns.ProgressEvent{Type: "progress", State: turns.Waiting})
	case what <= 17:
		m.outside(r, k, text)
	default:
		k.In(k.turn, step)
		m.item(r, k, text)
	}
}

// outside adds what does not belong to the running turn: a turn that waits, or
// an item of no turn.
func (m *model) outside(r *rapid.T, k *actor, text string) {
	switch pick(r, 6, "outside") {
	case 0:
		k.Create("", m.id("item"), items.StatusCompleted, items.NewNotice("info", text))
	case 1:
		k.Create("", m.id("item"), items.StatusCompleted, items.NewAgentMessage(text))
	default:
		id := m.id("turn")
		k.QueueTurn(id, int64(pick(r, 5, "rank")-2))
		k.Create(id, m.id("item"), items.StatusCompleted, userMessage(text))
		k.queue = append(k.queue, id)
	}
}

// begin starts a turn of a thread that has none.
func (m *model) begin(r *rapid.T, k *actor, text string) {
	id, what := m.id("turn"), pick(r, 10, "begin")
	if len(k.queue) > 0 && what <= 5 {
		id, k.queue = k.queue[len(k.queue)-1], k.queue[:len(k.queue)-1]
		if what == 0 { // it never runs
			k.Add(notify.TurnInterrupted, id, "", &turns.EndedEvent{Type: "interrupted", State: turns.Interrupted})
			return
		}
	}
	if what == 9 {
		m.outside(r, k, text)
		return
	}
	k.turn, k.open, k.superseded = id, nil, nil
	if k.plain = pick(r, 5, "plain") == 0; k.plain {
		k.StartTurn(id)
		return
	}
	k.Attempt(id)
	k.fresh = true
}

// say adds text to an open message.
func (m *model) say(r *rapid.T, k *actor, text string) {
	i := slices.IndexFunc(k.open, func(id string) bool { return k.item(id).Type == items.KindAgentMessage })
	switch {
	case i < 0:
	case pick(r, 3, "whole") == 0: // earlier deltas must not count twice
		k.Delta(k.turn, k.open[i], text, 0)
		k.Update(k.turn, k.open[i], items.StatusInProgress, items.NewAgentMessage(text))
	default:
		k.Delta(k.turn, k.open[i], text, 0)
	}
}

// item creates an item of some kind in the turn.
func (m *model) item(r *rapid.T, k *actor, text string) {
	id := m.id("item")
	switch pick(r, 11, "kind") {
	case 10:
		k.Add(notify.ItemCreated, k.turn, id, &items.Created{
			ItemID: id, Type: "created", Status: items.StatusCompleted, Content: items.Raw(`{"type":"file_change","changes":[]}`),
			Changed: &items.Lines{Added: 1, Removed: int64(len(text))},
		})
	case 0:
		k.Create(k.turn, id, items.StatusCompleted, userMessage(text))
	case 1: // it has not been delivered yet
		k.Create(k.turn, id, items.StatusInProgress, userMessage(text))
		k.open = append(k.open, id)
	case 2:
		k.Create(k.turn, id, items.StatusCompleted, items.ToolCall{Type: items.KindToolCall, Output: text})
	case 3:
		k.Create(k.turn, id, items.StatusPending, items.Question{Type: items.KindQuestion, Message: text})
		k.open = append(k.open, id)
	case 4:
		k.Create(k.turn, id, items.StatusCompleted, items.NewAgentMessage(text))
	case 5:
		k.Create(k.turn, id, items.StatusCompleted, items.NewAgentMessage(text))
		k.Add(notify.ItemDeleted, k.turn, id, &items.Deleted{ItemID: id, Type: "deleted", Status: items.StatusDeleted})
	default:
		k.Create(k.turn, id, items.StatusInProgress, items.NewAgentMessage(text))
		k.open = append(k.open, id)
	}
}

// finish ends an open item. A user message was then not delivered.
func (k *actor) finish(id string) {
	it, status := k.item(id), items.StatusCompleted
	if it.Type == items.KindUserMessage {
		status = items.StatusInterrupted
	}
	k.Add(notify.ItemUpdated, it.TurnID, id, &items.Updated{ItemID: id, Type: "updated", Status: status, Content: it.Content})
}

// end ends the turn, which may then be retried by request.
func (m *model) end(r *rapid.T, k *actor) {
	switch pick(r, 6, "review") {
	case 0:
		k.EndInReview(k.turn)
	case 1:
		k.EndInReview(k.turn)
		k.Review(k.turn, rapid.SampledFrom(turns.Verdicts).Draw(r, "verdict"), rapid.SampledFrom([]string{"", "turn_next"}).Draw(r, "continued"))
	case 2:
		k.Lose(k.turn, rapid.SampledFrom([]string{turns.ServerStopping, turns.ServerRestarted}).Draw(r, "reason"))
	case 3:
		k.FailTurn(k.turn)
	default:
		k.EndTurn(k.turn)
	}
	if !k.plain && !k.fresh && pick(r, 3, "by request") == 0 {
		m.giveUp(r, k, "")
		return
	}
	k.turn = ""
}

// giveUp supersedes the try of a step, and perhaps begins the next at once.
func (m *model) giveUp(r *rapid.T, k *actor, step string) {
	k.Interrupt(k.turn, step)
	for _, s := range k.rows(k.turn) {
		if s.HiddenBy == 0 && slices.Contains(s.Lineage, notify.Ref{Step: step, Epoch: k.Live(k.turn, step).Epoch}) {
			k.superseded = append(k.superseded, tryOf(s))
		}
	}
	k.Rewind(k.turn, step, turns.CauseTransient)
	k.open = slices.DeleteFunc(k.open, func(id string) bool { return !k.item(id).Status.Open() })
	switch ended := k.Maker.turn(k.turn).State == turns.Queued; {
	case step == "" && !ended:
		k.Wait(k.turn)
		k.fresh = true
	case step != "" && rapid.Bool().Draw(r, "at once"):
		k.Begin(k.turn, step)
		k.fresh = true
	}
}

// late adds what a superseded try still says.
func (m *model) late(r *rapid.T, k *actor) {
	try := rapid.SampledFrom(k.superseded).Draw(r, "given up")
	of := k.rows(k.turn)
	s := of[slices.IndexFunc(of, func(s *turns.Step) bool { return tryOf(s) == try })]
	k.Late(k.turn, s.Lineage[0].Epoch, try.Step, try.Epoch)
}
