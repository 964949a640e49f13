package engine_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// The properties of background work, P1 to P8, the bounds of wakes (P11), and those of
// reviews (R1: one accepted end, and none before its verdict; R2: a turn that another one
// continues is over), those of jobs (J1: one turn for a name; J2: what has completed is not run
// again; J3: no prompt tells the end of one, and none is detached; J4: it is interrupted with its
// parent turn only), those of windows (W1: nothing wakes before its window is over; W2: nothing waits
// longer than five of them) and of leases (L1: what a lease makes new was told by a turn that ended
// so long ago, and not more than three times; L2: none is forgotten), and those of outside work (O1: nothing waits for it or ends it, O2: turns
// of clients go before it), checked on
// the committed log of a whole run, and on what clients and agents have seen. Of P9 (both
// orders of two things) it checks what is left when both are over; the orders are what
// random schedules are for.

// treeLog folds a log. It knows nothing of the engine.
type treeLog struct {
	w       *forest
	now     event
	turns   map[string]*treeTurn
	threads map[string]*treeThread
	natives map[string]*treeEntry // by native id
	raws    map[notify.ID]*treeEntry
	entries map[notify.ID]*treeEntry
	order   []*treeEntry
	listed  bool                 // the event before is the list of child turns for a new attempt
	listing []*treeEntry         // what was new and is in that list with its text, until its unit is over
	said    map[string]string    // the last message of an attempt of a turn: its first line
	waking  map[string]*treeTurn // wakes whose first unit has not told anything yet, by thread
	waiting map[*treeTurn]bool   // turns that wait for child turns
	jobs    map[string]*treeTurn // by parent turn and name
	free    time.Time            // since when there may be a slot, and no pause
}

type treeTurn struct {
	*turns.Turn
	ends  map[int64]int64 // the seqs of ends, and of what has superseded them; 0 = live
	end   int64           // the live one: the accepted end
	over  bool            // it has ended; a verdict may be missing
	link  int             // a lower bound of its chain
	free  time.Time       // since when it waits for nothing; zero = it does not
	stale time.Time       // since when it says that it waits for what was detached; zero = it does not
	since int64           // when it was asked for last, or tried again
	left  time.Time       // since when nothing should wait for it any more; zero = not
}

// works reports whether it works for the turn.
func (t *treeTurn) works(turnID string) bool { return t.Parent != nil && t.Parent.TurnID == turnID }

type treeThread struct {
	owner  string
	closed bool
	held   bool        // a client has interrupted its last turn
	last   *treeTurn   // active last
	before *treeTurn   // active before that
	wakes  []time.Time // since a client has asked for something
	silent int         // wakes in a row that ended without a word
	asked  int64       // when a client has asked for something last
	woken  int64       // when one has asked to wake it
	free   time.Time   // since when no turn and no pause keeps it from being woken
	asks   bool        // completed turns need not acknowledge what they were told
	policy inbox.Settings
}

// treeEntry is an entry, and the item that it shows.
type treeEntry struct {
	id      notify.ID
	thread  string
	source  string
	native  string
	turn    *treeTurn // whose end it shows; nil = it is none
	end     int64
	link    int // of the turn that has caused it
	seq     int64
	posted  time.Time
	fresh   bool
	atOnce  bool // an item that does not wait has posted it
	leases  int
	says    string // of the end: see treeLog.said
	tells   []telling
	acked   int64 // the seq of the acknowledgement
	ackedBy inbox.By
}

// telling is an inbox/told.
type telling struct {
	seq    int64
	turnID string
	undone bool // the agent has said nothing, or a client has made it new again
}

func (w *forest) properties() {
	l := &treeLog{
		w: w, turns: map[string]*treeTurn{}, threads: map[string]*treeThread{}, natives: map[string]*treeEntry{},
		raws: map[notify.ID]*treeEntry{}, entries: map[notify.ID]*treeEntry{}, waking: map[string]*treeTurn{},
		waiting: map[*treeTurn]bool{}, jobs: map[string]*treeTurn{}, said: map[string]string{},
	}
	for _, e := range w.h.seen {
		l.now = e
		l.event(e)
		l.list(e)
		l.stuck()
	}
	l.atTheEnd()
}

