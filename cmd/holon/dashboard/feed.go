package dashboard

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/overview"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/requests"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/rpc/client"
)

// Bounds of what is read.
const (
	readTogether = 100                    // changed threads in one request
	readEvery    = 250 * time.Millisecond // between two requests for changed threads
	steadyAfter  = 5 * time.Second        // a feed that lasted so long is tried again as a new one

	// Branches and changed lines come without events, and the server looks at a
	// directory only once it was asked: so the threads where something happened last
	// are read again, soon after the start and then from time to time.
	directoriesAfter = 2 * time.Second
	directoriesEvery = 30 * time.Second
	directoriesMost  = 50

	// What a thread writes comes without events, too: so the rows on the screen that work
	// are read again.
	sightEvery = 2 * time.Second
	sightMost  = 50
)

// summaryEvents are the events that change the summary of a thread. They come without
// what agents print.
var summaryEvents = slices.Concat([]string{"thread/*", "turn/*", "item/created", "item/updated", "item/deleted"}, inbox.WakesEvents)

// ownConsumer names the cursors that say what the server's own user has seen.
const ownConsumer = "seen:owner"

// feed tells the overview what happens on the server. Its goroutines end with the
// context of run.
type feed struct {
	client   *client.Client
	send     func(tea.Msg)
	now      func() time.Time
	requests *atomic.Int64
	ready    func(context.Context) error // whether the server can store anything
	unstored <-chan struct{}             // has an entry after a request was refused for lack of storage

	directory func(logID string) string // of new threads on the server with this log; nil = none is proposed

	consumer string        // whose cursors say what was seen
	left     int64         // up to which seq the person's last dashboard was open; 0 = not known
	lostWake chan struct{} // has an entry after what has ended with a restart may be other turns

	mu      sync.Mutex // guards the rest
	changed map[string]struct{}
	parents map[string]string   // of child threads
	working map[string]int64    // threads with a directory that are not closed, by their newest seq
	busy    map[string]struct{} // threads that work
	sight   []string            // threads that work and whose rows are on the screen
	lost    bool                // turns are known that ended with a restart
	wake    chan struct{}       // has an entry after changed has got one
	today   spending

	counted   bool      // the server counts threads …
	countedAt time.Time // … and did so then …
	uncounted bool      // … and some have changed since
}

// run reads everything and then what changes, until ctx ends. After a failure it
// begins anew.
func (f *feed) run(ctx context.Context) {
	for failures := 1; ctx.Err() == nil; failures++ {
		began := time.Now()
		err := f.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= steadyAfter {
			failures = 1
		}
		f.send(screen.Connection{State: client.State{Kind: client.Lost, Reason: err}})
		_ = f.client.AwaitRetry(ctx, failures+1) // the loop sees that ctx has ended
	}
}

func (f *feed) call(ctx context.Context, method string, params, result any) error {
	f.requests.Add(1)
	return f.client.Call(ctx, method, params, result)
}

// follow reads everything once and follows the log from there.
func (f *feed) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	f.mu.Lock()
	f.changed, f.parents, f.working = make(map[string]struct{}), make(map[string]string), make(map[string]int64)
	f.busy = make(map[string]struct{})
	f.wake = make(chan struct{}, 1)
	f.today = newSpending(f.now())
	f.lostWake = make(chan struct{}, 1)
	f.mu.Unlock()

	if err := f.whoAmI(ctx); err != nil {
		return err
	}
	latest, err := f.listAll(ctx)
	if err != nil {
		return err
	}
	f.send(screen.Connection{State: client.State{Kind: client.Connected}})
	f.readLost(ctx)
	readers.Go(func() { f.readSpent(ctx) })
	readers.Go(func() { f.readChanged(ctx) })
	readers.Go(func() { f.readDirectories(ctx) })
	readers.Go(func() { f.readSight(ctx) })
	readers.Go(func() { f.readStorage(ctx) })
	readers.Go(func() { f.followLost(ctx) })
	subscription := f.client.Subscribe(client.Options{
		AfterSeq: &latest, Methods: summaryEvents, Summary: true, RetryFirst: true,
		OnState: func(s client.State) {
			f.send(screen.Connection{State: s})
			if s.Kind == client.Resumed {
				f.wakeLost() // the server may have been restarted
			}
		},
	})
	return subscription.Run(ctx, func(e client.Event) error {
		f.event(e)
		return nil
	})
}

// whoAmI finds out whose cursors say what was seen, and whether the server has the
// directories of this terminal.
func (f *feed) whoAmI(ctx context.Context) error {
	var hello requests.Hello
	if err := f.call(ctx, "initialize", map[string]any{}, &hello); err != nil {
		return err
	}
	f.hello(hello)
	var left struct {
		Cursor struct {
			LastSequence int64 `json:"last_sequence"`
		} `json:"cursor"`
	}
	if f.call(ctx, "cursor/read", map[string]any{"consumer_id": f.consumer, "stream_name": "events"}, &left) == nil {
		f.left = left.Cursor.LastSequence // otherwise it is not known
	}
	return nil
}

