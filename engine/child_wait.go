package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// children is what the active turn has to do with its child turns, by committed rows.
type children struct {
	// waitsFor are those that keep the turn from completing: their ends are not in the
	// inbox yet, or an answer that is being written will tell them.
	waitsFor []string
	untold   []inbox.End // ends to tell the agent, if holding has any
	holding  []string    // the turns among untold that keep the turn from completing
	gone     []*inbox.Entry
	parents  map[string]bool // the turns for which those among untold have worked
	enough   bool            // no further prompt tells ends: a client's turn is queued, or there were MaxPrompts
}

// toTell returns the untold ends.
func (c *children) toTell() toldEnds {
	t := toldEnds{entries: make([]*inbox.Entry, len(c.untold)), live: turns.EndsLive{}, parents: c.parents}
	for i, e := range c.untold {
		t.entries[i], t.live[e.TurnID] = e.Entry, e.Seq
	}
	return t
}

// toldEnds are entries that a prompt tells. live are the ends among them: if one of them is
// superseded, the unit is refused. parents are the turns for which these have worked.
type toldEnds struct {
	entries []*inbox.Entry
	live    turns.EndsLive
	parents map[string]bool
}

// prompts returns how many prompts of the attempt have started.
func (act *activeTurn) prompts() int { return max(1, act.work.prompts, act.turn.Prompts) }

// clientWaits reports whether a turn that a client has asked for is queued.
func (s *state) clientWaits() bool {
	for _, q := range s.queue {
		if !q.turn.IsChild() {
			return true
		}
	}
	return false
}

// settled returns the condition under which the active turn completes. If it is a child turn
// itself, it also waits for child turns that only notify, so that its result is complete,
// but not while a client's turn is queued. Nor does it wait for jobs then, which go on.
func (w *childWriter) settled() *turns.Settled {
	act := w.d.active()
	waits := !w.d.next().clientWaits() && !act.turn.HadItsPrompts()
	return &turns.Settled{ThreadID: w.d.change.threadID, TurnID: act.turn.TurnID, All: act.turn.IsChild() && waits, Jobs: waits}
}

// children reads what the active turn has to do with its child turns.
func (w *childWriter) children() (c children, err error) {
	act, cond := w.d.active(), w.settled()
	c.enough = w.d.next().clientWaits() || act.turn.HadItsPrompts()
	err = w.d.inbox.inSnapshot(func(b *inbox.Book) error {
		r := inbox.ReaderOf(b)
		list, err := cond.Unsettled(r, turns.MaxUnendedBelow)
		if err != nil {
			return err
		}
		for _, t := range list {
			c.waitsFor = append(c.waitsFor, t.TurnID)
		}
		if b.Inbox() == nil || b.Inbox().NewEntries == 0 {
			return nil
		}
		ends, err := inbox.FreshEnds(b)
		if err != nil {
			return err
		}
		return w.sortEnds(r, ends, &c, func(t *turns.Turn) (mine, holds bool) {
			mine = t.Parent.TurnID == act.turn.TurnID
			return mine, mine && !t.Outside && (cond.All || t.AttentionPolicy == turns.Blocking)
		})
	})
	return c, err
}

// sortEnds sorts ends into superseded ones, those that an answer under way tells, and those
// that the agent can be told.
func (w *childWriter) sortEnds(r ledger.Reader, ends []inbox.End, c *children, about func(*turns.Turn) (mine, holds bool)) error {
	for _, e := range ends {
		v, err := r.Get(turns.ByID, e.TurnID)
		if err != nil {
			return err
		}
		var t *turns.Turn
		if v != nil {
			if t, err = turns.Read(v); err != nil {
				return err
			}
		}
		if t == nil || t.AcceptedSeq != e.Seq {
			c.gone = append(c.gone, e.Entry)
			continue
		}
		mine, holds := about(t)
		switch {
		case !mine:
		case w.d.rules.awaits.reserves(w.d.change.threadID, e.TurnID):
			if holds {
				c.waitsFor = append(c.waitsFor, e.TurnID)
			}
		default:
			c.untold = append(c.untold, e)
			if id := t.Parent.TurnID; id != "" && !t.Outside {
				if c.parents == nil {
					c.parents = map[string]bool{}
				}
				c.parents[id] = true
			}
			if holds {
				c.holding = append(c.holding, e.TurnID)
			}
		}
	}
	return nil
}

// waits makes the active turn wait for its child turns instead of completing, if it
// has to. It reports whether it waits. out is what its prompt ended with.
func (w *turnWriter) waits(out turns.Outcome) bool {
	act := w.d.active()
	if !act.work.hasChildren {
		return false // the fence knows if it is wrong
	}
	c, err := w.d.child.children()
	if err != nil {
		if w.d.change.err == nil {
			w.d.change.err = err
		}
		return false
	}
	ids := c.waitsFor
	if len(ids) == 0 && !c.enough {
		ids = c.holding // they are told at once
	}
	if len(ids) == 0 {
		return false
	}
	w.waitFor(ids, out)
	return true
}