// list follows the list of child turns for a new attempt: it tells what was new and is in it with
// its text, in the same unit.
func (l *treeLog) list(e event) {
	if l.listed && e.Method == notify.InboxUntold { // it has no room for these
		l.listed = false
		return
	}
	for _, x := range l.listing {
		if x.fresh {
			l.breaks("P1", "%s %s was in a list with its text, and is still new after that", x.id, x.native)
		}
	}
	l.listing = nil
	l.listed = e.Method == notify.ItemCreated && strings.Contains(string(e.raw), "Your turn is being tried again.")
	for _, x := range l.order {
		if l.listed && x.thread == e.ThreadID && x.fresh && x.says != "" && strings.Contains(string(e.raw), `\n`+x.says+`\n`) {
			l.listing = append(l.listing, x)
		}
	}
}

// resultLine is the first line of what the agents of a forest say.
var resultLine = regexp.MustCompile(`result \d+ of \w+`)

// breaks says that the log breaks a property.
func (l *treeLog) breaks(property, format string, args ...any) {
	at := ""
	if l.now.Seq > 0 {
		at = fmt.Sprintf(" at\n\t%s", l.now)
	}
	l.w.h.t.Errorf("%s: %s%s", property, fmt.Sprintf(format, args...), at)
}

func (l *treeLog) event(e event) {
	switch e.Method {
	case notify.ThreadStarted, notify.ThreadClosed, notify.ThreadPaused, notify.ThreadResumed:
		l.thread(e, e.body(l.w.h.t).(*threads.Changed))
	case notify.TurnQueued, notify.TurnStarted, notify.TurnProgress, notify.TurnCompleted, notify.TurnFailed, notify.TurnInterrupted, notify.StreamRewind, notify.TurnDetached, notify.TurnReviewed:
		l.turn(e, e.body(l.w.h.t))
	case notify.ItemCreated:
		if strings.Contains(string(e.raw), `"type":"agent_message"`) {
			l.said[attemptKey(e.TurnID, e.Attempt)] = resultLine.FindString(string(e.raw))
		}
	case notify.HolonPaused, notify.HolonResumed:
		l.free = e.Timestamp.Time
	case notify.InboxConfigured:
		th := l.threads[e.ThreadID]
		th.free = e.Timestamp.Time
		th.policy = e.body(l.w.h.t).(*inbox.Configured).Policy.Settings("")
		th.asks = th.asks || th.policy.Ack == inbox.AckExplicit
	case notify.InboxReceived:
		l.received(e.ThreadID, e.body(l.w.h.t).(*inbox.Received))
	case notify.InboxPosted:
		l.posted(e.body(l.w.h.t).(*inbox.Posted))
	case notify.InboxTold:
		l.told(e.ThreadID, e.body(l.w.h.t).(*inbox.Told))
	case notify.InboxUntold:
		b := e.body(l.w.h.t).(*inbox.Untold)
		l.threads[e.ThreadID].free = e.Timestamp.Time
		if b.Reason == inbox.UntoldLease {
			l.lapsed(e.ThreadID, b)
		} else if t := l.turns[b.TurnID]; t != nil && t.Wake && !l.listed {
			l.threads[e.ThreadID].silent++
		}
		l.renew(b.EntryIDs)
	case notify.InboxWoken:
		l.asked(e.ThreadID)
		l.threads[e.ThreadID].free = e.Timestamp.Time
		l.threads[e.ThreadID].woken = e.Seq
		l.renew(e.body(l.w.h.t).(*inbox.Woken).EntryIDs)
	case notify.InboxAcked:
		b := e.body(l.w.h.t).(*inbox.Acked)
		for _, id := range b.EntryIDs {
			l.acked(l.entries[id], b)
		}
	case notify.InboxWithdrawn:
		x := l.entries[e.body(l.w.h.t).(*inbox.Withdrawn).EntryID]
		if x == nil || x.turn == nil || x.turn.ends[x.end] == 0 {
			l.breaks("P1", "a live end is withdrawn: %+v", x)
			return
		}
		x.fresh, x.acked = false, e.Seq
	}
}

func (l *treeLog) thread(e event, b *threads.Changed) {
	if e.Method == notify.ThreadStarted {
		l.threads[e.ThreadID] = &treeThread{policy: inbox.Policy{}.Settings(inbox.WakeIdle)}
		if b.Parent != nil {
			l.threads[e.ThreadID].owner = b.Parent.ThreadID
		}
	}
	l.threads[e.ThreadID].closed = b.State == threads.Closed
	l.threads[e.ThreadID].free = e.Timestamp.Time
}

// asked follows what a client has asked for: it lifts the bounds on wakes.
func (l *treeLog) asked(thread string) {
	t := l.threads[thread]
	t.wakes, t.silent, t.asked, t.held = nil, 0, l.now.Seq, false
}

