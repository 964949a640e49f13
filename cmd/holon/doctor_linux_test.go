package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// readOnlyDir names the data directory in the test's second process, which has
// its own mounts.
const readOnlyDir = "HOLON_TEST_READ_ONLY_DIR"

func TestDoctorSeesAReadOnlyDisk(t *testing.T) {
	if dir := os.Getenv(readOnlyDir); dir != "" {
		doctorOnReadOnly(t, dir)
		return
	}
	if os.Getuid() != 0 {
		hosttest.Need(t, "only root can mount read-only")
	}
	s := startServer(t)
	if err := os.Chmod(s.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if out := s.want("doctor", "--all", "--skip-agents"); !strings.Contains(out, "this user can write "+s.data) {
		t.Errorf("on a disk that can be written:\n%s", out)
	}
	inNamespace(t, s.data)
	s.stop() // now there is no -wal any more, without which SQLite opens nothing here
	inNamespace(t, s.data)
}

func inNamespace(t *testing.T, dir string) {
	t.Helper()
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDoctorSeesAReadOnlyDisk$", "-test.v")
	again.Env = append(os.Environ(), readOnlyDir+"="+dir)
	again.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestDoctorSeesAReadOnlyDisk") {
		t.Errorf("%v\n%s", err, out)
	}
}

// doctorOnReadOnly runs in its own mount namespace.
func doctorOnReadOnly(t *testing.T, dir string) {
	for _, m := range []struct {
		source, target string
		flags          uintptr
	}{
		{"", "/", syscall.MS_REC | syscall.MS_PRIVATE},
		{dir, dir, syscall.MS_BIND},
		{"", dir, syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY},
	} {
		if err := syscall.Mount(m.source, m.target, "", m.flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	if r := holon(t, dir, "", "doctor", "--skip-agents"); r.code != exitFailed || !strings.Contains(r.out+r.err, dir+" cannot be written: read-only file system") {
		t.Errorf("doctor: %+v", r)
	}
	if r := holon(t, dir, "", "serve", "--listen=127.0.0.1:0"); r.code != exitFailed || !strings.Contains(r.err, "Let this user read and write it") {
		t.Errorf("serve: %+v", r)
	}
}
