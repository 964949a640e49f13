package persist

import (
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/limits"
	"github.com/seed82539d15/holon/notify"
)

// Idempotency keys are kept for some days and up to a number. Each new key
// removes a few old ones, so that trimming never delays a commit.
const (
	keyAge   = limits.IdempotencyKeysFor
	keyCount = limits.IdempotencyKeys
	keyTrim  = 4
)

// keyTable is where idempotency keys are stored, in the order of their use.
var keyTable = ledger.NewTable(ledger.Table{
	Name:    "idempotency",
	Columns: []string{"id", "key", "method", "hash", "result", "seq", "created_at"},
	Key:     []string{"id"},
})

var (
	keysByName = &ledger.Index{Table: keyTable, Unique: true, Columns: []string{"key"}}
	keysByAge  = &ledger.Index{Table: keyTable, Columns: []string{"id"}}
)

// StoredKey looks up a key; nil if it has not been used or has expired.
func StoredKey(tx ledger.Reader, key string, now time.Time) (*ledger.Stored, error) {
	v, err := tx.Get(keysByName, key)
	if err != nil || v == nil || expired(v, now) {
		return nil, err
	}
	s := &ledger.Stored{Key: ledger.Key{Key: key, Method: v.Text(2)}, Result: v.Blob(4), Seq: v.Int(5)}
	copy(s.Key.Hash[:], v.Blob(3))
	return s, nil
}

func expired(v ledger.Values, now time.Time) bool { return v.Int(6) <= now.Add(-keyAge).UnixMilli() }

// key writes the unit's key, if it has one, and trims old ones. first is the seq
// of the unit's first draft.
func (b *batch) key(u *ledger.Unit, first, seq int64) error {
	if u.Key == nil {
		return nil
	}
	now := b.w.now()
	old, err := b.tx.Get(keysByName, u.Key.Key) // if there is one, it has expired
	if err == nil && old != nil {
		err = b.tx.Delete(keyTable, old.Int(0))
	}
	if err != nil {
		return err
	}
	b.newestKey++
	if err := b.tx.Put(&keyRow{id: b.newestKey, key: u.Key, result: notify.Fill(u.Result, u.Holes, first), seq: seq, at: now}, 0, 0); err != nil {
		return err
	}
	looked, drop := 0, make([]int64, 0, keyTrim)
	if err := b.tx.Scan(ledger.Range{Index: keysByAge}, func(v ledger.Values) error {
		if looked++; looked > keyTrim {
			return ledger.ErrEnough
		}
		if expired(v, now) || v.Int(0) <= b.newestKey-b.w.KeepKeys {
			drop = append(drop, v.Int(0))
		}
		return nil
	}); err != nil {
		return err
	}
	for _, id := range drop {
		if err := b.tx.Delete(keyTable, id); err != nil {
			return err
		}
	}
	return nil
}

// keyRow is the row of an idempotency key. It never changes.
type keyRow struct {
	id     int64
	key    *ledger.Key
	result []byte
	seq    int64
	at     time.Time
}

func (k *keyRow) Table() *ledger.Table { return keyTable }
func (k *keyRow) ID() any              { return k.id }
func (k *keyRow) New() bool            { return true }
func (k *keyRow) Bytes() int           { return len(k.result) }
func (k *keyRow) Settle(int64)         {}
func (k *keyRow) Values(int64) (ledger.Values, error) {
	return ledger.Values{k.id, k.key.Key, k.key.Method, k.key.Hash[:], k.result, k.seq, k.at.UnixMilli()}, nil
}