func (l *treeLog) turn(e event, body any) {
	prev := l.turns[e.TurnID]
	t, th := prev, l.threads[e.ThreadID]
	var was *turns.Turn
	if prev == nil {
		t = &treeTurn{ends: map[int64]int64{}}
		l.turns[e.TurnID] = t
	} else {
		was = prev.Turn
	}
	next := turns.Apply(was, e.header(), body)
	if next == nil {
		return
	}
	t.Turn = next
	if delete(l.waiting, t); t.State == turns.Active && len(t.WaitsFor) > 0 {
		l.waiting[t], t.free = true, time.Time{}
	}
	if wake := l.waking[e.ThreadID]; wake != nil && wake != t {
		l.breaks("P3", "the wake %s was told nothing", wake.TurnID)
		delete(l.waking, e.ThreadID)
	}
	switch b := body.(type) {
	case *turns.QueuedEvent:
		t.since = e.Seq
		if !t.IsChild() && b.Continues == "" {
			l.asked(e.ThreadID)
		}
		l.begins(prev == nil, t)
		if b.Continues != "" {
			t.link = l.turns[b.Continues].link
		}
	case *turns.StartedEvent:
		if prev == nil && b.Origin == turns.OriginClient && !t.IsChild() {
			l.asked(e.ThreadID)
		}
		l.begins(prev == nil, t)
		if prev == nil {
			t.since = e.Seq
		}
		if th.last != t {
			th.before = th.last
		}
		if th.last = t; prev == nil && b.Origin == turns.OriginWake {
			l.woken(e, t)
		}
		th.held = th.held && t.Outside
		for _, q := range l.turns {
			if t.Outside && prev != nil && was.State == turns.Queued && q.ThreadID == t.ThreadID && q.State == turns.Queued && !q.Outside {
				l.breaks("O2", "starts before %s", q.TurnID)
			}
		}
	case *turns.ProgressEvent:
		l.free = e.Timestamp.Time       // a turn that waits gives its slot back
		for _, id := range b.WaitsFor { // P6
			child := l.turns[id]
			if child != nil && child.Outside {
				l.breaks("O1", "waits for %s", id)
			}
			if child == nil || !child.works(t.TurnID) {
				l.breaks("P6", "waits for %s", id)
			}
		}
	case *turns.RewindEvent:
		if was.ContinuedBy != "" {
			l.breaks("R2", "is tried again, and %s continues it", was.ContinuedBy)
		}
		if t.over {
			t.since = e.Seq
		}
		if t.Job != "" && was.State == turns.Completed && was.Review == nil {
			l.breaks("J2", "the job %s has completed, and is run again", t.Job)
		}
		if t.over = false; t.end != 0 {
			t.ends[t.end], t.end = e.Seq, 0
		}
	case *turns.EndedEvent:
		if l.waking[e.ThreadID] != nil {
			l.breaks("P3", "the wake %s was told nothing", t.TurnID)
			delete(l.waking, e.ThreadID)
		}
		if t.over {
			l.breaks("P1", "ends twice")
		}
		if t.Outside && b.By == turns.ByOwner {
			l.breaks("O1", "is ended by its owner's turn")
		}
		if t.over = true; b.Review == nil {
			l.accepted(t)
		}
		l.free, th.free = e.Timestamp.Time, e.Timestamp.Time
		if b.By == turns.ByOwner && t.Job != "" {
			parent := l.turns[t.Parent.TurnID]
			if parent.InterruptedBy == "" && !(parent.IsChild() && (parent.State == turns.Failed || parent.State == turns.Interrupted)) {
				l.breaks("J4", "the job %s is interrupted, and its turn is %s in attempt %d", t.Job, parent.State, parent.Attempt)
			}
		}
		if b.State == turns.Interrupted && b.By == turns.ByClient && !b.StartedAt.IsZero() {
			th.held = true
		}
		if t.Wake && l.spoke(t) { // also if it fails after that
			th.silent = 0
		}
		if b.State == turns.Completed {
			l.completed(t)
		}
	case *turns.ReviewedEvent:
		if was == nil || !was.InReview() {
			l.breaks("R1", "a verdict about a turn that waits for none")
		}
		if b.ContinuedBy == "" {
			l.accepted(t)
		}
	case *turns.DetachedEvent:
		if prev == nil || was.AttentionPolicy != turns.Blocking || b.AttentionPolicy != turns.Notify {
			l.breaks("P5", "detaches a turn whose policy is %q", policyOf(was))
		}
		if t.Job != "" {
			l.breaks("J3", "the job %s is detached", t.Job)
		}
		if l.waiting[l.turns[t.Parent.TurnID]] {
			l.w.freed++
		}
	}
}