// waitFor ends the prompt of the active turn, which waits for child turns then.
func (w *turnWriter) waitFor(ids []string, out turns.Outcome) {
	act := w.d.active()
	w.endPrompt(items.StatusCompleted)
	w.addProgressEvent(turns.ProgressEvent{
		State: turns.Waiting, WaitsFor: ids, UsedMs: w.usedMs(),
		Result: &turns.PromptResult{Message: out.Message, Format: out.Format, StopReason: out.StopReason, Usage: act.usage},
	})
	act.clock.wait(true)
	act.progressNext, act.progressAt = nil, time.Time{} // it was about the prompt that has ended
	w.d.addEffect(detachWork{})
}

// look checks whether a turn that waits without a prompt can continue, and whether new
// entries of the inbox wake the thread. Everything that may change the answer calls it,
// and need not say what has changed.
func (k *childKeeper) look() {
	if k.a.stopped || k.a.dead != nil || k.a.defers(look) {
		return
	}
	k.lookAt = time.Time{}
	if err := k.a.load(); err != nil {
		k.lookAt = k.a.retryTime("a thread whose turn waits for others cannot be read now", err)
		return
	}
	act := k.a.state.active
	switch {
	case act == nil:
		k.a.startNext()
		return
	case !act.betweenPrompts() || act.stop != nil || act.work.starting > 0 || k.a.e.pause.isDraining():
		return
	}
	const tries = 5
	for i := 1; ; i++ {
		d := k.a.decide()
		err := d.goOn()
		if err == nil && !d.change.empty() {
			_, err = k.a.commit(d)
		}
		switch {
		case err == nil:
			if k.a.state.active != nil && k.a.state.active.turn.WaitsForChildren() {
				k.a.e.family.look(k.a.id)
			}
			return
		case errors.Is(err, turns.ErrChildrenMoved) && i < tries:
		case errors.Is(err, turns.ErrChildrenMoved):
			k.lookAt = time.Now().Add(heldRetry)
			return
		default:
			k.lookAt = k.a.retryTime("a turn that waits for others cannot go on now", err)
			return
		}
	}
}

// goOn continues the active turn, which waits without a prompt. It adds nothing if the turn
// must continue to wait.
func (d *decision) goOn() error {
	if d.active().suspended() {
		return d.turn.goOnAfterRestart()
	}
	return d.child.goOn()
}

// goOn continues the active turn, which waits for child turns, with the next prompt, or
// completes it. It adds nothing if the turn must continue to wait.
func (w *childWriter) goOn() error {
	act := w.d.active()
	if len(act.steers) > 0 {
		w.d.turn.nextPrompt(false)
		return nil
	}
	messages, err := w.messagesOfChildren()
	if err != nil {
		return err
	}
	if len(messages) > 0 && !w.d.next().clientWaits() && !act.turn.HadItsPrompts() {
		return w.tellInTurn(toldEnds{entries: messages})
	}
	c, err := w.children()
	if err != nil {
		return err
	}
	for _, e := range c.gone {
		inbox.Withdraw(w.d.inbox.book(), e)
	}
	switch {
	case len(c.waitsFor) > 0:
		if !sameIDs(c.waitsFor, act.turn.WaitsFor) {
			w.d.turn.addProgressEvent(turns.ProgressEvent{State: turns.Waiting, WaitsFor: c.waitsFor, UsedMs: act.turn.UsedMs})
		}
	case c.enough || len(c.holding) == 0:
		w.d.turn.end(ending{state: turns.Completed, message: act.turn.Message, format: act.turn.Format, stopReason: act.turn.StopReason})
	default:
		return w.tellInTurn(c.toTell())
	}
	return w.d.inbox.err()
}

