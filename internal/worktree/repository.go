package worktree

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

var errNoRepository = errors.New("the directory is in no git repository")

// repository is where the parts of a repository are.
type repository struct {
	root   string // of the work tree
	dir    string // .git, or that of a linked work tree
	common string // where objects and branches are
}

// The bounds of what is read.
const (
	maxLevels     = 64 // from a directory up to the root of its work tree
	maxSmallFile  = 4 << 10
	maxPackedRefs = 16 << 20
)

// find looks for the repository of a directory, as git does: in it and above it.
func find(dir string) (*repository, error) {
	for range maxLevels {
		r := &repository{root: dir, dir: filepath.Join(dir, ".git")}
		info, err := os.Stat(r.dir)
		switch {
		case err == nil && info.IsDir():
			return r, r.findCommon()
		case err == nil:
			text, err := readSmall(r.dir)
			if err != nil {
				return nil, err
			}
			path, ok := strings.CutPrefix(text, "gitdir: ")
			if !ok {
				return nil, fmt.Errorf("%s: no gitdir", r.dir)
			}
			r.dir = within(dir, path)
			return r, r.findCommon()
		case !errors.Is(err, os.ErrNotExist):
			return nil, err
		}
		above := filepath.Dir(dir)
		if above == dir {
			break
		}
		dir = above
	}
	return nil, errNoRepository
}

// findCommon reads where a linked work tree shares its objects and branches.
func (r *repository) findCommon() error {
	path, err := readSmall(filepath.Join(r.dir, "commondir"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		r.common = r.dir
	case err != nil:
		return err
	default:
		r.common = within(r.dir, path)
	}
	return nil
}

// within returns a path that may be relative to dir.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// emptyTree is the tree without files, which every git knows. It stands for the commit of
// a branch that has none yet.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// head reads the branch and its commit.
func (r *repository) head() (branch, commit string, err error) {
	text, err := readSmall(filepath.Join(r.dir, "HEAD"))
	if err != nil {
		return "", "", err
	}
	ref, symbolic := strings.CutPrefix(text, "ref: ")
	if !symbolic {
		if !isHash(text) {
			return "", "", errors.New("HEAD is neither a branch nor a commit")
		}
		return text[:12], text, nil
	}
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	odd := !utf8.ValidString(branch) || strings.ContainsFunc(branch, unicode.IsControl)
	if !ok || odd || branch == ".invalid" || !filepath.IsLocal(ref) { // .invalid: its branches are in a reftable
		return "", "", fmt.Errorf("HEAD is %.80q", ref)
	}
	commit, err = r.commitOf(ref)
	return branch, commit, err
}

// commitOf finds the commit of a branch, in a file of its own or among the packed ones.
func (r *repository) commitOf(ref string) (string, error) {
	text, err := readSmall(filepath.Join(r.common, filepath.FromSlash(ref)))
	if err == nil && isHash(text) {
		return text, nil
	}
	if err == nil {
		return "", fmt.Errorf("%s is no commit", ref)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	f, err := open(filepath.Join(r.common, "packed-refs"))
	if errors.Is(err, os.ErrNotExist) {
		return emptyTree, nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(io.LimitReader(f, maxPackedRefs))
	for lines.Scan() {
		if hash, name, ok := strings.Cut(lines.Text(), " "); ok && name == ref && isHash(hash) {
			return hash, nil
		}
	}
	return emptyTree, lines.Err()
}

// isHash reports whether a text is the hash of an object. Repositories with longer hashes
// need a configuration that says so, and are left out.
func isHash(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == ""
}

// open opens a regular file. Anything else, such as a pipe, could block for ever.
func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
		_ = f.Close() // the first error is the reason
		return nil, err
	}
	return f, nil
}

// readSmall reads a file of one line.
func readSmall(path string) (string, error) {
	f, err := open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxSmallFile))
	return string(bytes.TrimRight(text, "\r\n")), err
}