// accepted follows the accepted end of a turn, of which there is one.
func (l *treeLog) accepted(t *treeTurn) {
	if t.end != 0 {
		l.breaks("R1", "%s has the accepted end %d already", t.TurnID, t.end)
	}
	t.end = l.now.Seq
	t.ends[t.end] = 0
}

// waitedFor reports whether an owner waits for the turn as long as its inbox does not
// have its end: not for one in review, and instead of one that was rejected for the one
// that continues it.
func (t *treeTurn) waitedFor() bool { return !t.InReview() && t.ContinuedBy == "" }

func policyOf(t *turns.Turn) turns.AttentionPolicy {
	if t == nil {
		return ""
	}
	return t.AttentionPolicy
}

// spoke reports whether what the turn was told last is still told.
func (l *treeLog) spoke(t *treeTurn) bool {
	for _, x := range slices.Backward(l.order) {
		if n := len(x.tells); n > 0 && x.tells[n-1].turnID == t.TurnID {
			return !x.tells[n-1].undone
		}
	}
	return true
}

// begins follows the first event of a child turn: what it works for is there (P9), and
// its chain is that of it.
func (l *treeLog) begins(first bool, t *treeTurn) {
	if !first || !t.IsChild() {
		return
	}
	parent := l.turns[t.Parent.TurnID]
	if t.Job != "" && t.Continues == "" {
		key := t.Parent.TurnID + " " + t.Job
		if other := l.jobs[key]; other != nil {
			l.breaks("J1", "the job %s is %s already", t.Job, other.TurnID)
		}
		l.jobs[key] = t
	}
	if l.threads[t.Parent.ThreadID].closed && !(t.Outside && t.Continues != "") || t.AttentionPolicy == turns.Blocking && (t.Job == "" || t.Continues == "") &&
		(parent.State != turns.Active || parent.Attempt != t.Parent.Attempt && t.Job == "" || parent.Progress == turns.Interrupting || !parent.RetryAt.IsZero()) {
		l.breaks("P9", "it starts, and what it works for is over")
	}
	if parent != nil {
		t.link = parent.link
	} else if th := l.threads[t.Parent.ThreadID]; th.before != nil && t.Parent.TurnID == "" {
		t.link = min(th.before.link, th.last.link) // its owner may have been asked before the last turn began
	}
	if t.Outside {
		if t.link++; max(t.link, t.Chain) >= inbox.MaxChain {
			l.breaks("P11", "a chain of %d, %d turns", t.Chain, t.link)
		}
	}
}

// completed follows the completion of a turn (P6). One that is itself a child waits for
// all that it has started, unless a person waits for it.
func (l *treeLog) completed(t *treeTurn) {
	patient := !t.HadItsPrompts()
	for _, q := range l.turns {
		patient = patient && (q.ThreadID != t.ThreadID || q.State != turns.Queued || q.IsChild())
	}
	for _, child := range l.turns {
		waits := child.works(t.TurnID) && child.waitedFor() && !child.Outside && (patient && t.IsChild() || child.AttentionPolicy == turns.Blocking && (patient || child.Job == ""))
		if waits && (child.end == 0 || l.natives[inbox.EndID(child.TurnID, child.end)] == nil) {
			l.breaks("P6", "completes before its child %s, which is %s", child.TurnID, child.AttentionPolicy)
		}
	}
}

// How long a turn may wait that has nothing to wait for: a drain, or a unit that is tried
// again. How long a child turn may be waited for whose parent turn is over: a rule that
// is tried again.
const (
	goesOnWithin  = 700 * time.Millisecond
	settledWithin = 1500 * time.Millisecond
)

