package cursors

import "github.com/seed82539d15/holon/ledger"

// shares has a row for each requester that has made cursors: how many of them there are.
var (
	shares = ledger.NewTable(ledger.Table{
		Name: "cursor_shares", Columns: []string{"requester", "cursors"}, Key: []string{"requester"}, Mutable: []string{"cursors"},
	})
	shareOf = &ledger.Index{Table: shares, Unique: true, Columns: []string{"requester"}}
)

// share counts the cursors of one requester that a unit makes and removes. A unit has at
// most one of each requester. Like a tally it is a fence too.
type share struct {
	requester ledger.Requester
	made      int64 // less those that are removed

	fresh   bool // set by Check, like cursors
	cursors int64
}

// count counts n cursors of a requester in a unit. The owner and the server have no share.
func count(u *ledger.Unit, requester ledger.Requester, n int64) {
	if requester == "" {
		return
	}
	for _, r := range u.Rows {
		if s, ok := r.(*share); ok && s.requester == requester {
			s.made += n
			return
		}
	}
	s := &share{requester: requester, made: n}
	u.Rows, u.Fences = append(u.Rows, s), append(u.Fences, s)
}

// by returns the cursor as one of the requester, if it is made now.
func (c Cursor) by(requester ledger.Requester, before Cursor) Cursor {
	if !before.Exists {
		c.requester = requester
	}
	return c
}

// Check implements ledger.Fence.
func (s *share) Check(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
	v, err := tx.Get(shareOf, string(s.requester))
	if err != nil {
		return nil, err
	}
	if s.fresh, s.cursors = v == nil, s.made; v != nil {
		s.cursors += v.Int(1)
	}
	if s.made > 0 && s.cursors > MaxCursorsEach {
		return ErrShareFull, nil
	}
	return nil, nil
}

// Table implements ledger.Row.
func (s *share) Table() *ledger.Table { return shares }

// ID implements ledger.Row.
func (s *share) ID() any { return string(s.requester) }

// New implements ledger.Row.
func (s *share) New() bool { return s.fresh }

// AssignSeqs implements ledger.Row.
func (s *share) AssignSeqs(int64) {}

// Bytes implements ledger.Row.
func (s *share) Bytes() int { return len(s.requester) }

// Values implements ledger.Row.
func (s *share) Values(int64) (ledger.Values, error) {
	return ledger.Values{string(s.requester), s.cursors}, nil
}
