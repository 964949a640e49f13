// Package profiles keeps the logins of a person: for each URL of a server the token,
// and the authorities that are trusted there besides those of the system.
//
// Each profile is a file of mode 0600 in a directory of mode 0700. It is found by the
// normal form of its URL only (client.NormalURL) and names that URL itself, so a token
// never goes to another one. Files are written whole. No error and no format of a
// Profile has the token.
package profiles

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/rpc/admission"
)

const (
	// Most bounds the number of profiles.
	Most = 1000
	// MaxCA bounds the certificates of a profile: those of an organisation have a
	// few kB.
	MaxCA = 256 << 10
	// maxFile is more than any profile has.
	maxFile = 1 << 20

	suffix     = ".json"
	tempSuffix = ".new"
)

// Profile is what a person has logged in to.
type Profile struct {
	// URL is in the form of client.NormalURL.
	URL   string `json:"url"`
	Token string `json:"token"`
	// CA has certificates in the form of PEM. May be empty.
	CA      string    `json:"ca,omitempty"`
	SavedAt time.Time `json:"saved_at"`
}

// Format prints the URL alone, for every verb of package fmt.
func (p Profile) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.URL) }

// TokenEnd returns the last 4 characters of the token, by which people tell two
// apart; "" if that would be much of it.
func (p Profile) TokenEnd() string {
	if len(p.Token) < 16 {
		return ""
	}
	return p.Token[len(p.Token)-4:]
}

// DamagedError says that a file is no profile, or not that of its name.
type DamagedError struct{ Path string }

// Error names the file.
func (e *DamagedError) Error() string { return "the profile in " + e.Path + " is damaged" }

// Store is the directory of profiles. Several processes may use it at once.
type Store struct{ dir string }

// In returns the store in holon's configuration directory. It makes nothing.
func In(configDir string) *Store { return &Store{filepath.Join(configDir, "profiles")} }

// Load returns the profile of a URL. The error is fs.ErrNotExist, wrapped, if there is
// none, a *DamagedError, or says why the file may not be used.
func (s *Store) Load(url string) (Profile, error) {
	p, err := s.read(s.path(url))
	if err == nil && p.URL != url {
		err = &DamagedError{s.path(url)}
	}
	if err != nil {
		return Profile{}, fmt.Errorf("read the profile of %s: %w", url, err)
	}
	return p, nil
}

// Save stores a profile in the place of an earlier one of its URL. When it returns nil,
// the profile is on disk.
func (s *Store) Save(p Profile) error {
	if err := s.save(p); err != nil {
		return fmt.Errorf("save the profile of %s: %w", p.URL, err)
	}
	return nil
}

func (s *Store) save(p Profile) error {
	if len(p.CA) > MaxCA {
		return fmt.Errorf("its certificates have more than %d bytes", MaxCA)
	}
	if err := s.prepare(p.URL); err != nil {
		return err
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	path := s.path(p.URL)
	temp := path + tempSuffix
	if err := remove(temp); err != nil { // of a crash; its rights may be others
		return err
	}
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	// A umask may have taken the owner's bits away.
	if err = errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, remove(temp))
	}
	return s.sync()
}

// prepare makes the directory, or takes the rights of others on it away, and looks
// whether there is room for one more.
func (s *Store) prepare(url string) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(s.dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", s.dir)
	case info.Mode().Perm() != 0o700:
		if err := os.Chmod(s.dir, 0o700); err != nil {
			return err
		}
	}
	names, err := s.names()
	if err != nil {
		return err
	}
	if len(names) >= Most && !slices.Contains(names, filepath.Base(s.path(url))) {
		return fmt.Errorf("there are %d profiles, the most; remove some with holon logout", len(names))
	}
	return nil
}

// Remove removes the profile of a URL, also a damaged one, and what a crash has left
// of it. removed is false if there was none.
func (s *Store) Remove(url string) (removed bool, err error) {
	path := s.path(url)
	_, err = os.Lstat(path)
	removed = err == nil
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(remove(path), remove(path+tempSuffix))
	}
	if err == nil && removed {
		err = s.sync()
	}
	if err != nil {
		return false, fmt.Errorf("remove the profile of %s: %w", url, err)
	}
	return removed, nil
}

// List returns all profiles, ordered by URL, and why others cannot be used.
func (s *Store) List() (all []Profile, unusable []error, err error) {
	names, err := s.names()
	if err != nil {
		return nil, nil, fmt.Errorf("list profiles: %w", err)
	}
	for _, name := range names {
		p, err := s.read(filepath.Join(s.dir, name))
		if err == nil && s.path(p.URL) != filepath.Join(s.dir, name) {
			err = &DamagedError{filepath.Join(s.dir, name)}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil:
			unusable = append(unusable, err)
		default:
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Profile) int { return strings.Compare(a.URL, b.URL) })
	return all, unusable, nil
}

// names returns the names of the files; none if there is no directory yet.
func (s *Store) names() (names []string, err error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (s *Store) read(path string) (p Profile, err error) {
	text, err := admission.ReadSecretFile(path, maxFile)
	if err != nil {
		return p, err
	}
	if json.Unmarshal(text, &p) != nil || p.URL == "" || p.Token == "" {
		return Profile{}, &DamagedError{path} // the error of the decoder may quote
	}
	return p, nil
}

// path returns the file of a URL: a digest is a name on every file system.
func (s *Store) path(url string) string {
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+suffix)
}

// sync makes names durable, also that of the directory itself.
func (s *Store) sync() error {
	var all []error
	for _, dir := range []string{s.dir, filepath.Dir(s.dir)} {
		d, err := os.Open(dir)
		if err != nil {
			return err
		}
		all = append(all, d.Sync(), d.Close())
	}
	return errors.Join(all...)
}

// remove removes a file if it is there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