func (f *feed) hello(hello requests.Hello) {
	if f.directory != nil {
		f.send(overview.Terminal(f.directory(hello.LogID)))
	}
	if f.consumer = hello.Consumer(); f.consumer != ownConsumer {
		f.send(consumer(f.consumer))
	}
}

// deliver gives threads to the overview, with what else is known of them.
func (f *feed) deliver(threads []thread, listed overview.Listed) {
	rows := make([]overview.Thread, len(threads))
	f.mu.Lock()
	for i, t := range threads {
		rows[i] = t.Thread
		f.today.sessions[t.ID] = t.Session != ""
		if delete(f.working, t.ID); t.Summary.Cwd != "" && !t.Closed() {
			f.working[t.ID] = t.LatestSeq
		}
		if delete(f.busy, t.ID); t.Works() {
			f.busy[t.ID] = struct{}{}
		}
		if t.Level > 0 && f.parents[t.ID] == "" {
			f.parents[t.ID] = t.Parent.ID
			if !listed.Whole { // its events came before it was known whose child it is
				f.note(t.Parent.ID)
			}
		}
	}
	f.mu.Unlock()
	listed.Threads = rows
	f.send(listed)
}

// event notes what an event changes.
func (f *feed) event(e client.Event) {
	f.mu.Lock()
	spent, more := f.today.event(e, f.now())
	if e.ThreadID != "" {
		f.note(e.ThreadID)
	}
	f.noteLost(e)
	f.mu.Unlock()
	if more {
		f.send(spent)
	}
}

// note marks a thread to be read again, and those above it, whose numbers of children may
// have changed.
func (f *feed) note(id string) {
	for range len(f.parents) + 1 {
		if id == "" {
			break
		}
		f.changed[id] = struct{}{}
		id = f.parents[id]
	}
	f.wakeUp()
}

// readDirectories reads threads again for what is known of their directories.
func (f *feed) readDirectories(ctx context.Context) {
	timer := time.NewTimer(directoriesAfter)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		f.noteDirectories()
		timer.Reset(directoriesEvery)
	}
}

// noteDirectories marks the threads to be read again whose directories may have changed.
func (f *feed) noteDirectories() {
	f.mu.Lock()
	defer f.mu.Unlock()
	newest := slices.SortedFunc(maps.Keys(f.working), func(a, b string) int { return cmp.Compare(f.working[b], f.working[a]) })
	for _, id := range newest[:min(len(newest), directoriesMost)] {
		f.changed[id] = struct{}{}
	}
	if len(newest) > 0 {
		f.wakeUp()
	}
}

// look sets which working threads are on the screen. It may be called at any time, by any
// goroutine.
func (f *feed) look(ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sight = slices.Clone(ids[:min(len(ids), sightMost)])
}

// readSight reads the threads on the screen again for what they do now.
func (f *feed) readSight(ctx context.Context) {
	ticker := time.NewTicker(sightEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		f.noteSight()
		f.countLate(ctx)
	}
}

// noteSight marks the threads on the screen to be read again.
func (f *feed) noteSight() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range f.sight {
		f.changed[id] = struct{}{}
	}
	if len(f.sight) > 0 {
		f.wakeUp()
	}
}

// readChanged reads changed threads: one request at a time, and not more than one
// every readEvery.
func (f *feed) readChanged(ctx context.Context) {
	pace := time.NewTicker(readEvery)
	defer pace.Stop()
	for {
		select {
		case <-f.wake:
		case <-ctx.Done():
			return
		}
		if ids := f.take(); len(ids) > 0 {
			f.readThreads(ctx, ids)
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
	}
}

// take takes some of the changed threads. More are taken when it is called again.
func (f *feed) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []string
	for id := range maps.Keys(f.changed) {
		if len(ids) == readTogether {
			f.wakeUp()
			break
		}
		delete(f.changed, id)
		ids = append(ids, id)
	}
	return ids
}

func (f *feed) wakeUp() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// readThreads reads threads, all pages of the answer. What could not be read is
// noted again.
func (f *feed) readThreads(ctx context.Context, ids []string) {
	params := map[string]any{"view": "summary", "thread_ids": ids, "limit": readTogether}
	var pages client.Pages
	for {
		f.count(params)
		var page threadPage
		if err := f.call(ctx, "thread/list", params, &page); err != nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, id := range ids {
				f.changed[id] = struct{}{}
			}
			if ctx.Err() == nil {
				f.wakeUp()
			}
			return
		}
		f.deliver(page.Threads, overview.Listed{Counts: page.Counts})
		if more, err := pages.Follow(page.Next); !more || err != nil {
			return
		}
		params["cursor"] = page.Next
	}
}
