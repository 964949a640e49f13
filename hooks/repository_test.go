package hooks

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/persist/sqlite"
)

// disk is a Store on a real disk that can fail.
type disk struct {
	*sqlite.Store
	*sqlite.Reader
	fails error
}

func (d *disk) Append(u *ledger.Unit) (ledger.Receipt, error) {
	if d.fails != nil {
		return ledger.Receipt{}, d.fails
	}
	return d.Store.Append(u)
}

// onDisk calls f while a store in dir runs.
func onDisk(t *testing.T, dir string, f func(d *disk)) {
	t.Helper()
	s, err := sqlite.Open(sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	f(&disk{Store: s, Reader: s.Reader()})
	cancel()
	if err := errors.Join(<-done, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// refs are the groups of comments on the pull request 135 of these repositories,
// which arrive at one source after the other.
func refs(t *testing.T, d *disk, source string, repositories ...int) (list []string) {
	t.Helper()
	h, err := New(Config{Sources: []Source{{Name: source, Kind: KindGitHub, Secret: ghSecret}}, Store: d})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range repositories {
		it, _ := github(t, h.sources[source].Compiled, "pull_request_review_comment", fmt.Sprintf(`{"action": "created",
			"repository": {"id": %d, "full_name": "octo/%d"}, "comment": {"body": "x"}, "pull_request": {"number": 135, "title": "Fix"}}`, id, id))
		list = append(list, it.Grouping.ResourceRef)
	}
	return list
}

// The groups of two repositories must not meet because the server was restarted
// and the other one sent first.
func TestFirstRepositoryOfASourceIsKeptAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct {
		source string
		sent   []int
		want   string
	}{
		{"gh", []int{1, 2, 1}, "[pr:135 octo/2#pr:135 pr:135]"},
		{"gh", []int{2, 1, 3}, "[octo/2#pr:135 pr:135 octo/3#pr:135]"},
		{"hub", []int{2, 1}, "[pr:135 octo/1#pr:135]"},
		{"gh", []int{3, 2}, "[octo/3#pr:135 octo/2#pr:135]"},
	} {
		onDisk(t, dir, func(d *disk) {
			if got := fmt.Sprint(refs(t, d, c.source, c.sent...)); got != c.want {
				t.Errorf("start %d: %s, want %s", i, got, c.want)
			}
		})
	}
}

// A repository that could not be kept as the first may not be the first after the
// next start.
func TestRepositoryThatCannotBeKeptHasItsNameInFront(t *testing.T) {
	onDisk(t, t.TempDir(), func(d *disk) {
		d.fails = ledger.ErrStorageFull
		if got := fmt.Sprint(refs(t, d, "gh", 1, 1)); got != "[octo/1#pr:135 octo/1#pr:135]" {
			t.Error(got)
		}
		d.fails = nil
		if got := fmt.Sprint(refs(t, d, "gh", 2, 1)); got != "[pr:135 octo/1#pr:135]" {
			t.Error(got)
		}
	})
}
