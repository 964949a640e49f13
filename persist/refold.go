package persist

import (
	"context"
	"fmt"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Difference is a member of a row that differs from the log (I2). Column is the
// member's JSON name, or "row" if a whole row is missing or has no event.
type Difference struct {
	Table  string `json:"table"`
	ID     string `json:"id"`
	Column string `json:"column"`
	Row    string `json:"row"` // what the table has, shortened
	Log    string `json:"log"` // what the log gives
}

// String implements fmt.Stringer.
func (d Difference) String() string {
	return fmt.Sprintf("%s %s: %s is %s, the log gives %s", d.Table, d.ID, d.Column, d.Row, d.Log)
}

// Refolded is the result of Refold. Pruned counts the threads whose log is no
// longer whole, Busy those that changed at every try to read them.
type Refolded struct {
	Threads     int          `json:"threads"`
	Events      int64        `json:"events"`
	Pruned      int          `json:"pruned"`
	Busy        int          `json:"busy"`
	Differences []Difference `json:"differences"`
	More        bool         `json:"more"` // there were more differences than are kept

	removed   map[string]int64 // by closed thread: the event that removed its inbox
	removedTo int64            // how far the log was read for them
}

// The bounds of Refold: pages as large as those of streams, and as many
// differences as a person reads.
const (
	refoldEvents      = 1000
	refoldBytes       = 1 << 20
	refoldDifferences = 100
	refoldTries       = 3
)

// Refold rebuilds the rows of every thread whose log is whole and compares them
// with the stored rows. It uses the same Apply that made them, one thread at a
// time, in memory. It may run while the store is written. Its memory is bounded
// by the number of items of one thread and its inbox, not by their content.
// Cursors are left out: they are in no event but that of a reset.
func Refold(ctx context.Context, r turns.Reader) (*Refolded, error) {
	out := &Refolded{}
	cursor := ""
	for {
		page, err := r.ListThreads(ctx, threads.Query{Cursor: cursor})
		if err != nil {
			return nil, fmt.Errorf("refold: %w", err)
		}
		for i := range page.Rows {
			if err := out.thread(ctx, r, &page.Rows[i]); err != nil {
				return nil, fmt.Errorf("refold %s: %w", page.Rows[i].ThreadID, err)
			}
		}
		if cursor = page.Next; cursor == "" {
			return out, out.runtime(ctx, r)
		}
	}
}

// thread refolds one thread. It retries if the thread changes meanwhile.
func (out *Refolded) thread(ctx context.Context, r turns.Reader, t *threads.Thread) error {
	for range refoldTries {
		pos, err := r.Position(ctx)
		if err != nil {
			return err
		}
		if t.CreatedSeq < pos.First {
			out.Pruned++
			return nil
		}
		f := newFolding(t.ThreadID, t.LatestSeq)
		if err := f.read(ctx, r); err != nil {
			return err
		}
		if err := f.compare(ctx, r, t); err != nil {
			return err
		}
		if err := out.compareInbox(ctx, r, f); err != nil {
			return err
		}
		now, err := r.ReadThread(ctx, t.ThreadID, 0)
		if err != nil {
			return err
		}
		if pos, err = r.Position(ctx); err != nil {
			return err
		}
		if t.CreatedSeq < pos.First { // pruned while it was read
			out.Pruned++
			return nil
		}
		if now.Thread == nil || now.Thread.LatestSeq == t.LatestSeq {
			out.Threads++
			out.Events += f.events
			out.add(f.diffs)
			return nil
		}
		t = now.Thread
	}
	out.Busy++
	return nil
}

func (out *Refolded) add(diffs []Difference) {
	if room := refoldDifferences - len(out.Differences); len(diffs) > room {
		diffs, out.More = diffs[:room], true
	}
	out.Differences = append(out.Differences, diffs...)
}

// runtimeReader is what a store has besides turns.Reader.
type runtimeReader interface {
	Runtime(ctx context.Context) (turns.Runtime, error)
}

// runtime refolds the pause, if the whole log is there.
func (out *Refolded) runtime(ctx context.Context, r turns.Reader) error {
	pos, err := r.Position(ctx)
	if err != nil {
		return err
	}
	store, ok := r.(runtimeReader)
	if !ok || pos.First != 1 {
		return nil
	}
	f := newFolding("", pos.Latest)
	if err := eachEvent(ctx, r, notify.Filter{Methods: []string{notify.HolonPaused, notify.HolonResumed}}, pos.Latest, f.apply); err != nil {
		return err
	}
	row, err := store.Runtime(ctx)
	if err != nil {
		return err
	}
	if now, err := r.Position(ctx); err != nil || now.Latest != pos.Latest || now.First != 1 {
		return err // written or pruned meanwhile: the two cannot be compared
	}
	out.add(compareRows("runtime", "-", &row, &f.runtime))
	return nil
}
