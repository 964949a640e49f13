package sqlite

import (
	"context"
	"slices"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// liveItem leaves out the items of tries that were taken back.
const liveItem = "NOT EXISTS (SELECT 1 FROM steps s WHERE s.seq = items.span AND items.created_seq > s.hidden_after)"

// attemptRows bounds the attempts that a snapshot of a turn has.
const attemptRows = 100

// lineages gives items what they have of their tries. Each try is read once.
type lineages struct {
	c     *conn
	known map[int64]*turns.Step
}

func newLineages(c *conn) *lineages { return &lineages{c: c, known: map[int64]*turns.Step{}} }

// of sets the lineage of the item, and whether it was taken back.
func (l *lineages) of(it *items.Item) error {
	if it.Span == 0 {
		return nil
	}
	s, ok := l.known[it.Span]
	if !ok {
		if err := l.c.query("SELECT "+stepColumns+" FROM steps WHERE seq = ?", func(r row) (err error) {
			s, err = turns.ReadStep(r)
			return err
		}, it.Span); err != nil {
			return err
		}
		l.known[it.Span] = s
	}
	if s == nil {
		return nil // doctor tells
	}
	it.Step, it.Epoch, it.Lineage = s.Step, s.Epoch, s.Lineage
	if s.HiddenBy != 0 && it.CreatedSeq > s.HiddenAfter {
		it.Superseded, it.SupersededBySeq = true, s.HiddenBy
	}
	return nil
}

// stepsOfTurn are all tries of a turn in the order of their beginning.
var stepsOfTurn = "SELECT " + stepColumns + " FROM steps WHERE turn_id = ? ORDER BY seq"

func stepsOf(c *conn, turnID string) (list []*turns.Step, err error) {
	err = c.query(stepsOfTurn, func(r row) error {
		s, err := turns.ReadStep(r)
		list = append(list, s)
		return err
	}, turnID)
	return list, err
}

// Steps implements turns.Store.
func (s *View) Steps(ctx context.Context, turnID string) (list []*turns.Step, err error) {
	err = s.engine.read(ctx, func(c *conn) error {
		list, err = stepsOf(c, turnID)
		return err
	})
	return list, err
}

// ListSteps implements turns.Reader.
func (s *View) ListSteps(ctx context.Context, q turns.StepQuery) (out turns.List[turns.Step], err error) {
	l, err := newStepListing(q)
	if err != nil {
		return out, err
	}
	err = s.read(ctx, func(c *conn) error {
		out, err = list(c, l, stepRow)
		return err
	})
	return out, err
}

func newStepListing(q turns.StepQuery) (*listing, error) {
	l, err := newListing(stepColumns, "steps", "seq", q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return nil, err
	}
	l.find("turn_id = ?", q.TurnID)
	if !q.IncludeSuperseded {
		l.where("+hidden_by IS NULL") // not by steps_live, which has another order
	}
	return l, nil
}

func stepRow(r row) (v turns.Step, size int, seq int64, err error) {
	s, err := turns.ReadStep(r)
	if err != nil {
		return v, 0, 0, err
	}
	return *s, s.Bytes(), s.Seq, nil
}

// newestAttempts are the newest tries of the turn itself.
var newestAttempts = "SELECT " + stepColumns + " FROM steps WHERE turn_id = ? AND step = '' ORDER BY epoch DESC LIMIT ?"

// readSteps adds the attempts of a turn and its newest steps.
func readSteps(c *conn, q turns.TurnQuery, out *turns.TurnSnapshot) error {
	if err := c.query(newestAttempts, func(r row) error {
		s, err := turns.ReadStep(r)
		if err != nil {
			return err
		}
		out.Attempts = append(out.Attempts, *s)
		return nil
	}, q.TurnID, int64(attemptRows)); err != nil {
		return err
	}
	slices.Reverse(out.Attempts)
	l, err := newStepListing(turns.StepQuery{TurnID: q.TurnID, Limit: turns.MaxSteps, Newest: true, IncludeSuperseded: q.IncludeSuperseded})
	if err != nil {
		return err
	}
	l.where("step <> ''")
	steps, err := list(c, l, stepRow)
	slices.Reverse(steps.Rows)
	out.Steps = steps.Rows
	return err
}
