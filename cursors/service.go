package cursors

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Reader reads cursors. It is safe for use by many goroutines.
type Reader interface {
	// ReadCursor returns a cursor, the Zero state where there is none, and where the
	// log begins and ends, in one snapshot.
	ReadCursor(ctx context.Context, n Name) (Cursor, turns.Position, error)
	// ListCursors returns one page.
	ListCursors(ctx context.Context, q Query) (turns.List[Cursor], error)
}

// Config has the parts of a Service. Log and Reader are needed.
type Config struct {
	Log    ledger.Log
	Reader Reader
	// Scanned returns how far a consumer of the server has looked; 0 if it is not
	// known. nil: the server has no consumers.
	Scanned func(Name) int64
	Now     func() time.Time // nil = time.Now
}

// Service executes the commands of clients, each as one transaction. It takes
// commands that were checked. All methods may be called from many goroutines.
type Service struct{ cfg Config }

// New makes a service. It starts nothing.
func New(cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Service{cfg: cfg}
}

// Advance confirms what a consumer has handled. Errors: *NotMonotonicError,
// *AheadError, ErrTooMany, ErrShareFull.
func (s *Service) Advance(ctx context.Context, c Advance) (Result, error) {
	return s.change(ctx, c.Name, nil, func(before Cursor, at turns.Position, now notify.Time, u *ledger.Unit) (Cursor, error) {
		if err := notAhead(before, *c.LastSequence, at); err != nil {
			return before, err
		}
		after, err := before.Advance(*c.LastSequence, c.delivery(), now)
		Write(u, before, after.by(c.Requester, before))
		return after, err
	})
}

// RecordError records a failure; a cursor that does not exist is made. Errors:
// ErrTooMany, ErrShareFull.
func (s *Service) RecordError(ctx context.Context, c RecordError) (Result, error) {
	return s.change(ctx, c.Name, c.Key, func(before Cursor, _ turns.Position, now notify.Time, u *ledger.Unit) (Cursor, error) {
		after := before.Fail(c.Error, now)
		Write(u, before, after.by(c.Requester, before))
		return after, nil
	})
}

// Reset sets a cursor to a sequence. Errors: ErrNotFound, *AheadError.
func (s *Service) Reset(ctx context.Context, c Reset) (Result, error) {
	return s.change(ctx, c.Name, c.Key, func(before Cursor, at turns.Position, now notify.Time, u *ledger.Unit) (Cursor, error) {
		if !before.Exists {
			return before, ErrNotFound
		}
		if err := notAhead(before, *c.LastSequence, at); err != nil {
			return before, err
		}
		after := before.Reset(*c.LastSequence, now)
		Write(u, before, after)
		return after, encoded(u, ResetDraft(0, before, after, c.Reason, cmp.Or(c.By, ByClient), now))
	})
}

// Delete deletes a cursor. The result has the zero state. Errors: ErrNotFound.
func (s *Service) Delete(ctx context.Context, c Delete) (Result, error) {
	return s.change(ctx, c.Name, c.Key, func(before Cursor, _ turns.Position, now notify.Time, u *ledger.Unit) (Cursor, error) {
		if !before.Exists {
			return before, ErrNotFound
		}
		Remove(u, before)
		return Zero(c.Name), encoded(u, deletedDraft(before, c.Reason, cmp.Or(c.By, ByClient), now))
	})
}

// Read returns a cursor, and the newest seq of the log in the same snapshot.
func (s *Service) Read(ctx context.Context, n Name) (Cursor, int64, error) {
	c, at, err := s.cfg.Reader.ReadCursor(ctx, n)
	s.scanned(&c)
	return c, at.Latest, err
}

// List returns one page of cursors.
func (s *Service) List(ctx context.Context, q Query) (turns.List[Cursor], error) {
	list, err := s.cfg.Reader.ListCursors(ctx, q)
	for i := range list.Rows {
		s.scanned(&list.Rows[i])
	}
	return list, err
}

// scanned adds what the server knows of its own consumers.
func (s *Service) scanned(c *Cursor) {
	if s.cfg.Scanned != nil && c.Name().OfServer() {
		c.ScannedSeq = s.cfg.Scanned(c.Name())
	}
}

// change executes a command as one unit, which decide fills from the cursor as it
// is. If another writer is first, the unit is refused, and decide decides anew.
func (s *Service) change(ctx context.Context, n Name, key *ledger.Key,
	decide func(before Cursor, at turns.Position, now notify.Time, u *ledger.Unit) (Cursor, error)) (Result, error) {
	for {
		r, _, err := ledger.Keyed(s.cfg.Log, key, func() (*ledger.Unit, Result, error) {
			u := &ledger.Unit{}
			before, at, err := s.cfg.Reader.ReadCursor(ctx, n)
			if err != nil {
				return u, Result{}, err
			}
			after, err := decide(before, at, notify.TimeOf(s.cfg.Now()), u)
			return u, Result{Cursor: after}, err
		}, s.cfg.Log.Append)
		if !errors.Is(err, ErrMoved) {
			return r, err
		}
		if err := ctx.Err(); err != nil {
			return r, err
		}
	}
}

// notAhead refuses a seq that no event has.
func notAhead(c Cursor, to int64, at turns.Position) error {
	if c.Name().OfLog() && to > at.Latest {
		return &AheadError{At: at}
	}
	return nil
}

// encoded adds an event to the unit.
func encoded(u *ledger.Unit, d notify.Draft) error {
	if err := d.Encode(); err != nil {
		return err
	}
	u.Drafts = append(u.Drafts, d)
	return nil
}