// stuck looks for turns that wait for nothing (P6), and for blocking child turns that
// nothing can wait for.
func (l *treeLog) stuck() {
	for _, t := range l.turns {
		if t.AttentionPolicy != turns.Blocking {
			continue
		}
		parent := l.turns[t.Parent.TurnID]
		over := parent.State.Ended()
		if t.Job != "" { // it goes on, unless its parent turn was stopped, or is a child turn and has failed
			stopped := parent.State == turns.Interrupted && (parent.InterruptedBy != turns.ByServer || parent.IsChild()) || parent.State == turns.Failed && parent.IsChild()
			over = stopped && t.since < parent.end
		}
		for _, q := range l.turns {
			over = over || t.Job == "" && parent.State == turns.Active && len(parent.WaitsFor) > 0 && q.ThreadID == parent.ThreadID && q.State == turns.Queued && !q.IsChild()
		}
		switch {
		case !over || t.State.Ended() || t.Progress == turns.Interrupting:
			t.left = time.Time{}
		case t.left.IsZero():
			t.left = l.now.Timestamp.Time
		case l.now.Timestamp.Sub(t.left) > settledWithin:
			l.breaks("P6", "%s is blocking since %v, and nothing can wait for it", t.TurnID, t.left)
		}
	}
	for t := range l.waiting {
		switch {
		case !l.saysTooMuch(t):
			t.stale = time.Time{}
		case t.stale.IsZero():
			t.stale = l.now.Timestamp.Time
		case l.now.Timestamp.Sub(t.stale) > settledWithin:
			l.breaks("P6", "%s says since %v that it waits for what was detached", t.TurnID, t.stale)
		}
		free := true
		for _, child := range l.turns {
			if child.works(t.TurnID) && child.waitedFor() && !child.Outside && (t.IsChild() || child.AttentionPolicy == turns.Blocking) {
				x := l.natives[inbox.EndID(child.TurnID, child.end)]
				free = free && x != nil && x.id != "" && !x.fresh
			}
		}
		switch {
		case !free:
			t.free = time.Time{}
		case t.free.IsZero():
			t.free = l.now.Timestamp.Time
		case l.now.Timestamp.Sub(t.free) > goesOnWithin:
			l.breaks("P6", "%s waits for nothing since %v", t.TurnID, t.free)
			delete(l.waiting, t)
		}
	}
}

// saysTooMuch reports whether a turn that waits names a child turn that was detached: it
// may be so for a moment, because the two are in different threads.
func (l *treeLog) saysTooMuch(t *treeTurn) bool {
	return !t.IsChild() && slices.ContainsFunc(t.WaitsFor, func(id string) bool {
		return l.turns[id] != nil && l.turns[id].AttentionPolicy != turns.Blocking
	})
}

// woken follows the start of a wake (P4, P11).
func (l *treeLog) woken(e event, t *treeTurn) {
	th := l.threads[e.ThreadID]
	for _, q := range l.turns {
		if q.ThreadID == t.ThreadID && q.TurnID != t.TurnID && !q.State.Ended() {
			l.breaks("P4", "wakes the thread although %s is %s", q.TurnID, q.State)
		}
	}
	if th.held {
		l.breaks("P2", "wakes the thread although a client has stopped it")
	}
	th.wakes = append(th.wakes, e.Timestamp.Time)
	if n := len(th.wakes); n > inbox.MaxWakesAnHour && e.Timestamp.Sub(th.wakes[n-1-inbox.MaxWakesAnHour]) < time.Hour {
		l.breaks("P11", "more than %d wakes in an hour", inbox.MaxWakesAnHour)
	}
	if th.silent >= 5 {
		l.breaks("P11", "wakes after %d silent wakes in a row", th.silent)
	}
	l.waking[e.ThreadID] = t
	l.early(e.ThreadID)
	l.window(e.ThreadID)
}

// windowSlack is how long a wake may take once its window is over: commits are slow, and an end that
// an answer tells may be in the way.
const windowSlack = 1500 * time.Millisecond

// window checks that a wake waits for more, and not too long (W1, W2). A thread that has waited
// for a slot once its window was over is not early, so the window may have ended before.
func (l *treeLog) window(thread string) {
	th := l.threads[thread]
	now, size := l.now.Timestamp.Time, th.policy.WakeWindow
	var posted, all []time.Time // of what waits for more; and with what an answer under way may tell
	early := true
	for _, x := range l.order {
		switch isEnd := x.turn != nil && !x.turn.Outside && x.turn.Parent.TurnID != ""; {
		case x.thread != thread || !x.fresh || x.turn != nil && x.turn.ends[x.end] > 0:
		case x.atOnce || isEnd || x.seq <= th.asked: // it is due, or its time is that of P12
			early = false
		case l.reserved(x): // or no longer: then it has waited, too
			all = append(all, x.posted)
		default:
			all, posted = append(all, x.posted), append(posted, x.posted)
		}
	}
	if len(posted) == 0 {
		return
	}
	newest := all[0]
	for _, at := range all[1:] {
		early = early && at.Sub(newest) < size
		newest = at
	}
	if early && now.Sub(newest) < size && now.Sub(all[0]) < 5*size {
		l.breaks("W1", "it wakes %v after the newest and %v after the oldest entry, a window is %v", now.Sub(newest), now.Sub(all[0]), size)
	}
	since := posted[0].Add(5 * size)
	for _, at := range append([]time.Time{th.free, l.free}, l.w.began...) {
		if at.After(since) && !at.After(now) {
			since = at
		}
	}
	if th.silent == 0 && len(th.wakes) <= inbox.MaxWakesAnHour && now.Sub(since) > windowSlack {
		l.breaks("W2", "it wakes %v after five windows of %v", now.Sub(since), size)
	}
}

