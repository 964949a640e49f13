package dashboard

import (
	"context"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/overview"
	"github.com/seed82539d15/holon/rpc/client"
)

// Bounds of what is listed. What is beyond them is counted, and found with the filter.
const (
	pageRows     = 500    // of a list
	mostUrgent   = 10_000 // threads that need somebody, work or have failed
	newestDone   = 2000
	newestClosed = 100
	countsEvery  = 2 * time.Second // between two counts
)

// threadPage is an answer to thread/list.
type threadPage struct {
	Threads []thread         `json:"threads"`
	Counts  *overview.Counts `json:"counts"`
	Next    string           `json:"next_cursor"`
	Latest  int64            `json:"latest_seq"`
}

// thread is a thread with what only the feed needs of it.
type thread struct {
	overview.Thread
	Session string `json:"agent_session_id"`
}

// listing reads lists of threads one after the other.
type listing struct {
	f      *feed
	all    []thread
	latest int64 // of the first page; -1: there is none yet
	counts *overview.Counts
}

// listAll reads the threads that are shown, and returns the seq after which the log
// continues.
func (f *feed) listAll(ctx context.Context) (int64, error) {
	l := &listing{f: f, latest: -1}
	cut, err := l.byStatus(ctx)
	if l.counts == nil && (err == nil || client.IsKind(err, "invalid_params")) { // an older server
		l = &listing{f: f, latest: -1}
		err = l.byState(ctx)
	}
	if err != nil {
		return 0, err
	}
	f.mu.Lock()
	f.counted, f.countedAt, f.uncounted = l.counts != nil, time.Now(), false
	f.mu.Unlock()
	f.deliver(l.all, overview.Listed{Whole: true, Counts: l.counts, Cut: cut, Left: f.left})
	return max(l.latest, 0), nil
}

// byStatus lists all threads that need somebody, work or have failed, and the newest of the
// others. cut says that there are more of the former.
func (l *listing) byStatus(ctx context.Context) (cut bool, err error) {
	urgent := map[string]any{"status": []string{"needs_you", "working", "failed"}, "counts": true}
	if cut, err = l.read(ctx, urgent, mostUrgent); err != nil || l.counts == nil {
		return cut, err
	}
	if _, err = l.read(ctx, map[string]any{"status": []string{"done"}}, newestDone); err == nil {
		_, err = l.read(ctx, map[string]any{"status": []string{"closed"}}, newestClosed)
	}
	return cut, err
}

// byState lists all threads that are not closed, and the newest closed ones: of a server
// that knows no statuses.
func (l *listing) byState(ctx context.Context) error {
	for _, state := range []string{"running", "paused", "closing", "closed"} {
		most := -1
		if state == "closed" {
			most = newestClosed
		}
		if _, err := l.read(ctx, map[string]any{"state": state}, most); err != nil {
			return err
		}
	}
	return nil
}

// read reads the newest threads of a list, at least most if there are so many; -1: all. cut
// says that there are more.
func (l *listing) read(ctx context.Context, params map[string]any, most int) (cut bool, err error) {
	params["view"], params["order"], params["limit"] = "summary", "desc", pageRows
	if most > 0 {
		params["limit"] = min(pageRows, most)
	}
	var pages client.Pages
	for read := 0; ; {
		var page threadPage
		if err := l.f.call(ctx, "thread/list", params, &page); err != nil {
			return false, err
		}
		if l.latest < 0 {
			l.latest = page.Latest
		}
		if page.Counts != nil {
			l.counts = page.Counts
		} else if params["counts"] != nil && l.counts == nil {
			return false, nil // the server does not know what was asked
		}
		l.all = append(l.all, page.Threads...)
		read += len(page.Threads)
		more, err := pages.Follow(page.Next)
		if err != nil || !more {
			return false, err
		}
		if most > 0 && read >= most {
			return true, nil
		}
		params["cursor"] = page.Next
		delete(params, "counts")
	}
}

// count adds to the params of a list that threads are counted, if the server does that and
// it is time. What has changed since is counted later.
func (f *feed) count(params map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(params, "counts")
	if !f.counted {
		return
	}
	if now := time.Now(); now.Sub(f.countedAt) >= countsEvery {
		params["counts"], f.countedAt, f.uncounted = true, now, false
		return
	}
	f.uncounted = true
}

// countLate counts threads that have changed since they were counted last, if no list did.
func (f *feed) countLate(ctx context.Context) {
	f.mu.Lock()
	due := f.uncounted && len(f.changed) == 0
	f.mu.Unlock()
	params := map[string]any{"view": "summary", "order": "desc", "limit": 1}
	if !due {
		return
	}
	if f.count(params); params["counts"] == nil {
		return
	}
	var page threadPage
	if f.call(ctx, "thread/list", params, &page) != nil {
		f.mu.Lock()
		f.uncounted = true
		f.mu.Unlock()
		return
	}
	f.deliver(page.Threads, overview.Listed{Counts: page.Counts})
}
