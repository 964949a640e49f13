package secrets

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Dir is the name of the directory in the data directory.
const Dir = "secrets"

const (
	// MaxBytes bounds one secret. A webhook's secret has 50 bytes, a token a few
	// hundred.
	MaxBytes = 16 << 10
	// maxBridge bounds the id of a bridge: twice as many characters and a number
	// are still a file name.
	maxBridge = 64

	tempSuffix = ".tmp"
	// header is the first line of a file, before the digest of what follows.
	header = "holon-secret-1 "
)

// The errors of Read.
var (
	ErrNotFound = errors.New("there is no secret of this generation")
	ErrDamaged  = errors.New("the file of the secret is damaged")
)

// ErrExposed is an error of Check alone.
var ErrExposed = errors.New("others may read the file of the secret")

// Store is the directory of secrets. Its methods may be called from many
// goroutines. One server holds a data directory, so one Store does.
type Store struct {
	root *os.Root // nothing outside of the directory can be reached, by no name and no link

	mu sync.Mutex
	// step is called between the steps of a change, for tests.
	step func(string)
}

// Open makes the directory if it does not exist, takes all rights on it from
// others, and opens it. The caller calls Close.
func Open(dataDir string) (*Store, error) {
	dir := filepath.Join(dataDir, Dir)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the directory of secrets: %w", err)
	}
	if err := syncDir(dataDir); err != nil {
		return nil, fmt.Errorf("make the directory of secrets: %w", err)
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no directory")
	}
	if err == nil && info.Mode().Perm() != 0o700 {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("open the directory of secrets: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory of secrets: %w", err)
	}
	return &Store{root: root, step: func(string) {}}, nil
}

// OpenReadOnly opens the directory for Read and Check, also while a server has it open. It
// makes nothing and changes no rights. The caller calls Close. The error is
// fs.ErrNotExist, wrapped, if no server has made the directory yet.
func OpenReadOnly(dataDir string) (*Store, error) {
	root, err := os.OpenRoot(filepath.Join(dataDir, Dir))
	if err != nil {
		return nil, fmt.Errorf("open the directory of secrets: %w", err)
	}
	return &Store{root: root, step: func(string) {}}, nil
}

// Check works like Read without the secret, and looks at who else may read it. The errors
// are those of Read, and ErrExposed, wrapped.
func (s *Store) Check(bridge string, generation int64) error {
	if _, err := s.Read(bridge, generation); err != nil {
		return err
	}
	name, err := fileName(bridge, generation)
	if err != nil {
		return err
	}
	for _, path := range []string{".", name} {
		info, err := s.root.Stat(path)
		if err != nil {
			return fmt.Errorf("check a secret: %w", err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			return fmt.Errorf("check a secret: %w", ErrExposed)
		}
	}
	return nil
}

// Close closes the directory.
func (s *Store) Close() error { return s.root.Close() }

// Write stores the secret of a generation. When it returns nil, the secret is on
// disk, and the caller may commit what names it. A file of the same generation is
// replaced: a crash has left it before its commit.
func (s *Store) Write(bridge string, generation int64, secret []byte) error {
	name, err := fileName(bridge, generation)
	if err != nil {
		return err
	}
	if len(secret) > MaxBytes {
		return fmt.Errorf("write a secret: more than %d bytes", MaxBytes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	temp := name + tempSuffix
	if err := s.write(temp, name, secret); err != nil {
		return errors.Join(fmt.Errorf("write a secret: %w", err), s.unlink(temp))
	}
	return nil
}

func (s *Store) write(temp, name string, secret []byte) error {
	if err := s.unlink(temp); err != nil { // a crash has left it, perhaps with other permissions
		return err
	}
	f, err := s.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.step("created")
	sum := sha256.Sum256(secret)
	_, err = f.WriteString(header + hex.EncodeToString(sum[:]) + "\n" + string(secret))
	s.step("written")
	if err == nil {
		err = f.Sync()
	}
	s.step("synced")
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := s.root.Rename(temp, name); err != nil {
		return err
	}
	s.step("renamed")
	return s.sync()
}

// Read returns the secret of a generation. The errors are ErrNotFound and
// ErrDamaged, wrapped, or those of the disk.
func (s *Store) Read(bridge string, generation int64) ([]byte, error) {
	name, err := fileName(bridge, generation)
	if err != nil {
		return nil, err
	}
	secret, err := s.read(name)
	if err != nil {
		return nil, fmt.Errorf("read a secret: %w", err)
	}
	return secret, nil
}

func (s *Store) read(name string) ([]byte, error) {
	info, err := s.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrDamaged
	}
	f, err := s.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxBytes+256))
	if err != nil {
		return nil, err
	}
	line, secret, found := strings.Cut(string(b), "\n")
	sum := sha256.Sum256([]byte(secret))
	if !found || line != header+hex.EncodeToString(sum[:]) {
		return nil, ErrDamaged
	}
	return []byte(secret), nil
}

// Remove removes the secret of a generation, after the commit that no longer
// names it. Removing what is not there is no error.
func (s *Store) Remove(bridge string, generation int64) error {
	name, err := fileName(bridge, generation)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.unlink(name); err != nil {
		return fmt.Errorf("remove a secret: %w", err)
	}
	s.step("removed")
	if err := s.sync(); err != nil {
		return fmt.Errorf("remove a secret: %w", err)
	}
	return nil
}

// Keep removes the secrets for which keep is false and what crashes have left.
// Other files are left alone. The server calls it at its start, before any Write,
// with what its rows name. An error says what could not be removed; everything
// else has been done.
func (s *Store) Keep(keep func(bridge string, generation int64) bool) (removed int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return 0, fmt.Errorf("list secrets: %w", err)
	}
	for _, e := range entries {
		name, temp := strings.CutSuffix(e.Name(), tempSuffix)
		bridge, generation, ok := parseName(name)
		if !ok || e.IsDir() || !temp && keep(bridge, generation) {
			continue
		}
		if failed := s.unlink(e.Name()); failed != nil {
			err = errors.Join(err, fmt.Errorf("remove a secret: %w", failed))
			continue
		}
		removed++
		s.step("removed")
	}
	if removed > 0 {
		err = errors.Join(err, s.sync())
	}
	return removed, err
}

// unlink removes a file if it is there.
func (s *Store) unlink(name string) error {
	if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sync makes names durable.
func (s *Store) sync() error {
	d, err := s.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// fileName returns the name of a generation's file. The bridge is in hexadecimal: an id
// can hold any character then, and two ids that differ in case have two files on
// every file system.
func fileName(bridge string, generation int64) (string, error) {
	if bridge == "" || len(bridge) > maxBridge {
		return "", fmt.Errorf("the id of a bridge has 1 to %d bytes", maxBridge)
	}
	if generation < 1 {
		return "", errors.New("generations of secrets begin at 1")
	}
	return hex.EncodeToString([]byte(bridge)) + "." + strconv.FormatInt(generation, 10), nil
}

// parseName returns the inverse of fileName.
func parseName(name string) (bridge string, generation int64, ok bool) {
	id, number, found := strings.Cut(name, ".")
	b, err := hex.DecodeString(id)
	generation, failed := strconv.ParseInt(number, 10, 64)
	if !found || err != nil || failed != nil {
		return "", 0, false
	}
	again, err := fileName(string(b), generation)
	return string(b), generation, err == nil && again == name
}
