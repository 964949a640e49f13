package worktree

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// The bounds of a process.
const (
	maxTime   = 2 * time.Second
	maxOutput = 4 << 20 // about 50,000 files
	niceness  = 10      // agents go first
)

// prepare makes an empty git directory. Its configuration is used for all repositories,
// because that of a repository can name programs: clean filters, a monitor, drivers. An
// agent may have written it, and the server must not run what an agent in a container
// chooses.
func (c *Cache) prepare() error {
	for _, name := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(c.own, name), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(c.own, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.own, "config"), []byte("[core]\n\trepositoryformatversion = 0\n\tbare = false\n"), 0o600)
}

// read reads what git says of a directory.
func (c *Cache) read(ctx context.Context, dir string) (*State, error) {
	r, err := find(dir)
	if err != nil {
		return nil, err
	}
	branch, commit, err := r.head()
	if err != nil {
		return nil, err
	}
	out, err := c.diff(ctx, r, commit)
	if err != nil {
		return nil, err
	}
	s := &State{Branch: branch}
	s.Added, s.Removed = count(out)
	if out, err = c.untracked(ctx, r); err == nil { // without it the branch and the lines are known
		s.New = int64(bytes.Count(out, []byte{0}))
	}
	return s, nil
}

// diff compares the work tree with a commit.
func (c *Cache) diff(ctx context.Context, r *repository, commit string) ([]byte, error) {
	return c.run(ctx, r, "diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-renames", "--numstat", "-z", commit, "--")
}

// untracked lists what is new in the work tree. A directory in which all is new is not gone
// through: it is one name. What the user of the server lets git ignore in every repository is
// ignored, if it is in the file where git looks for it by itself.
func (c *Cache) untracked(ctx context.Context, r *repository) ([]byte, error) {
	config := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(os.Getenv("HOME"), ".config")
	}
	args := []string{"ls-files", "--others", "--directory", "--no-empty-directory", "--exclude-per-directory=.gitignore", "-z"}
	for _, exclude := range []string{filepath.Join(config, "git", "ignore"), filepath.Join(r.common, "info", "exclude")} { // the last one counts most
		if f, err := open(exclude); err == nil {
			_ = f.Close() // git reads it
			args = append(args, "--exclude-from="+exclude)
		}
	}
	return c.run(ctx, r, args...)
}

// run runs git, which gets the repository's objects and index, and nothing else of it. It
// writes nothing, fetches nothing and asks no questions.
func (c *Cache) run(ctx context.Context, r *repository, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.maxTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.git, append([]string{"--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"}, args...)...)
	cmd.Dir = r.root
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C",
		"GIT_DIR=" + c.own, "GIT_WORK_TREE=" + r.root,
		"GIT_INDEX_FILE=" + filepath.Join(r.dir, "index"), "GIT_OBJECT_DIRECTORY=" + filepath.Join(r.common, "objects"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out bounded
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, cmd.Process.Pid, niceness) // else it runs as the server does
	err := cmd.Wait()
	_ = cmd.Cancel() // whatever it has left behind; usually there is nothing
	return out.Bytes(), err
}

// bounded is an output of at most maxOutput bytes. A process that writes more ends.
type bounded struct{ bytes.Buffer }

var errTooLong = errors.New("too much output")

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutput {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}

// count adds up the lines of a numstat. Binary files have none.
func count(out []byte) (added, removed int64) {
	for line := range bytes.SplitSeq(out, []byte{0}) {
		fields := bytes.SplitN(line, []byte{'\t'}, 3)
		if len(fields) < 3 {
			continue
		}
		a, errA := strconv.ParseInt(string(fields[0]), 10, 64)
		r, errR := strconv.ParseInt(string(fields[1]), 10, 64)
		if errA == nil && errR == nil {
			added, removed = added+a, removed+r
		}
	}
	return added, removed
}