func sameIDs(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// tellInTurn starts the next prompt of the active turn, which tells entries.
func (w *childWriter) tellInTurn(t toldEnds) error {
	w.d.turn.resume()
	msgs, err := w.tell(t)
	if err == nil {
		w.d.addEffect(startPrompt{msgs})
	}
	return err
}

// tell adds a user message with entries to the active turn, and marks them in the inbox as
// told.
func (w *childWriter) tell(t toldEnds) (msgs []items.UserMessage, err error) {
	act := w.d.active()
	err = w.d.inbox.inSnapshot(func(b *inbox.Book) error {
		msg, told, err := w.message(inbox.ReaderOf(b), t)
		if err != nil {
			return err
		}
		msgs = []items.UserMessage{msg}
		w.d.items.addInput(act.turn.TurnID, act.turn.Attempt, msgs, items.StatusCompleted, "")
		if len(t.live) > 0 {
			w.d.fence(t.live)
		}
		b.Tell(told, act.turn.TurnID)
		act.spoke = false
		return b.Err()
	})
	return msgs, err
}

// message returns the message that tells entries, told those for which it has room. It names the
// child turns that are still at work for the same turns, but for those in review.
func (w *childWriter) message(r ledger.Reader, t toldEnds) (msg items.UserMessage, told []*inbox.Entry, err error) {
	var seqs []int64 // of the items of which more is told than a summary
	for _, e := range t.entries {
		if e.TellsText() {
			seqs = append(seqs, e.LastRaw)
		}
	}
	raws, err := w.d.rules.inboxes.Payloads(r, seqs)
	if err != nil {
		return msg, nil, err
	}
	var unended []turns.Result
	if len(t.parents) > 0 {
		all, err := turns.UnendedOf(r, w.d.change.threadID)
		if err != nil {
			return msg, nil, err
		}
		for _, child := range all {
			if t.parents[child.Parent.TurnID] && !child.State.Ended() { // not one whose end is on its way
				unended = append(unended, turns.ResultOf(child, items.Said{}, w.d.change.now))
			}
		}
	}
	msg, told = w.d.rules.wakeMessage(t.entries, raws, unended)
	return msg, told, nil
}

// resume records that the active turn, which has waited for child turns, has its next
// prompt.
func (w *turnWriter) resume() {
	act := w.d.active()
	state := turns.Running
	if w.d.agent().remote != nil {
		state = turns.Starting // until a worker claims it
	}
	act.clock.wait(false)
	act.work.prompts = act.prompts()
	w.addProgressEvent(turns.ProgressEvent{State: state, Prompts: act.work.prompts + 1})
}

// messagesOfChildren lists the fresh messages that agents of child threads have sent.
func (w *childWriter) messagesOfChildren() (list []*inbox.Entry, err error) {
	if b := w.d.next().inbox; b == nil || b.NewEntries == 0 {
		return nil, nil
	}
	err = w.d.inbox.inSnapshot(func(b *inbox.Book) (err error) {
		list, err = inbox.FreshFromChildren(b)
		return err
	})
	return list, err
}

// tellNewEnds reports to the turn that starts the new ends of child turns in the inbox, if
// they would wake the thread.
func (w *childWriter) tellNewEnds() ([]items.UserMessage, error) {
	box := w.d.next().inbox
	if box == nil || box.NewEntries == 0 || w.d.active().turn.IsChild() || w.d.inbox.settings().Wake != inbox.WakeIdle {
		return nil, nil
	}
	var c children
	if err := w.d.inbox.inSnapshot(func(b *inbox.Book) error {
		ends, err := inbox.FreshEnds(b)
		if err != nil {
			return err
		}
		return w.sortEnds(inbox.ReaderOf(b), ends, &c, func(*turns.Turn) (mine, holds bool) { return true, false })
	}); err != nil {
		return nil, err
	}
	for _, e := range c.gone {
		inbox.Withdraw(w.d.inbox.book(), e)
	}
	if len(c.untold) == 0 {
		return nil, w.d.inbox.err()
	}
	return w.tell(c.toTell())
}

// maxEarlier is how many child turns of earlier attempts an agent is told about.
const maxEarlier = 200

// tellEarlierChildren reports to the agent, whose attempt begins with this input, the states of the
// child turns of earlier attempts. It is told the ends of which the message has all: those that
// it was not told before, and those that a message to an earlier attempt has told, which this one
// does not get. What has no room, is on its way to the inbox or in an answer is told later.
func (w *childWriter) tellEarlierChildren(input []items.UserMessage) ([]items.UserMessage, error) {
	act := w.d.active()
	if act.turn.Attempt < 2 {
		return nil, nil
	}
	var list []*turns.Turn
	more := 0
	var earlier []inbox.Earlier
	var untold, inInput map[string]inbox.End
	err := w.d.inbox.inSnapshot(func(b *inbox.Book) (err error) {
		r := inbox.ReaderOf(b)
		if list, more, err = earlierChildren(r, act.turn); err != nil || len(list) == 0 {
			return err
		}
		if untold, inInput, err = untoldEnds(b, act.turn.TurnID, input); err != nil {
			return err
		}
		earlier = make([]inbox.Earlier, len(list))
		for i, t := range list {
			taken, err := r.Get(turns.TakenOf, t.TurnID)
			if err != nil {
				return err
			}
			if t.Job != "" {
				continue
			}
			end, owed := untold[t.TurnID]
			earlier[i].Untold = owed && end.Seq == t.AcceptedSeq
			earlier[i].InInput = t.AcceptedSeq != 0 && inInput[t.TurnID].Seq == t.AcceptedSeq
			earlier[i].Later = t.State.Ended() && !t.InReview() && (taken.Int(1) != t.AcceptedSeq ||
				earlier[i].Untold && w.d.rules.awaits.reserves(w.d.change.threadID, t.TurnID))
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	for i, t := range list {
		if t.Job != "" { // its program asks for its result
			earlier[i].Result = turns.ResultOf(t, items.Said{}, w.d.change.now)
		} else if earlier[i].Result, err = w.d.rules.resultOf(t, nil, w.d.change.now); err != nil {
			return nil, err
		}
	}
	msg, whole := w.d.rules.childrenMessage(earlier, more)
	w.d.items.addInput(act.turn.TurnID, act.turn.Attempt, []items.UserMessage{msg}, items.StatusCompleted, "")
	var told, left []*inbox.Entry
	live := turns.EndsLive{}
	for i, t := range list {
		end := untold[t.TurnID]
		switch {
		case !earlier[i].Untold:
		case whole[i]:
			told, live[t.TurnID] = append(told, end.Entry), end.Seq
		default:
			left = append(left, end.Entry)
		}
		delete(untold, t.TurnID)
	}
	for _, end := range untold { // of children that the list does not have
		left = append(left, end.Entry)
	}
	slices.SortFunc(left, func(x, y *inbox.Entry) int { return cmp.Compare(x.Seq, y.Seq) })
	if len(live) > 0 {
		w.d.fence(live)
	}
	b := w.d.inbox.book()
	inbox.TellNewAttempt(b, act.turn.TurnID, told, left)
	return []items.UserMessage{msg}, b.Err()
}

// untoldEnds returns the ends that a new attempt of a turn has not been told, by child turn: those
// that are fresh, and those that only a list for an earlier attempt has told. What is told by a
// message of its input is in that: these ends are apart.
func untoldEnds(b *inbox.Book, turnID string, input []items.UserMessage) (untold, inInput map[string]inbox.End, err error) {
	ends, err := inbox.FreshEnds(b)
	if err != nil {
		return nil, nil, err
	}
	told, err := inbox.ToldEnds(b, turnID)
	if err != nil {
		return nil, nil, err
	}
	entries := map[string]bool{}
	for i := range input {
		for _, e := range input[i].Entries {
			entries[e.EntryID] = true
		}
	}
	untold, inInput = make(map[string]inbox.End, len(ends)), map[string]inbox.End{}
	for _, e := range append(ends, told...) {
		to := untold
		if entries[string(e.Entry.EntryID)] {
			to = inInput
		}
		if e.Seq > to[e.TurnID].Seq { // an earlier end is superseded
			to[e.TurnID] = e
		}
	}
	return untold, inInput, nil
}

// earlierChildren reads the child turns of a turn: those that have not ended, then the
// others, each the newest first, at most maxEarlier. more is how many others there are.
func earlierChildren(r ledger.Reader, turn *turns.Turn) (list []*turns.Turn, more int, err error) {
	var ended []*turns.Turn
	n := 0
	err = r.Scan(ledger.Range{
		Index: turns.ChildrenOf, Prefix: []any{turn.ThreadID}, Until: turn.CreatedSeq, Newest: true,
		Only: []ledger.Only{{Column: "parent_turn_id", Values: []any{turn.TurnID}}},
	}, func(v ledger.Values) error {
		n++
		t, err := turns.Read(v)
		switch {
		case err != nil:
			return err
		case !t.State.Ended():
			list = append(list, t)
		case len(ended) < maxEarlier:
			ended = append(ended, t)
		}
		return nil
	})
	list = append(list, ended...)
	list = list[:min(len(list), maxEarlier)]
	return list, n - len(list), err
}

// resultOf makes the result of a turn, which is all that agents and clients are shown of the
// end of a turn. last is the last message of its agent; nil = it is read from the log.
func (r *rules) resultOf(t *turns.Turn, last *items.Said, now notify.Time) (turns.Result, error) {
	if last != nil {
		return turns.ResultOf(t, *last, now), nil
	}
	var said items.Said
	row, err := r.log.LastMessage(context.Background(), t.TurnID)
	if err != nil {
		return turns.Result{}, err
	}
	if row != nil {
		content, err := items.Decode(row.Content)
		if err != nil {
			return turns.Result{}, err
		}
		said = items.SaidIn(content)
		said.Truncated = row.Truncated
	}
	if said.Text == "" && t.State != turns.Interrupted {
		said = items.Said{Text: t.Message, Format: t.Format, Truncated: t.MessageTruncated}
	}
	return turns.ResultOf(t, said, now), nil
}
