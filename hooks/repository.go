package hooks

import (
	"context"
	"sync"

	"github.com/seed82539d15/holon/ledger"
)

// Store keeps what a source remembers. Its methods are called from many goroutines.
type Store interface {
	// Append commits a unit.
	Append(*ledger.Unit) (ledger.Receipt, error)
	// Read calls f with the rows of one snapshot.
	Read(ctx context.Context, f func(ledger.Reader) error) error
}

// repository keeps which repository of a source came first, over restarts too: its
// groups must not become those of another one after a restart.
//
// A group is found by its source and its resource_ref, which is pr:135 in every
// repository. A source is meant for one repository. Where it serves several,
// because the webhook is one of an organisation or an app, or because a second
// repository uses it, the repository goes in front of pr:135: two pull requests
// must never be in one group.
type repository struct {
	source string
	store  Store // nil = it is remembered while the source is in use

	mu    sync.Mutex
	first int // 0 = not known
}

func (r *repository) prefix(repo object, target string) string {
	id, name := repo.id("id"), repo.text("full_name")
	if id == 0 || name == "" {
		return ""
	}
	if (target == "" || target == "repository") && r.isFirst(id) {
		return ""
	}
	return name + "#"
}

// isFirst reports whether the repository is the first one. If none has come
// before, it becomes that, durably; while this fails, it is not.
func (r *repository) isFirst(id int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == 0 {
		first, err := r.keep(id)
		if err != nil {
			return false
		}
		r.first = first
	}
	return r.first == id
}

// keep returns the first repository of the source. If there is none, it is id.
func (r *repository) keep(id int) (first int, err error) {
	if r.store == nil {
		return id, nil
	}
	if err := r.store.Read(context.Background(), func(tx ledger.Reader) error {
		v, err := tx.Get(repositoryOf, r.source)
		if v != nil {
			first = int(v.Int(1))
		}
		return err
	}); err != nil || first != 0 {
		return first, err
	}
	_, err = r.store.Append(&ledger.Unit{Rows: []ledger.Row{&firstRow{r.source, id}}})
	return id, err
}

var (
	repositories = ledger.NewTable(ledger.Table{
		Name: "hook_repositories", Columns: []string{"source", "repository"}, Key: []string{"source"}, Mutable: []string{"repository"}, Unique: ledger.ErrStale,
	})
	repositoryOf = &ledger.Index{Table: repositories, Unique: true, Columns: []string{"source"}}
)

// firstRow is the first repository of a source as it is stored. It is written
// once.
type firstRow struct {
	source     string
	repository int
}

// Table implements ledger.Row.
func (r *firstRow) Table() *ledger.Table { return repositories }

// ID implements ledger.Row.
func (r *firstRow) ID() any { return r.source }

// New implements ledger.Row.
func (r *firstRow) New() bool { return true }

// Values implements ledger.Row.
func (r *firstRow) Values(int64) (ledger.Values, error) {
	return ledger.Values{r.source, int64(r.repository)}, nil
}

// AssignSeqs implements ledger.Row.
func (r *firstRow) AssignSeqs(int64) {}

// Bytes implements ledger.Row.
func (r *firstRow) Bytes() int { return len(r.source) }
