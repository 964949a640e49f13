package servers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed82539d15/holon/internal/host"
	"github.com/seed82539d15/holon/rpc/client"
)

func entry(data string, p host.Process) Entry {
	return Entry{ServerRecord: client.ServerRecord{Process: p, URLs: []string{"http://127.0.0.1:1"}}, Data: data}
}

func TestOnlyServersThatRunAreListed(t *testing.T) {
	r := At(t.TempDir())
	gone := host.Self()
	gone.StartTicks++ // another process has the number now
	for _, e := range []Entry{entry("/b", host.Self()), entry("/a", host.Self()), entry("/gone", gone)} {
		if err := r.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(string(r), "broken.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := r.List()
	if len(got) != 2 || got[0].Data != "/a" || got[1].Data != "/b" {
		t.Fatalf("listed are %+v", got)
	}
	info, err := os.Stat(r.file("/a"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the entry has mode %v, %v", info.Mode(), err)
	}
	if err := r.Remove("/a"); err != nil {
		t.Fatal(err)
	}
	if got := r.List(); len(got) != 1 || got[0].Data != "/b" {
		t.Errorf("after its removal listed are %+v", got)
	}
}

func TestTheEntryOfAnotherServerStays(t *testing.T) {
	r := At(t.TempDir())
	other := host.Self()
	other.PID = os.Getppid()
	other.StartTicks = 0
	if err := r.Add(entry("/a", other)); err != nil {
		t.Fatal(err)
	}
	if err := r.Remove("/a"); err != nil {
		t.Fatal(err)
	}
	if got := r.List(); len(got) != 1 {
		t.Errorf("listed are %+v", got)
	}
}

func TestWithoutARuntimeDirectoryThereIsNoRegistry(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"", "relative"} {
		r := At(dir)
		if err := r.Add(entry("/a", host.Self())); err != nil {
			t.Error(err)
		}
		if err := r.Remove("/a"); err != nil {
			t.Error(err)
		}
		if got := r.List(); got != nil {
			t.Errorf("listed are %+v", got)
		}
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("files were written: %v, %v", files, err)
	}
}
