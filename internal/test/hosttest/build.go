package hosttest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Build builds a package of this module, such as "./cmd/holon", with flags such as -race,
// and returns the path of the program: a copy in dir, under the package's last name.
//
// To link the command takes seconds of all processors, and the tests of eight packages
// need it. So what was built stays in bin/test of the module, where go sees whether it is
// still what it would build; packages that are tested at a time wait for each other.
func Build(dir, pkg string, flags ...string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	kept := filepath.Join(root, "bin", "test", strings.Join(flags, ""))
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(kept, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close() // and with it the lock ends
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	name := filepath.Base(pkg)
	kept = filepath.Join(kept, name)
	build := exec.Command("go", slices.Concat([]string{"build", "-o", kept}, flags, []string{pkg})...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	path := filepath.Join(dir, name)
	return path, copyProgram(path, kept)
}

// moduleRoot returns the folder of go.mod above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod in this folder or above it")
		}
		dir = up
	}
}

func copyProgram(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if failed := out.Close(); err == nil {
		err = failed
	}
	return err
}
