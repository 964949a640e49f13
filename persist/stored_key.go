package persist

import (
	"time"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Idempotency keys are kept for some days and up to a number, in all and of each
// requester. Each new key removes a few old ones, so that trimming never delays a commit.
const (
	keyAge  = limits.IdempotencyKeysFor
	keyTrim = 4
)

// keyTable is where idempotency keys are stored, in the order of their use.
var keyTable = ledger.NewTable(ledger.Table{
	Name:    "idempotency",
	Columns: []string{"id", "key", "method", "hash", "result", "seq", "created_at", "requester", "number"},
	Key:     []string{"id"},
})

var (
	keysByName      = &ledger.Index{Table: keyTable, Unique: true, Columns: []string{"key"}}
	keysByAge       = &ledger.Index{Table: keyTable, Columns: []string{"id"}}
	keysByRequester = &ledger.Index{Table: keyTable, Name: "idempotency_requester", Columns: []string{"requester", "number"}}
)

// Keys says how many idempotency keys a log has stored, and the id of the newest.
type Keys struct{ Newest, Stored int64 }

// StoredKey looks up a key; nil if it has not been used or has expired.
func StoredKey(tx ledger.Reader, key string, now time.Time) (*ledger.Stored, error) {
	v, err := tx.Get(keysByName, key)
	if err != nil || v == nil || expired(v, now) {
		return nil, err
	}
	s := &ledger.Stored{Key: ledger.Key{Key: key, Method: v.Text(2), Requester: ledger.Requester(v.Text(7))}, Result: v.Blob(4), Seq: v.Int(5)}
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
		err = b.dropKey(old.Int(0))
	}
	if err != nil {
		return err
	}
	number, err := b.trimShare(u.Key.Requester)
	if err != nil {
		return err
	}
	b.keys.Newest++
	b.keys.Stored++
	if err := b.tx.Put(&keyRow{
		id: b.keys.Newest, key: u.Key, number: number, result: notify.Fill(u.Result, u.Holes, first), seq: seq, at: now,
	}, 0, 0); err != nil {
		return err
	}
	over := b.keys.Stored - b.w.KeepKeys
	return b.trimKeys(ledger.Range{Index: keysByAge}, func(v ledger.Values) bool {
		over--
		return over >= 0 || expired(v, now)
	})
}

// trimShare makes room for another key in the share of a requester, and returns its
// number. The numbers of a requester's keys have gaps only where one was used again
// after it expired, so the newest and the oldest say how many there are at most.
func (b *batch) trimShare(requester ledger.Requester) (number int64, err error) {
	if requester == "" {
		return 0, nil
	}
	own := ledger.Range{Index: keysByRequester, Prefix: []any{string(requester)}}
	newest := own
	newest.Newest = true
	if err := b.tx.Scan(newest, func(v ledger.Values) error {
		number = v.Int(8)
		return ledger.ErrEnough
	}); err != nil {
		return 0, err
	}
	number++
	return number, b.trimKeys(own, func(v ledger.Values) bool { return v.Int(8) <= number-b.w.KeepKeysEach })
}

// trimKeys drops the oldest keys of a range that are to go, at most keyTrim.
func (b *batch) trimKeys(r ledger.Range, goes func(ledger.Values) bool) error {
	looked, drop := 0, make([]int64, 0, keyTrim)
	if err := b.tx.Scan(r, func(v ledger.Values) error {
		if looked++; looked > keyTrim {
			return ledger.ErrEnough
		}
		if goes(v) {
			drop = append(drop, v.Int(0))
		}
		return nil
	}); err != nil {
		return err
	}
	for _, id := range drop {
		if err := b.dropKey(id); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) dropKey(id int64) error {
	b.keys.Stored--
	return b.tx.Delete(keyTable, id)
}

// keyRow is the row of an idempotency key. It never changes.
type keyRow struct {
	id     int64
	key    *ledger.Key
	number int64 // among the keys of its requester; 0 = the owner's
	result []byte
	seq    int64
	at     time.Time
}

func (k *keyRow) Table() *ledger.Table { return keyTable }
func (k *keyRow) ID() any              { return k.id }
func (k *keyRow) New() bool            { return true }
func (k *keyRow) Bytes() int           { return len(k.result) }
func (k *keyRow) AssignSeqs(int64)     {}
func (k *keyRow) Values(int64) (ledger.Values, error) {
	return ledger.Values{k.id, k.key.Key, k.key.Method, k.key.Hash[:], k.result, k.seq, k.at.UnixMilli(), string(k.key.Requester), k.number}, nil
}