// lapsed follows the end of leases (L1).
func (l *treeLog) lapsed(thread string, b *inbox.Untold) {
	t, lease := l.turns[b.TurnID], l.threads[thread].policy.ToldLease
	if since := l.now.Timestamp.Sub(t.CompletedAt.Time); lease == 0 || !t.State.Ended() || since < lease {
		l.breaks("L1", "the lease of %v is over %v after the end of %s, which is %s", lease, since, b.TurnID, t.State)
	}
	for _, id := range b.EntryIDs {
		x := l.entries[id]
		if n := len(x.tells); x.fresh || x.acked > 0 || n == 0 || x.tells[n-1].turnID != b.TurnID {
			l.breaks("L1", "the lease of %s is over, which %s was not told", id, b.TurnID)
		}
		if x.leases++; x.leases > 3 {
			l.breaks("L1", "%d leases of %s", x.leases, id)
		}
	}
}

// justNow is how many events may lie between the judgement about a wake and its commit.
const justNow = 10

// early checks that ends alone wake nobody while their siblings are at work (P12).
func (l *treeLog) early(thread string) {
	var oldest time.Time
	policy := l.threads[thread].policy
	for _, x := range l.order {
		switch {
		case x.thread != thread || !x.fresh || x.turn != nil && x.turn.ends[x.end] > 0:
			continue
		case x.turn == nil || x.turn.Outside || policy.WakeWhen == inbox.WhenEach || !l.atWork(x.turn.Parent.TurnID) || x.seq <= l.threads[thread].woken:
			return // also if an answer may have it: that may have failed by now
		case oldest.IsZero():
			oldest = x.posted
		}
	}
	if wait := l.now.Timestamp.Sub(oldest); !oldest.IsZero() && (policy.WakeMaxWait == 0 || wait < policy.WakeMaxWait) {
		l.breaks("P12", "ends wake the thread after %v although their siblings are at work", wait)
	}
}

// atWork reports whether a turn has a child turn whose end has not arrived, and has not for a
// while.
func (l *treeLog) atWork(turnID string) bool {
	for _, child := range l.turns {
		if turnID != "" && child.works(turnID) && child.Job == "" && !child.Outside && child.waitedFor() && child.since+justNow < l.now.Seq &&
			(child.end == 0 || l.natives[inbox.EndID(child.TurnID, child.end)] == nil) {
			return true
		}
	}
	return false
}

func (l *treeLog) received(thread string, b *inbox.Received) {
	x := &treeEntry{thread: thread, source: b.Source, native: b.NativeID}
	l.raws[b.RawID] = x
	if b.Source != inbox.SourceTurns {
		if sender := l.threads[b.Sender]; sender != nil && sender.last != nil {
			x.link = sender.last.link
		}
		return
	}
	turnID, end, ok := inbox.EndOf(b.NativeID)
	x.turn, x.end = l.turns[turnID], end
	switch {
	case !ok || x.turn == nil || x.turn.Parent == nil || x.turn.Parent.ThreadID != thread:
		l.breaks("P1", "it has the end %s, which is none of its children", b.NativeID)
		return
	case l.natives[b.NativeID] != nil:
		l.breaks("P1", "it has the end %s twice", b.NativeID)
	}
	gone, is := x.turn.ends[end]
	if !is {
		l.breaks("P1", "it has the end %s, which is not in the log", b.NativeID)
	}
	if gone > 0 {
		l.breaks("P8", "it has the end %s, which was superseded", b.NativeID)
	}
	x.link, l.natives[b.NativeID] = x.turn.link, x
	x.says = l.said[attemptKey(turnID, x.turn.Attempt)]
}

func (l *treeLog) posted(b *inbox.Posted) {
	x := l.raws[b.NewRawIDs[0]]
	x.id, x.seq, x.fresh, x.posted, x.atOnce = b.Entry.EntryID, l.now.Seq, true, b.Entry.PostedAt.Time, b.Reason == inbox.ReasonImmediate
	l.entries[x.id] = x
	l.order = append(l.order, x)
}

