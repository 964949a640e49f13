package process

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Reason says why a command could not be started.
type Reason string

// The reasons.
const (
	NotFound      Reason = "not_found"      // no such command
	NotExecutable Reason = "not_executable" // a file, but not one that may be executed
	NoProgram     Reason = "no_program"     // a file that the system cannot run
	BadCwd        Reason = "bad_cwd"        // the working directory
	NotStarted    Reason = "not_started"    // anything else: limits, memory, pipes
)

// StartError says, for a person, why a command could not be started and what
// to do. Err is the cause, nil if there is none besides Message.
type StartError struct {
	Reason  Reason
	Message string
	Err     error
}

// Error implements error.
func (e *StartError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Command returns a command that is not started yet. A name without a slash is
// looked up in the server's PATH, a relative path with one in dir, which must
// be absolute. The caller sets Env (see Environment); Start sets the rest.
// Errors are *StartError.
func Command(command []string, dir string) (*exec.Cmd, error) {
	if len(command) == 0 || command[0] == "" {
		return nil, &StartError{Reason: NotFound, Message: "the command is empty"}
	}
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	if cmd.Err != nil {
		return nil, startError(command[0], cmd.Err)
	}
	cmd.Dir = dir
	return cmd, nil
}

// Directory returns the directory in which an agent works for a thread: in the
// thread's cwd, else in the agent's own, else in the server's. Those that are given
// are absolute, "" is none. An error is for a person: the server's directory is gone.
func Directory(threads, agents string) (string, error) {
	if dir := cmp.Or(threads, agents); dir != "" {
		return dir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("the server's working directory is gone; give the thread a cwd: %w", err)
	}
	return dir, nil
}

func checkDir(dir string) error {
	bad := func(err error, format string, args ...any) error {
		return &StartError{Reason: BadCwd, Message: fmt.Sprintf(format, args...), Err: err}
	}
	if !filepath.IsAbs(dir) {
		return bad(nil, "the working directory %q is relative; give an absolute path", dir)
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return bad(err, "the working directory %q does not exist", dir)
	case err != nil:
		return bad(err, "the working directory %q cannot be used: %v", dir, err)
	case !info.IsDir():
		return bad(nil, "the working directory %q is no directory", dir)
	}
	return nil
}

// startError turns an error of os/exec into a StartError.
func startError(name string, err error) *StartError {
	say := func(reason Reason, format string, args ...any) *StartError {
		return &StartError{Reason: reason, Message: fmt.Sprintf(format, args...), Err: err}
	}
	var pathErr *fs.PathError
	switch {
	case errors.As(err, &pathErr) && pathErr.Op == "chdir":
		return say(BadCwd, "the working directory %q cannot be entered: %v", pathErr.Path, pathErr.Err)
	case errors.Is(err, exec.ErrNotFound):
		return say(NotFound, "the command %q was not found in the server's PATH", name)
	case errors.Is(err, exec.ErrDot):
		return say(NotFound, "the command %q was found only in the working directory; write ./%s", name, name)
	case errors.Is(err, fs.ErrNotExist):
		return say(NotFound, "the command %q does not exist, or the interpreter that its first line names does not", name)
	case errors.Is(err, fs.ErrPermission):
		return say(NotExecutable, "the command %q may not be executed: permission denied", name)
	case errors.Is(err, syscall.ENOEXEC):
		return say(NoProgram, "the command %q is no program this system can run; a script needs a first line such as #!/bin/sh", name)
	}
	return say(NotStarted, "the command %q cannot be started: %v", name, err)
}
