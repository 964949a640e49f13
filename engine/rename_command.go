package engine

import (
	"context"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// ThreadRename gives a thread a title that its agent does not replace, or gives the title
// back to the agent. Repeating succeeds and changes nothing. Errors: *InvalidError,
// threads.ErrNotFound, threads.ErrClosed, ledger.ErrKeyConflict, ledger.ErrStorageFull,
// ledger.ErrStorageFailed.
func (e *Engine) ThreadRename(ctx context.Context, c turns.RenameThread) (turns.RenameThreadResult, error) {
	if err := c.Check(); err != nil {
		return turns.RenameThreadResult{}, err
	}
	return call(ctx, e, c.ThreadID, func(a *actor) (turns.RenameThreadResult, error) {
		r, _, err := keyed(a, c.Key, func(d *decision) (turns.RenameThreadResult, error) { return d.rename(c) })
		return r, err
	})
}

// rename leaves a title of the agent alone if none is given: it is the agent's already.
func (d *decision) rename(c turns.RenameThread) (turns.RenameThreadResult, error) {
	if err := d.mustBeOpen(); err != nil {
		return turns.RenameThreadResult{}, err
	}
	is := d.next().thread
	if given := is.TitleBy == threads.ByClient; given && c.Title != is.Title || !given && c.Title != "" {
		d.change.thread(notify.ThreadUpdated, &threads.Updated{
			Type: "updated", Title: c.Title, TitleBy: threads.ByClient, RequestedBy: requestedBy(c.By),
		})
	}
	is = d.next().thread
	return turns.RenameThreadResult{ThreadID: is.ThreadID, Title: is.Title, TitleBy: is.TitleBy}, nil
}
