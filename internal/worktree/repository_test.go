package worktree

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// git runs git in a directory, with nobody's configuration.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, text string, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// repo makes a repository with one commit of one file.
func repo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repo")
	write(t, "one\ntwo\n", dir, "file")
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "first")
	return dir
}

// reader makes a cache that can read, without running it.
func reader(t *testing.T) *Cache {
	t.Helper()
	c := New(filepath.Join(t.TempDir(), "own"))
	if c.git == "" {
		t.Skip("there is no git on this machine")
	}
	c.maxTime = time.Minute // a busy machine is no error here
	if err := c.prepare(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStateOfADirectory(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string) string // changes the repository, and returns the directory to read
		want State
	}{
		"clean": {func(_ *testing.T, dir string) string { return dir }, State{"main", 0, 0, 0}},
		"changed, from a directory in it": {func(t *testing.T, dir string) string {
			write(t, "one\n2\n3\n", dir, "file")
			write(t, "not tracked\n", dir, "sub", "new")
			return filepath.Join(dir, "sub")
		}, State{"main", 2, 1, 1}},
		"new files": {func(t *testing.T, dir string) string {
			write(t, "*.log\nbuild/\n", dir, ".gitignore")
			write(t, "secret\n", dir, ".git", "info", "exclude")
			config := t.TempDir()
			t.Setenv("XDG_CONFIG_HOME", config)
			write(t, "*.swp\n", config, "git", "ignore")
			for _, name := range []string{"a", "b.log", "secret", "c.swp", "build/c", "all/new/d", "all/new/e"} {
				write(t, "new\n", dir, filepath.FromSlash(name))
			}
			return dir
		}, State{"main", 0, 0, 3}}, // .gitignore, a and all/
		"staged, removed and binary files": {func(t *testing.T, dir string) string {
			write(t, "a\nb\nc\n", dir, "staged")
			write(t, "\x00\x01", dir, "binary")
			git(t, dir, "add", ".")
			if err := os.Remove(filepath.Join(dir, "file")); err != nil {
				t.Fatal(err)
			}
			return dir
		}, State{"main", 3, 2, 0}},
		"a branch with a slash, packed": {func(t *testing.T, dir string) string {
			git(t, dir, "checkout", "-qb", "fix/it")
			git(t, dir, "pack-refs", "--all")
			git(t, dir, "gc", "-q")
			write(t, "", dir, "file")
			return dir
		}, State{"fix/it", 0, 2, 0}},
		"a linked work tree": {func(t *testing.T, dir string) string {
			linked := filepath.Join(t.TempDir(), "linked")
			git(t, dir, "worktree", "add", "-q", "-b", "other", linked)
			write(t, "changed here\n", linked, "file")
			write(t, "", dir, "file")
			return linked
		}, State{"other", 1, 2, 0}},
		"no commit yet": {func(t *testing.T, dir string) string {
			fresh := t.TempDir()
			git(t, fresh, "init", "-q", "-b", "trunk")
			write(t, "a\n", fresh, "a")
			git(t, fresh, "add", "a")
			return fresh
		}, State{"trunk", 1, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			r := reader(t)
			got, err := r.read(context.Background(), c.make(t, repo(t)))
			if err != nil || *got != c.want {
				t.Errorf("%+v, %v, want %+v", got, err, c.want)
			}
		})
	}
	t.Run("a commit that is no branch", func(t *testing.T) {
		dir := repo(t)
		git(t, dir, "checkout", "-q", "--detach")
		got, err := reader(t).read(context.Background(), dir)
		if err != nil || *got != (State{Branch: git(t, dir, "rev-parse", "HEAD")[:12]}) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestWhatCannotBeReadIsNotKnown(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir string){
		"HEAD is a pipe": func(t *testing.T, dir string) {
			head := filepath.Join(dir, ".git", "HEAD")
			if err := errors.Join(os.Remove(head), syscall.Mkfifo(head, 0o600)); err != nil {
				t.Fatal(err)
			}
		},
		"HEAD leads out of the repository": func(t *testing.T, dir string) { write(t, "ref: refs/heads/../../../x\n", dir, ".git", "HEAD") },
		"HEAD has control characters":      func(t *testing.T, dir string) { write(t, "ref: refs/heads/\x1b[2J\n", dir, ".git", "HEAD") },
		"HEAD is empty":                    func(t *testing.T, dir string) { write(t, "", dir, ".git", "HEAD") },
		"branches are in a reftable":       func(t *testing.T, dir string) { write(t, "ref: refs/heads/.invalid\n", dir, ".git", "HEAD") },
		"the branch is an option":          func(t *testing.T, dir string) { write(t, "--output=x\n", dir, ".git", "refs", "heads", "main") },
		"the index is damaged":             func(t *testing.T, dir string) { write(t, "no index", dir, ".git", "index") },
		".git is a text": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
				t.Fatal(err)
			}
			write(t, "hello", dir, ".git")
		},
		"the commit is not there": func(t *testing.T, dir string) {
			write(t, strings.Repeat("a", 40)+"\n", dir, ".git", "refs", "heads", "main")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := repo(t)
			damage(t, dir)
			if got, err := reader(t).read(context.Background(), dir); err == nil {
				t.Errorf("%+v", got)
			}
		})
	}
	if got, err := reader(t).read(context.Background(), t.TempDir()); !errors.Is(err, errNoRepository) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestNothingThatARepositoryNamesIsRun makes a repository that names a program wherever
// git would run one for a diff, and looks whether any ran.
func TestNothingThatARepositoryNamesIsRun(t *testing.T) {
	dir := repo(t)
	ran := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "script")
	write(t, "#!/bin/sh\necho \"$0 $*\" >> "+ran+"\ncat\n", script)
	write(t, "* filter=evil diff=evil\n", dir, ".git", "info", "attributes")
	for _, key := range []string{"filter.evil.clean", "filter.evil.process", "diff.evil.textconv", "diff.evil.command", "diff.external",
		"core.fsmonitor", "core.pager", "core.sshCommand", "core.gitProxy", "credential.helper"} {
		git(t, dir, "config", key, script)
	}
	git(t, dir, "config", "filter.evil.required", "true")
	git(t, dir, "config", "core.hooksPath", filepath.Dir(script))
	write(t, "one\nother\n", dir, "file")
	got, err := reader(t).read(context.Background(), dir)
	if err != nil || *got != (State{"main", 1, 1, 0}) {
		t.Errorf("%+v, %v", got, err)
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("it ran:\n%s", text)
	}
}

func TestProcessesEnd(t *testing.T) {
	for name, script := range map[string]string{
		"one that hangs":          "#!/bin/sh\nsleep 1000 &\nwait\n",
		"one that says too much":  "#!/bin/sh\nwhile :; do echo 1234567890123456789012345678901234567890; done\n",
		"one that fails":          "#!/bin/sh\nexit 3\n",
		"one that cannot be run":  "#!/nowhere\n",
		"one that ignores TERM":   "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n",
		"one that keeps the pipe": "#!/bin/sh\nsleep 1000 & exit 0\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := reader(t)
			c.git, c.maxTime = filepath.Join(t.TempDir(), "git"), 100*time.Millisecond
			write(t, script, c.git)
			if got, err := c.read(context.Background(), repo(t)); err == nil {
				t.Errorf("%+v", got)
			}
		})
	}
}
