package tokens

import (
	"crypto/sha256"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Table is where tokens are stored. The row of a named token is never deleted, because its
// name stays used. SignIn deletes rows of old console tokens.
var Table = ledger.NewTable(ledger.Table{
	Name:    "tokens",
	Columns: []string{"created_seq", "name", "role", "thread_ids", "hash", "log_id", "created_at", "expires_at", "revoked_at", "parent"},
	Key:     []string{"name"},
	Mutable: []string{"revoked_at"},
	Unique:  ErrTaken,
})

// InOrder finds tokens in the order in which they were made.
var InOrder = &ledger.Index{Table: Table, Columns: []string{"created_seq"}}

// row is a token as it is stored.
type row struct {
	Token
	hash       [sha256.Size]byte
	logID      string // of the log in which it was made
	createdSeq int64
}

// Table implements ledger.Row.
func (r *row) Table() *ledger.Table { return Table }

// ID implements ledger.Row.
func (r *row) ID() any { return r.Name }

// New implements ledger.Row.
func (r *row) New() bool { return r.createdSeq < 0 }

// Bytes implements ledger.Row.
func (r *row) Bytes() int { return len(r.Name) + 40*len(r.ThreadIDs) + len(r.hash) }

// AssignSeqs implements ledger.Row.
func (r *row) AssignSeqs(first int64) { r.createdSeq = notify.AssignSeq(r.createdSeq, first) }

// Values implements ledger.Row.
func (r *row) Values(first int64) (ledger.Values, error) {
	ids, err := json.Marshal(r.ThreadIDs)
	if err != nil {
		return nil, err
	}
	return ledger.Values{
		notify.AssignSeq(r.createdSeq, first), r.Name, string(r.Role), ids, r.hash[:], r.logID,
		r.CreatedAt.Milli(), r.ExpiresAt.Milli(), r.RevokedAt.Milli(), r.Parent,
	}, nil
}

// read makes a token of its columns.
func read(v ledger.Values) (*row, error) {
	r := &row{
		Token: Token{
			Name: v.Text(1), Role: Role(v.Text(2)), CreatedAt: notify.TimeFromMilli(v.Int(6)),
			ExpiresAt: notify.TimeFromMilli(v.Int(7)), RevokedAt: notify.TimeFromMilli(v.Int(8)), Parent: v.Text(9),
		},
		logID: v.Text(5), createdSeq: v.Int(0),
	}
	if err := json.Unmarshal(v.Blob(3), &r.ThreadIDs); err != nil {
		return nil, fmt.Errorf("threads of token %s: %w", r.Name, err)
	}
	if len(r.ThreadIDs) == 0 {
		r.ThreadIDs = nil // not limited, as it was made
	}
	if n := copy(r.hash[:], v.Blob(4)); n != len(r.hash) {
		return nil, fmt.Errorf("token %s: its hash has %d bytes", r.Name, n)
	}
	return r, nil
}
