package daemon

import (
	"context"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// mostLeft bounds what is counted for a line of the start page.
const mostLeft = 100

// dismissed returns the seq up to which the owner of the server knows which turns ended with
// restarts: see holon status --dismiss.
func dismissed(ctx context.Context, d *daemon) (int64, error) {
	c, _, err := d.store.Reader().ReadCursor(ctx, cursors.Name{ConsumerID: cursors.SeenPrefix + "owner", StreamName: cursors.StreamRestarts})
	return c.LastSequence, err
}

// sayLeft prints how many turns were cut off by a stop or a crash, by ends after a seq, how many
// questions are open, and what to do about both: when is before it, "" = now. It says nothing
// where there is nothing.
func sayLeft(ctx context.Context, d *daemon, after int64, when string) {
	reader := d.store.Reader()
	cut, err := reader.ListTurns(ctx, turns.Query{EndedBy: turns.EndedByRestart, AfterSeq: after, Limit: mostLeft})
	if err != nil {
		d.log.Warn("turns that a restart cut off cannot be listed", zap.Error(err))
	}
	open, err := reader.ListItems(ctx, items.Query{Status: items.StatusPending, Limit: mostLeft})
	if err != nil {
		d.log.Warn("open questions cannot be listed", zap.Error(err))
	}
	var left []string
	if n := len(cut.Rows); n > 0 {
		left = append(left, fmt.Sprintf("turns that were cut off: %s (holon retry --interrupted)", atLeast(n, cut.Next)))
	}
	if n := len(open.Rows); n > 0 {
		left = append(left, fmt.Sprintf("open questions: %s (holon respond)", atLeast(n, open.Next)))
	}
	if len(left) > 0 {
		text := when + strings.Join(left, "; ")
		d.say("%s", strings.ToUpper(text[:1])+text[1:])
	}
}

// atLeast returns the length of the first page of a list.
func atLeast(n int, next string) string {
	if next != "" {
		return fmt.Sprintf("more than %d", n)
	}
	return fmt.Sprint(n)
}
