package servers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seed82539d15/holon/internal/host"
	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/rpc/client"
)

func TestMain(m *testing.M) {
	hosttest.Main(map[string]func(string) error{"serve": pretend})
	os.Exit(m.Run())
}

// pretend has a data directory open, as a server has it, until its stdin ends.
func pretend(data string) error {
	store, err := sqlite.Open(sqlite.Options{Dir: data})
	if err != nil {
		return err
	}
	if err := record(data, host.Self()); err != nil {
		return errors.Join(err, store.Close())
	}
	fmt.Println("serves")
	_, err = os.Stdin.Read(make([]byte, 1))
	return errors.Join(err, store.Close())
}

// record writes a server.json.
func record(data string, p host.Process) error {
	text, err := json.Marshal(client.ServerRecord{Process: p, URLs: []string{"http://127.0.0.1:1"}})
	if err != nil {
		return err
	}
	return os.WriteFile(client.ServerFile(data), text, 0o600)
}

// serve starts a process that pretends.
func serve(t *testing.T, attr *syscall.SysProcAttr, data string) *hosttest.Child {
	t.Helper()
	child, err := hosttest.Start(t, attr, "serve", data)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := child.Line(); line != "serves" {
		t.Fatalf("%q, %v", line, err)
	}
	return child
}

func TestFindIsSureOfTheProcess(t *testing.T) {
	data := t.TempDir()
	var none *client.NoServerError
	if _, err := Find(data); !errors.As(err, &none) {
		t.Errorf("an empty directory: %v", err)
	}
	serve(t, nil, data)
	found, err := Find(data)
	if err != nil || !found.Alive() || found.Data != data {
		t.Fatalf("found %+v, %v", found, err)
	}
	other := found.Process
	other.StartTicks++
	bystander := host.Self()
	for name, p := range map[string]host.Process{"of a process before it": other, "of another process": bystander} {
		if p.StartTicks == 1 {
			continue // the system does not say when a process was started
		}
		if err := record(data, p); err != nil {
			t.Fatal(err)
		}
		var unknown *NotServingError
		if found, err := Find(data); !errors.As(err, &unknown) || unknown.PID != other.PID {
			t.Errorf("with the record %s: %+v, %v", name, found, err)
		}
	}
	if err := os.Remove(client.ServerFile(data)); err != nil {
		t.Fatal(err)
	}
	var unknown *NotServingError
	if _, err := Find(data); !errors.As(err, &unknown) {
		t.Errorf("without a record: %v", err)
	}
	if err := os.WriteFile(client.ServerFile(data), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(data); err == nil || errors.As(err, &unknown) {
		t.Errorf("with a broken record: %v", err)
	}
}

func TestFindAfterAKill(t *testing.T) {
	data := t.TempDir()
	p := host.Self()
	p.StartTicks++ // it has ended
	if err := record(data, p); err != nil {
		t.Fatal(err)
	}
	var none *client.NoServerError
	if _, err := Find(data); !errors.As(err, &none) || none.GonePID != p.PID {
		t.Errorf("%v", err)
	}
}

// Root could send any signal, but the record is the other user's, who could name any
// process in it.
func TestTheServerOfAnotherUserIsNotFound(t *testing.T) {
	hosttest.NeedRoot(t)
	dir, err := os.MkdirTemp("", "servers")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(data, 0o700), os.Chown(data, hosttest.OtherUID, hosttest.OtherUID)); err != nil {
		t.Fatal(err)
	}
	serve(t, hosttest.AsUser(hosttest.OtherUID), data)
	var other *OtherUserError
	if found, err := Find(data); !errors.As(err, &other) || other.UID != hosttest.OtherUID {
		t.Errorf("found %+v, %v", found, err)
	}
}
