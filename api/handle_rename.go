package api

import (
	"context"

	"github.com/seed82539d15/holon/turns"
)

// ThreadRenameParams are the params of thread/rename. Title is a pointer because an empty
// one gives the title back, and an absent one is a mistake.
type ThreadRenameParams struct {
	ThreadID string  `json:"thread_id"`
	Title    *string `json:"title"`
	Keyed
	Extra
}

// ThreadRenameResult answers thread/rename.
type ThreadRenameResult = turns.RenameThreadResult

// ThreadRename answers thread/rename.
func (h *Handlers) ThreadRename(ctx context.Context, p ThreadRenameParams) (ThreadRenameResult, error) {
	return h.api.Engine.ThreadRename(ctx, turns.RenameThread{ThreadID: p.ThreadID, Title: *p.Title, By: clientOf(ctx), Key: p.key})
}
