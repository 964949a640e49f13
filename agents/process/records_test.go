package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
)

func started(t *testing.T, command ...string) *Group {
	t.Helper()
	cmd, err := Command(command, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Discard)
	return g
}

func opened(t *testing.T) (*Records, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data", "processes")
	r, err := OpenRecords(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

func TestRecordIsThereFromAddToRemove(t *testing.T) {
	r, dir := opened(t)
	g := started(t, "cat")
	remove, err := r.Add(g, []string{"cat", "\xff", strings.Repeat("x", 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	name := strconv.Itoa(g.PID())
	if got := names(t, dir); !slices.Equal(got, []string{name}) {
		t.Fatalf("files %v", got)
	}
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() > 3*maxShown {
		t.Errorf("%v, %v", info, err)
	}
	g.Kill()
	g.End()
	remove()
	remove()
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left %v", got)
	}
	if _, err := r.Add(g, nil); err == nil {
		t.Error("a group that has ended was recorded")
	}
}

// The leader of the second group has the number of the first, which was reaped,
// but whose remove is called late.
func TestLateRemoveLeavesTheRecordOfTheNextGroupWithTheNumber(t *testing.T) {
	r, dir := opened(t)
	for _, mark := range []string{"FIRST", "SECOND"} {
		temp, err := r.write(record{Group: 4711, Mark: mark})
		if err == nil {
			err = r.publish(record{Group: 4711, Mark: mark}, temp)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r.remove(record{Group: 4711, Mark: "FIRST"})
	if len(names(t, dir)) != 1 {
		t.Error("the record of the second is gone")
	}
	r.remove(record{Group: 4711, Mark: "SECOND"})
	if len(names(t, dir)) != 0 {
		t.Error("the record of the second stays")
	}
}

func TestManyGroupsAreRecordedAtOnce(t *testing.T) {
	r, dir := opened(t)
	var wg sync.WaitGroup
	for range 16 {
		g := started(t, "cat")
		wg.Go(func() {
			remove, err := r.Add(g, []string{"cat"})
			if err != nil {
				t.Error(err)
				return
			}
			g.Stop(Ladder{EOF: patience, Term: patience})
			remove()
		})
	}
	wg.Wait()
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left %v", got)
	}
}

func TestRecordThatCannotBeWrittenIsAnError(t *testing.T) {
	r, dir := opened(t)
	g := started(t, "cat")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Add(g, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Add: %v", err)
	}
	if _, err := r.EndSurvivors(t.Context(), zap.NewNop()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("EndSurvivors: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRecords(file); err == nil {
		t.Error("a file was opened as a folder")
	}
}

func TestNoRecordsRecordNothing(t *testing.T) {
	var r *Records
	remove, err := r.Add(started(t, "cat"), nil)
	if err != nil {
		t.Fatal(err)
	}
	remove()
	if ended, err := r.EndSurvivors(t.Context(), zap.NewNop()); ended != 0 || err != nil {
		t.Errorf("%d, %v", ended, err)
	}
}

func BenchmarkAdd(b *testing.B) {
	r, err := OpenRecords(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	cmd, err := Command([]string{"cat"}, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	g, err := Start(cmd)
	if err != nil {
		b.Fatal(err)
	}
	defer g.Discard()
	for b.Loop() {
		remove, err := r.Add(g, []string{"cat"})
		if err != nil {
			b.Fatal(err)
		}
		remove()
	}
}
