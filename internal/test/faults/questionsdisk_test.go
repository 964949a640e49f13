//go:build linux

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// separateDisk mounts a disk of this size on p.data, in a mount namespace that
// outlives the servers in it, and returns the command that starts a server there.
func (p *testbed) separateDisk(t testing.TB, size string) (wrap []string) {
	t.Helper()
	need(t, "mount")
	if err := os.MkdirAll(p.data, 0o700); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("mount -t tmpfs -o mode=0700,size=%s tmpfs %s && echo mounted && exec cat", size, p.data)
	holder := exec.Command("unshare", "-m", "sh", "-c", script)
	holder.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // cat ends, and the namespace with it
		_ = holder.Wait()
	})
	if _, err := out.Read(make([]byte, len("mounted"))); err != nil {
		t.Fatalf("mount a disk of %s: %v", size, err)
	}
	return []string{"nsenter", "-t", strconv.Itoa(holder.Process.Pid), "-m", "--"}
}

// Questions outlive a server whose disk is full: it stops or is killed then, and is started
// while the disk is still full, which it refuses. Answers are refused, too. With space again,
// what was open is open, or its turn goes on, or it is in the list of what the restart has
// ended. RUNS=20 (make soak-questions) does it 20 times in each way.
func TestQuestionsOutliveAFullDisk(t *testing.T) {
	t.Parallel()
	for n := range questionRuns() {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			p := newTestbed(t)
			f := &fullDisk{testbed: p, sig: sig, launch: launch{args: p.askers(t), wrap: p.separateDisk(t, "12m")}}
			f.survives(t, n%2 == 1)
		}
	}
}

// fullDisk is a server with a disk of its own.
type fullDisk struct {
	*testbed
	launch launch
	sig    syscall.Signal // that ends it
	s      *server
}

func (f *fullDisk) survives(t *testing.T, speaks bool) {
	t.Helper()
	f.restart(t)
	list := f.s.ask(t, "", speaks)
	f.fill(t)
	f.refuses(t, list)
	f.endsAndStarts(t)
	for _, a := range list[1:] {
		f.s.outlived(t, a, f.sig)
	}
	waits := list[:1] // once more, without a process
	f.fill(t)
	f.refuses(t, waits)
	f.endsAndStarts(t)
	f.fill(t)
	f.refuses(t, waits)
	f.makeSpace(t) // and without a restart
	f.resume(t)
	f.s.outlived(t, waits[0], f.sig)
	if err := f.s.idle(startWithin); err != nil {
		t.Fatal(err)
	}
	f.s.inside(t, binary, "doctor", "--refold", "--data", f.data)
	f.s.stop(t)
}

// endsAndStarts ends the server on the full disk, and starts it there: it refuses that, and
// says why. Then it starts with space.
func (f *fullDisk) endsAndStarts(t *testing.T) {
	t.Helper()
	if err := f.s.signal(f.sig); err != nil || !f.s.wait(startWithin) {
		t.Fatalf("%v: %v\n%s", f.sig, err, f.s.stderr.tail())
	}
	refused := f.testbed.launch(t, f.launch)
	if !refused.wait(startWithin) || refused.status == nil || !strings.Contains(refused.stderr.String(), "Make space on that disk") {
		t.Fatalf("%v: a start on a full disk: %v\n%s", f.sig, refused.status, refused.stderr.tail())
	}
	f.makeSpace(t)
	f.restart(t)
	f.resume(t)
}

// restart starts the server and waits until it answers.
func (f *fullDisk) restart(t *testing.T) {
	t.Helper()
	f.s = f.testbed.launch(t, f.launch)
	if err := f.s.ready(startWithin); err != nil {
		t.Fatalf("%v: %v\n%s", f.sig, err, f.s.stderr.tail())
	}
}

// fill fills the disk, for the smallest change too.
func (f *fullDisk) fill(t *testing.T) {
	t.Helper()
	f.s.inside(t, "sh", "-c", "cat /dev/zero >"+f.ballast()+" 2>/dev/null; true")
	fillUp(t, f.s)
	fillGap(t, f.s)
}

// ballast is the file that fills the disk.
func (f *fullDisk) ballast() string { return filepath.Join(f.data, "ballast") }

// makeSpace makes space again, also where no server is.
func (f *fullDisk) makeSpace(t *testing.T) {
	t.Helper()
	args := append(slices.Clone(f.launch.wrap[1:]), "rm", f.ballast())
	if out, err := exec.Command(f.launch.wrap[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("make space: %v\n%s", err, out)
	}
}

// resume ends the pause in which fill may have left the server.
func (f *fullDisk) resume(t *testing.T) {
	t.Helper()
	eventually(t, "the server takes changes again", func() bool {
		_, err := f.s.call("holon/resume", object{})
		return err == nil
	})
}

// refuses checks that answers are refused.
func (f *fullDisk) refuses(t *testing.T, list []*asking) {
	t.Helper()
	for _, a := range list {
		if _, err := f.s.call("item/respond", object{"item_id": a.itemID, "kind": "allow_once"}); kindOf(err) != "storage_full" {
			t.Errorf("an answer to %s on a full disk: %v", a.agent, err)
		}
	}
}