func (l *treeLog) told(thread string, b *inbox.Told) {
	t := l.turns[b.TurnID]
	if len(b.EntryIDs) == 0 {
		l.breaks("P3", "tells nothing")
	}
	for _, id := range b.EntryIDs {
		x := l.entries[id]
		if x == nil || !x.fresh || x.thread != thread {
			l.breaks("P3", "%s is not new", id)
			continue
		}
		if x.turn != nil && x.turn.ends[x.end] > 0 {
			l.breaks("P8", "the end of %s was superseded by %d", x.turn.TurnID, x.turn.ends[x.end])
		}
		if x.turn != nil && x.turn.Job != "" {
			l.breaks("J3", "the end of the job %s is told", x.turn.Job)
		}
		if l.waking[thread] != nil && t.Chain < x.leases {
			l.breaks("P11", "the chain of a wake that tells what has had %d leases is %d", x.leases, t.Chain)
		}
		x.fresh = false
		x.tells = append(x.tells, telling{seq: l.now.Seq, turnID: b.TurnID})
		if l.waking[thread] != nil && x.seq > l.threads[thread].asked { // what a later prompt of the turn tells makes no chain longer
			t.link = max(t.link, x.link+1)
		}
	}
	if t.link >= inbox.MaxChain && t.Wake {
		l.breaks("P11", "a chain of %d wakes", t.link)
	}
	if l.waking[thread] == nil {
		return
	}
	delete(l.waking, thread)
	for _, x := range l.order { // P7
		if x.thread == thread && x.fresh && !l.reserved(x) {
			l.breaks("P7", "%s %s is new, and this wake does not tell it", x.id, x.native)
		}
	}
}

// reserved reports whether an answer may be under way that tells the end.
func (l *treeLog) reserved(x *treeEntry) bool {
	if x.turn == nil {
		return false
	}
	for _, q := range l.w.asking {
		mine := q.owner == x.thread && (len(q.ids) == 0 || l.names(q.ids, x.turn))
		if mine && q.from <= l.now.Seq && (q.to == 0 || l.now.Seq <= q.to+20) { // its mark is committed a little later
			return true
		}
	}
	return false
}

// names reports whether a turn is among ids, or one that it continues.
func (l *treeLog) names(ids []string, t *treeTurn) bool {
	for ; t != nil; t = l.turns[t.Continues] {
		if slices.Contains(ids, t.TurnID) {
			return true
		}
	}
	return false
}

// got reports whether the agent has got an entry in the last attempt of a turn: in a message
// that names it or, of an end, in the list of child turns, with its text.
func (l *treeLog) got(t *treeTurn, x *treeEntry) bool {
	now := attemptKey(t.TurnID, t.Attempt)
	list := l.w.lists[now]
	return l.w.given[now][string(x.id)] || x.turn != nil && strings.Contains(list, ": the turn "+x.turn.TurnID+" ") &&
		(x.says == "" || strings.Contains(list, "\n"+x.says+"\n"))
}

func (l *treeLog) renew(ids []notify.ID) {
	for _, id := range ids {
		x := l.entries[id]
		x.fresh = true
		if n := len(x.tells); n > 0 {
			x.tells[n-1].undone = true
		}
	}
}

func (l *treeLog) acked(x *treeEntry, b *inbox.Acked) {
	x.fresh, x.acked, x.ackedBy = false, l.now.Seq, b.By
	if ofJob := x.turn != nil && x.turn.Job != ""; ofJob != (b.By == inbox.ByJob) && len(x.tells) == 0 && x.acked == x.seq+1 {
		l.breaks("J3", "%s of %s is acknowledged by %s", x.id, x.native, b.By)
	}
	switch n := len(x.tells); {
	case b.By == inbox.ByTurn && (n == 0 || x.tells[n-1].turnID != b.TurnID || x.tells[n-1].undone || !l.got(l.turns[b.TurnID], x)):
		l.breaks("P1", "%s acknowledges %s %s, which it was not told", b.TurnID, x.id, x.native)
		return
	case b.By != inbox.ByAwait:
		return
	}
	for _, a := range l.w.written {
		if a.entry == string(x.id) && a.seq <= l.now.Seq {
			return
		}
	}
	l.breaks("P1", "%s of %s is marked as told, and no answer has shown it", x.id, x.native)
}

