package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/question"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// sources are the subscriptions of inboxes while the server runs: the followers of
// the source events, and what each subscription has done.
type sources struct {
	dispatcher *follow.Dispatcher // nil: nothing follows the log
	logID      string
	head       func() int64

	mu       sync.Mutex
	activity map[string]*inbox.Activity // by followerName
	todo     []func() error             // followers to add and to end; bounded by the recent commits
	busy     bool                       // a goroutine works on todo
}

const followerPrefix = "inbox/"

// followerName returns the name of a subscription's follower.
func followerName(threadID, subscriptionID string) string {
	return followerPrefix + threadID + "/" + subscriptionID
}

// Follow makes inboxes receive events of other threads. It is called once, after
// Recover and before Run; head is the newest seq of the log. It adds the followers
// of all subscriptions that exist.
func (x *Inboxes) Follow(ctx context.Context, d *follow.Dispatcher, logID string, head func() int64) error {
	x.sources.dispatcher, x.sources.logID, x.sources.head = d, logID, head
	list, err := x.e.rules.inboxes.SubscriptionsOf(ctx, inbox.SourceEvents)
	if err != nil {
		return fmt.Errorf("read the subscriptions of inboxes: %w", err)
	}
	known := map[string]bool{}
	for i := range list {
		known[followerName(list[i].ThreadID, list[i].SubscriptionID)] = true
		if err := x.follow(ctx, &list[i]); err != nil {
			return err
		}
	}
	for _, f := range d.Followers() {
		if strings.HasPrefix(f.Name, followerPrefix) && !known[f.Name] {
			if err := d.Remove(f.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow adds the follower of a subscription, if it has none.
func (x *Inboxes) follow(ctx context.Context, s *inbox.Subscription) error {
	_, err := x.sources.dispatcher.Add(ctx, follow.Follower{
		Name:     followerName(s.ThreadID, s.SubscriptionID),
		Interest: follow.Interest{All: len(s.ThreadIDs) == 0, Threads: s.ThreadIDs, Methods: s.Followed(), Collapse: true},
		Handle:   func(ctx context.Context, b *follow.Batch) ([]follow.Task, error) { return nil, x.followed(ctx, s, b) },
	})
	if errors.Is(err, follow.ErrTaken) {
		return nil
	}
	return err
}

// followed hands a batch of events to the inbox of a subscription. Its actor
// stores each once, by its seq: the same batch may come again.
func (x *Inboxes) followed(ctx context.Context, s *inbox.Subscription, b *follow.Batch) error {
	if b.Lost != nil {
		x.Note(s.ThreadID, s.SubscriptionID, 0, 0, fmt.Errorf("the events %d to %d were pruned before they were read", b.Lost.From, b.Lost.To))
	}
	var list []inbox.Item
	for i := range b.Events {
		it, err := x.itemOf(ctx, s, &b.Events[i])
		if err != nil {
			return err
		}
		if it != nil {
			list = append(list, *it)
		}
	}
	for len(list) > 0 {
		n := min(len(list), inbox.MaxItems)
		out, err := x.arrive(ctx, s.ThreadID, &arrival{items: list[:n], lags: true})
		switch {
		case errors.Is(err, threads.ErrClosed), errors.Is(err, threads.ErrNotFound):
			return nil // its follower is removed with the subscription
		case err != nil:
			x.Note(s.ThreadID, s.SubscriptionID, 0, 0, err)
			return err
		}
		x.count(s.ThreadID, s.SubscriptionID, out.Results)
		if lagged := n - len(out.Results); lagged > 0 {
			x.Note(s.ThreadID, s.SubscriptionID, 0, lagged, inbox.ErrFull)
		}
		list = list[n:]
	}
	return nil
}

// followedBody is what an item says of an event.
type followedBody struct {
	TurnID      string             `json:"turn_id"`
	Message     string             `json:"message"`
	State       turns.State        `json:"state"`
	Reason      string             `json:"reason"`
	Stopped     string             `json:"stop_reason"`
	Error       *turns.Failure     `json:"error"`
	Content     items.Raw          `json:"content"`
	Status      items.Status       `json:"status"`
	Review      *turns.ReviewAsked `json:"review"`
	Verdict     turns.ReviewState  `json:"verdict"`
	ContinuedBy string             `json:"continued_by"`
	Note        string             `json:"note"`
	Timestamp   notify.Time        `json:"timestamp"`

	asked question.Asked // if it asks
}

// itemOf makes the item of an event, nil if the subscription does not want it.
func (x *Inboxes) itemOf(ctx context.Context, s *inbox.Subscription, e *follow.Event) (*inbox.Item, error) {
	if !s.Wants(e.ThreadID, e.Method, inbox.EventAbout{Question: true}) {
		return nil, nil
	}
	var b followedBody
	if err := json.Unmarshal(e.Params, &b); err != nil {
		return nil, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	about := inbox.EventAbout{Question: b.Status == items.StatusPending, NoEnd: b.Review != nil && b.Review.State == turns.ReviewPending || b.ContinuedBy != ""}
	if !s.Wants(e.ThreadID, e.Method, about) {
		return nil, nil
	}
	it := &inbox.Item{
		Source: inbox.SourceEvents, NativeID: strconv.FormatInt(e.Seq, 10), OccurredAt: b.Timestamp, SubscriptionIDs: []string{s.SubscriptionID},
		Event: &inbox.Event{
			SubscriptionID: s.SubscriptionID, Seq: e.Seq, ThreadID: e.ThreadID, Method: e.Method, About: about,
		},
	}
	if b.TurnID != "" {
		// A wake that this item causes has a longer chain, so that threads which watch each
		// other stop.
		t, err := x.e.rows.Turn(ctx, b.TurnID)
		if err != nil {
			return nil, err
		}
		if t != nil {
			it.Chain = t.Chain + 1
			if e.Method == notify.TurnReviewed && t.State.Ended() {
				b.Message, b.Stopped = t.Message, t.StopReason
			}
		}
	}
	if b.asks(e) {
		if err := x.e.rules.inboxes.ReadToDecide(ctx, func(r ledger.Reader) (err error) {
			b.asked, err = turns.AskedIn(r, e.ThreadID, []byte(b.Content))
			return err
		}); err != nil {
			return nil, err
		}
	}
	it.Summary = sanitize.Line(b.summary(e), inbox.MaxSummary)
	it.Cut(e.Params)
	return it, nil
}

func (b *followedBody) summary(e *follow.Event) string {
	switch e.Method {
	case notify.TurnCompleted:
		return sentence(fmt.Sprintf("a turn of %s %s", e.ThreadID, b.completed()), b.Message)
	case notify.TurnFailed:
		why := b.Message
		if b.Error != nil {
			why = b.Error.Message
		}
		return sentence(fmt.Sprintf("a turn of %s failed", e.ThreadID), why)
	case notify.TurnInterrupted:
		return sentence(fmt.Sprintf("a turn of %s was interrupted", e.ThreadID), b.Reason)
	case notify.TurnReviewed:
		end := "failed"
		if b.State == turns.Completed {
			end = b.completed()
		}
		return sentence(fmt.Sprintf("a turn of %s %s, %s in a review", e.ThreadID, end, b.Verdict), cmp.Or(b.Note, b.Message))
	}
	if b.asks(e) {
		return fmt.Sprintf("%s asks: %s", e.ThreadID, question.Phrase(b.asked))
	}
	return fmt.Sprintf("%s in %s", e.Method, e.ThreadID)
}

// asks reports whether the event is that of a new question.
func (b *followedBody) asks(e *follow.Event) bool {
	return e.Method == notify.ItemCreated && b.Status == items.StatusPending
}

// completed describes how a turn ended that has completed.
func (b *followedBody) completed() string {
	if turns.StopsEarly(b.Stopped) {
		return turns.EarlyStop(b.Stopped)
	}
	return "completed"
}

// sentence returns what happened, and why or with which words if there are any.
func sentence(what, words string) string {
	if words == "" {
		return what
	}
	return what + ": " + words
}

// Subscribe connects a source to an inbox. Errors: inbox.ErrConflict,
// inbox.ErrTooManySubscriptions.
func (x *Inboxes) Subscribe(ctx context.Context, c inbox.Subscribe) (inbox.SubscribeResult, error) {
	return inboxCommand(ctx, x, c.ThreadID, c.Key, c.By, func(b *inbox.Book) (r inbox.SubscribeResult, err error) {
		r.Subscription, r.Created, err = b.Subscribe(c)
		return r, err
	})
}

// Unsubscribe disconnects a source. Errors: inbox.ErrSubscriptionNotFound.
func (x *Inboxes) Unsubscribe(ctx context.Context, c inbox.Unsubscribe) (inbox.UnsubscribeResult, error) {
	return inboxCommand(ctx, x, c.ThreadID, c.Key, c.By, func(b *inbox.Book) (inbox.UnsubscribeResult, error) {
		return inbox.UnsubscribeResult{SubscriptionID: c.SubscriptionID}, b.Unsubscribe(c.SubscriptionID)
	})
}

// positions returns the rows of followers' positions that a unit writes: the position of a
// new subscription, so that no event after its commit is missed, and the removal of the
// position of one that ends.
func (s *sources) positions(threadID string, drafts []notify.Draft) (rows []ledger.Row) {
	if s.dispatcher == nil {
		return nil
	}
	for i := range drafts {
		switch b := drafts[i].Body.(type) {
		case *inbox.Subscribed:
			if b.Subscription.Source == inbox.SourceEvents {
				rows = append(rows, follow.NewRow(followerName(threadID, b.Subscription.SubscriptionID), s.logID, s.head()))
			}
		case *inbox.Unsubscribed:
			rows = append(rows, follow.RemoveRow(followerName(threadID, b.SubscriptionID)))
		}
	}
	return rows
}

// committed adds and ends followers as the subscriptions have changed, in the order of the
// commits. It does not block: a goroutine does it, because a follower that ends may wait
// for the actor that calls this.
func (s *sources) committed(x *Inboxes, threadID string, drafts []notify.Draft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range drafts {
		switch b := drafts[i].Body.(type) {
		case *inbox.Subscribed:
			if row := b.Subscription; row.Source == inbox.SourceEvents && s.dispatcher != nil {
				row.ThreadID = threadID
				s.todo = append(s.todo, func() error { return x.follow(context.Background(), &row) })
			}
		case *inbox.Unsubscribed:
			name := followerName(threadID, b.SubscriptionID)
			delete(s.activity, name)
			if s.dispatcher != nil {
				s.todo = append(s.todo, func() error { s.dispatcher.Forget(name); return nil })
			}
		}
	}
	if len(s.todo) > 0 && !s.busy {
		s.busy = true
		x.e.prompts.Go(func() { s.work(x.e.log) })
	}
}

// work runs the functions in todo until none is left.
func (s *sources) work(log *zap.Logger) {
	for {
		s.mu.Lock()
		if len(s.todo) == 0 {
			s.busy = false
			s.mu.Unlock()
			return
		}
		f := s.todo[0]
		s.todo = s.todo[1:]
		s.mu.Unlock()
		if err := f(); err != nil {
			log.Error("a subscription receives nothing before the next start of the server", zap.Error(err))
		}
	}
}

// of returns the activity of a subscription. The caller holds mu.
func (s *sources) of(threadID, subscriptionID string) *inbox.Activity {
	name := followerName(threadID, subscriptionID)
	if s.activity == nil {
		s.activity = map[string]*inbox.Activity{}
	}
	if s.activity[name] == nil {
		s.activity[name] = &inbox.Activity{}
	}
	return s.activity[name]
}

// Activity returns what a subscription has done since the start.
func (x *Inboxes) Activity(threadID, subscriptionID string) inbox.Activity {
	x.sources.mu.Lock()
	defer x.sources.mu.Unlock()
	if a := x.sources.activity[followerName(threadID, subscriptionID)]; a != nil {
		return *a
	}
	return inbox.Activity{}
}

// Note records what a subscription did not store, and why; err may be nil.
func (x *Inboxes) Note(threadID, subscriptionID string, filtered, failed int, err error) {
	x.sources.mu.Lock()
	defer x.sources.mu.Unlock()
	a := x.sources.of(threadID, subscriptionID)
	a.Filtered += int64(filtered)
	a.Failed += int64(failed)
	if err != nil {
		a.LastError, a.LastErrorAt = sanitize.Line(strings.ReplaceAll(err.Error(), "\n", "; "), inbox.MaxSummary), nowTime()
	}
}

func (x *Inboxes) count(threadID, subscriptionID string, results []inbox.Ingested) {
	x.sources.mu.Lock()
	defer x.sources.mu.Unlock()
	a := x.sources.of(threadID, subscriptionID)
	for _, r := range results {
		if r.Duplicate {
			a.Duplicates++
		} else {
			a.Received++
		}
	}
}

// Subscribed lists the subscriptions of a configured source.
func (x *Inboxes) Subscribed(ctx context.Context, source string) ([]inbox.Subscription, error) {
	return x.e.rules.inboxes.SubscriptionsOf(ctx, source)
}

// Deliver stores items of a configured source once, as let in by these subscriptions of the
// thread, and counts them for each of them. An error is for the caller to Note. Errors:
// as Ingest.
func (x *Inboxes) Deliver(ctx context.Context, threadID string, subscriptionIDs []string, list []inbox.Item) ([]inbox.Ingested, error) {
	list = slices.Clone(list)
	for i := range list {
		list[i].SubscriptionIDs = subscriptionIDs
	}
	out, err := x.arrive(ctx, threadID, &arrival{items: list})
	if err != nil {
		return nil, err
	}
	for _, id := range subscriptionIDs {
		x.count(threadID, id, out.Results)
	}
	return out.Results, nil
}
