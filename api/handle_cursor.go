package api

import (
	"context"
	"errors"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/turns"
)

// Cursors is what the methods of cursors work on; *cursors.Service implements it.
// It is called with commands that were checked (Check of the command). Errors are
// those of package cursors.
type Cursors interface {
	Advance(ctx context.Context, c cursors.Advance) (cursors.Result, error)
	RecordError(ctx context.Context, c cursors.RecordError) (cursors.Result, error)
	Reset(ctx context.Context, c cursors.Reset) (cursors.Result, error)
	Delete(ctx context.Context, c cursors.Delete) (cursors.Result, error)
	// Read returns the newest seq of the log too, of the same snapshot.
	Read(ctx context.Context, n cursors.Name) (cursors.Cursor, int64, error)
	List(ctx context.Context, q cursors.Query) (turns.List[cursors.Cursor], error)
}

var _ Cursors = (*cursors.Service)(nil)

// cursors returns the Cursors of the server, or an error if it has none.
func (a *API) cursors() (Cursors, error) {
	if a.Cursors == nil {
		return nil, Errorf(KindUnavailable, "this server has no cursors")
	}
	return a.Cursors, nil
}

// changeCursor checks a command, which check also trims, and executes it.
func changeCursor[C any](ctx context.Context, a *API, c *C, check func() error, do func(Cursors, context.Context, C) (cursors.Result, error)) (cursors.Result, error) {
	in, err := a.cursors()
	if err == nil {
		err = check()
	}
	if err != nil {
		return cursors.Result{}, err
	}
	r, err := do(in, ctx, *c)
	if ahead := (*cursors.AheadError)(nil); errors.As(err, &ahead) {
		at := ahead.At
		at.LogID = a.LogID
		e := cursorError(KindCursorAhead, at, "%s", ahead.Error())
		e.Data.Field = "last_sequence"
		err = e
	}
	return r, err
}

// CursorAdvanceParams are the params of cursor/advance.
type CursorAdvanceParams struct {
	cursors.Advance
	Keyed
	Extra
}

// CursorAdvanceResult answers cursor/advance.
type CursorAdvanceResult = cursors.Result

// CursorAdvance answers cursor/advance.
func (h *Handlers) CursorAdvance(ctx context.Context, p CursorAdvanceParams) (CursorAdvanceResult, error) {
	var err error
	if p.Requester, err = requesterOf(ctx); err != nil {
		return CursorAdvanceResult{}, err
	}
	return changeCursor(ctx, h.api, &p.Advance, p.Advance.Check, Cursors.Advance)
}

// CursorErrorParams are the params of cursor/error.
type CursorErrorParams struct {
	cursors.RecordError
	Keyed
	Extra
}

// CursorErrorResult answers cursor/error.
type CursorErrorResult = cursors.Result

// CursorError answers cursor/error.
func (h *Handlers) CursorError(ctx context.Context, p CursorErrorParams) (CursorErrorResult, error) {
	var err error
	if p.Requester, err = requesterOf(ctx); err != nil {
		return CursorErrorResult{}, err
	}
	return changeCursor(ctx, h.api, &p.RecordError, p.RecordError.Check, Cursors.RecordError)
}

// CursorResetParams are the params of cursor/reset.
type CursorResetParams struct {
	cursors.Reset
	Keyed
	Extra
}

// CursorResetResult answers cursor/reset.
type CursorResetResult = cursors.Result

// CursorReset answers cursor/reset.
func (h *Handlers) CursorReset(ctx context.Context, p CursorResetParams) (CursorResetResult, error) {
	return changeCursor(ctx, h.api, &p.Reset, p.Reset.Check, Cursors.Reset)
}

// CursorDeleteParams are the params of cursor/delete.
type CursorDeleteParams struct {
	cursors.Delete
	Keyed
	Extra
}

// CursorDeleteResult answers cursor/delete with the zero state.
type CursorDeleteResult = cursors.Result

// CursorDelete answers cursor/delete.
func (h *Handlers) CursorDelete(ctx context.Context, p CursorDeleteParams) (CursorDeleteResult, error) {
	return changeCursor(ctx, h.api, &p.Delete, p.Delete.Check, Cursors.Delete)
}

// CursorReadParams are the params of cursor/read.
type CursorReadParams struct {
	cursors.Name
	Extra
}

// CursorReadResult answers cursor/read, also where there is no such cursor.
type CursorReadResult struct {
	Cursor    cursors.Cursor `json:"cursor"`
	LatestSeq int64          `json:"latest_seq"`
}

// CursorRead answers cursor/read.
func (h *Handlers) CursorRead(ctx context.Context, p CursorReadParams) (r CursorReadResult, err error) {
	in, err := h.api.cursors()
	if err == nil {
		err = p.Name.Check()
	}
	if err != nil {
		return r, err
	}
	r.Cursor, r.LatestSeq, err = in.Read(ctx, p.Name)
	return r, err
}

// CursorListParams are the params of cursor/list. The filters are pointers because
// a subject_id of "" is a filter too.
type CursorListParams struct {
	ConsumerID *string `json:"consumer_id,omitzero"`
	StreamName *string `json:"stream_name,omitzero"`
	SubjectID  *string `json:"subject_id,omitzero"`
	Page
	Extra
}

// CursorListResult answers cursor/list. Only a page without NextCursor is the last.
type CursorListResult struct {
	Cursors    []cursors.Cursor `json:"cursors"`
	NextCursor string           `json:"next_cursor,omitzero"`
	LatestSeq  int64            `json:"latest_seq"`
}

// CursorList answers cursor/list.
func (h *Handlers) CursorList(ctx context.Context, p CursorListParams) (CursorListResult, error) {
	in, err := h.api.cursors()
	if err != nil {
		return CursorListResult{}, err
	}
	limit, err := p.Page.limit()
	if err != nil {
		return CursorListResult{}, err
	}
	q := cursors.Query{
		ConsumerID: p.ConsumerID, StreamName: p.StreamName, SubjectID: p.SubjectID,
		Cursor: p.Page.Cursor, Limit: limit, Newest: p.Order == OrderDesc,
	}
	if err := q.Check(); err != nil {
		return CursorListResult{}, err
	}
	list, err := in.List(ctx, q)
	return CursorListResult{Cursors: append([]cursors.Cursor{}, list.Rows...), NextCursor: list.Next, LatestSeq: list.Latest}, err
}

// errNotMonotonic contains what is stored, so that its client can go on from there.
func errNotMonotonic(err *cursors.NotMonotonicError) *Error {
	e := Errorf(KindConflict, "%s", err.Error())
	e.Data.Field, e.Data.Reason, e.Data.Cursor = "last_sequence", "not_monotonic", &err.Cursor
	return e
}
