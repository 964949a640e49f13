package hooks

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Deliverer stores items. Its methods are called from many goroutines.
type Deliverer interface {
	// Subscribed lists the subscriptions of a source, of all threads.
	Subscribed(ctx context.Context, source string) ([]inbox.Subscription, error)
	// Ingest stores items in an inbox and returns when they are committed. They
	// count for each of these subscriptions of its thread.
	Ingest(ctx context.Context, threadID string, subscriptionIDs []string, items []inbox.Item) ([]inbox.Ingested, error)
	// Note tells a subscription what else happened to items: how many its filter
	// left out, how many expressions failed, and the last error, which has
	// nothing of a body.
	Note(threadID, subscriptionID string, filtered, failed int, err error)
}

// deliverFor bounds how long a sender waits for commits. GitHub gives up after
// 10 seconds.
const deliverFor = 9 * time.Second

// totals counts what the items of a webhook led to.
type totals struct {
	Stored     int `json:"stored"`
	Duplicates int `json:"duplicates"`
	Inboxes    int `json:"inboxes"`

	filtered int
	failed   int
	status   int // 0 = everything is committed
}

// target is an inbox that an item goes to, and its subscriptions that let it in.
type target struct {
	threadID string
	subs     []string
	item     inbox.Item
}

// targets returns the inboxes whose filters let the item in, one for each thread. An
// item whose filter fails is let in, ungrouped: what is not wanted can be
// acknowledged, what is lost cannot be read.
func (h *Handler) targets(m *made, subs []inbox.Subscription, t *totals) []target {
	var list []target
	at := map[string]int{} // of a thread in list
	for i := range subs {
		sub := subs[i]
		item, in, failures := m.item, true, m.failed
		if sub.Filter != "" {
			in = false
			yes, err := h.filters.run(sub.Filter, m.input)
			if err != nil {
				failures = append(failures[:len(failures):len(failures)], err)
				item.Grouping, item.Variant = nil, ""
			}
			in = yes || err != nil
		}
		filtered := 0
		if !in {
			filtered = 1
		}
		t.filtered += filtered
		t.failed += len(failures) - len(m.failed)
		if filtered > 0 || len(failures) > 0 {
			h.deliver.Note(sub.ThreadID, sub.SubscriptionID, filtered, len(failures), errors.Join(failures...))
		}
		if !in {
			continue
		}
		n, seen := at[sub.ThreadID]
		if !seen {
			n = len(list)
			at[sub.ThreadID] = n
			list = append(list, target{threadID: sub.ThreadID, item: item})
		}
		list[n].subs = append(list[n].subs, sub.SubscriptionID)
	}
	return list
}

// store stores the item in each inbox, one transaction after the other. One that
// fails does not keep the item from the others: the sender repeats the webhook,
// or GitHub's user does, and what is stored already is then a duplicate.
func (h *Handler) store(ctx context.Context, c *Compiled, list []target, t *totals) {
	for _, to := range list {
		results, err := h.deliver.Ingest(ctx, to.threadID, to.subs, []inbox.Item{to.item})
		status := statusOf(err)
		if err == nil {
			t.Inboxes++
			for _, r := range results {
				if r.Duplicate {
					t.Duplicates++
				} else {
					t.Stored++
				}
			}
			continue
		}
		for _, id := range to.subs {
			h.deliver.Note(to.threadID, id, 0, 1, err)
		}
		if status == 0 {
			continue
		}
		h.warn.Do(func() {
			h.log.Warn("a webhook could not be stored in an inbox; the metrics count all of them", zap.String("source", c.name),
				zap.String("thread_id", to.threadID), zap.Int("status", status), zap.Error(err))
		})
		t.status = max(t.status, status) // 503 before 500: it may be committed the next time
	}
}

// statusOf returns the answer to an error of the Deliverer; 0 = go on without this
// inbox, because its thread has ended.
func statusOf(err error) int {
	switch {
	case err == nil, errors.Is(err, threads.ErrClosed), errors.Is(err, threads.ErrNotFound):
		return 0
	case errors.Is(err, inbox.ErrFull), errors.Is(err, turns.ErrOverloaded), errors.Is(err, turns.ErrDraining),
		errors.Is(err, ledger.ErrStorageFull), errors.Is(err, ledger.ErrStorageFailed),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// maxFilters bounds the cache of compiled filters.
const maxFilters = 1000

// filters are the compiled filters of subscriptions, by their source. It is safe
// for use by many goroutines.
type filters struct {
	mu  sync.Mutex
	all map[string]*expression // nil = it does not compile
}

// run evaluates a filter. One that does not compile, because its subscription is
// older than a rule of expressions, fails.
func (f *filters) run(source string, in *input) (bool, error) {
	e := f.get(source)
	if e == nil {
		return false, &evalError{"filter", "1:1", "it does not compile"}
	}
	v, err := e.run(in)
	if err != nil {
		return false, err
	}
	yes, ok := v.(bool)
	if !ok {
		return false, e.wrong("its result must be true or false")
	}
	return yes, nil
}

func (f *filters) get(source string) *expression {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.all[source]
	if ok {
		return e
	}
	e, err := compile("filter", source, reflect.Bool)
	if err != nil {
		e = nil
	}
	if f.all == nil {
		f.all = map[string]*expression{}
	}
	if len(f.all) >= maxFilters {
		for other := range f.all { // any: a filter compiles in less than a millisecond
			delete(f.all, other)
			break
		}
	}
	f.all[source] = e
	return e
}