// atTheEnd checks what must be true when all clocks have run down.
func (l *treeLog) atTheEnd() {
	l.now = event{}
	w := l.w
	for id, t := range l.turns {
		if !t.State.Ended() {
			l.breaks("P2", "%s in %s never ends: %s %s %s", id, t.ThreadID, t.State, t.Progress, t.Reason)
		}
		row, err := w.h.reader.Turn(bg, id)
		if err != nil || row == nil {
			w.h.t.Errorf("read %s: %v", id, err)
			continue
		}
		if row.AttentionPolicy != t.AttentionPolicy {
			l.breaks("P5", "the row of %s says %q, the log %q", id, row.AttentionPolicy, t.AttentionPolicy)
		}
		if t.over && (t.end == 0) != (t.ContinuedBy != "") || t.InReview() { // R1
			l.breaks("R1", "%s in %s has the accepted end %d, continued by %q, review %+v", id, t.ThreadID, t.end, t.ContinuedBy, t.Review)
		}
		if (t.IsChild() || t.Review != nil) && row.AcceptedSeq != t.end {
			l.breaks("R1", "the row of %s has the accepted end %d, the log %d", id, row.AcceptedSeq, t.end)
		}
		if t.IsChild() && t.end != 0 && !l.threads[t.Parent.ThreadID].closed && l.natives[inbox.EndID(id, t.end)] == nil {
			l.breaks("P1", "the end of %s in %s is not in the inbox of %s", id, t.ThreadID, t.Parent.ThreadID)
		}
	}
	for id, seq := range w.queued {
		if t := l.turns[id]; t == nil || t.CreatedSeq > seq {
			l.breaks("P4", "%s was answered with %d, and is not in the log", id, seq)
		}
	}
	for id := range w.notes {
		if t := l.turns[id]; t == nil || t.AttentionPolicy != turns.Notify {
			l.breaks("P5", "%s was said to be detached", id)
		}
	}
	for _, x := range l.order {
		l.entryAtTheEnd(x)
	}
	for _, a := range w.written {
		l.answerAtTheEnd(a)
	}
	for id, list := range w.seen {
		for _, s := range list {
			l.shown(id, s)
		}
	}
}

// entryAtTheEnd checks P1 and P2 of an entry.
func (l *treeLog) entryAtTheEnd(x *treeEntry) {
	w := l.w
	if x.turn != nil && x.turn.Job != "" && x.ackedBy != inbox.ByJob {
		l.breaks("J3", "the end of the job %s is acknowledged by %q", x.turn.Job, x.ackedBy)
	}
	if x.fresh && !l.threads[x.thread].closed {
		if box := w.h.box(x.thread); box != nil && w.mayBeWoken(x.thread, box) {
			l.breaks("P2", "%s %s of %s is still new", x.id, x.native, x.thread)
		}
	}
	if x.fresh || x.acked > 0 && len(x.tells) == 0 {
		return
	}
	if th := l.threads[x.thread]; th.policy.ToldLease != 0 && !th.closed && x.acked == 0 && x.leases < 3 {
		l.breaks("L2", "%s %s of %s stays told, and has a lease of %v", x.id, x.native, x.thread, th.policy.ToldLease)
	}
	n := len(x.tells)
	if n == 0 {
		l.breaks("P1", "%s %s of %s was never told", x.id, x.native, x.thread)
		return
	}
	if t := l.turns[x.tells[n-1].turnID]; t.State == turns.Completed && !x.tells[n-1].undone {
		if !l.got(t, x) {
			l.breaks("P1", "%s %s counts as told, but the agent did not get it in %s", x.id, x.native, t.TurnID)
		}
		if x.acked == 0 && !l.threads[x.thread].asks {
			l.breaks("P2", "%s %s was told in %s, which has completed, and is neither acknowledged nor new", x.id, x.native, t.TurnID)
		}
	}
	for i, again := range x.tells[1:] {
		if before := x.tells[i]; !before.undone && again.seq > before.seq {
			l.breaks("P1", "%s %s is told in %s and again in %s", x.id, x.native, before.turnID, again.turnID)
		}
	}
}

// answerAtTheEnd checks that nothing has told an end again that an answer had told, in the same
// life of the server, or in a later one if it has stopped in order.
func (l *treeLog) answerAtTheEnd(a writtenEnd) {
	x := l.entries[notify.ID(a.entry)]
	if x == nil {
		l.breaks("P1", "an answer has told %s, which is not in the log", a.entry)
		return
	}
	for _, t := range x.tells {
		if t.seq > a.seq && (t.seq <= l.w.ended[a.life] || l.w.orderly[a.life]) {
			l.breaks("P1", "%s %s is told by an answer at %d, and again in %s at %d", x.id, x.native, a.seq, t.turnID, t.seq)
		}
	}
}

// shown checks that an end which anybody has seen is in the log.
func (l *treeLog) shown(id string, s endSeen) {
	for _, e := range l.w.h.seen {
		if e.TurnID == id && terminal(e.Method) && e.State == string(s.state) && e.Attempt == s.attempt {
			return
		}
	}
	l.breaks("P1", "an answer has shown that attempt %d of %s is %s", s.attempt, id, s.state)
}
