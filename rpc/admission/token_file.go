package admission

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The files of the data directory that hold the token.
const (
	TokenFile      = "token"
	CurlHeaderFile = "curl-header"
)

const (
	tokenBytes = 32 // 256 bits, 43 characters in base64url

	// A token that the user chose must be at least as long as 32 hexadecimal
	// digits (128 bits if they are random) and short enough for a header line.
	minTokenChars = 32
	maxTokenChars = 512
)

// Token is the secret that admits a request. It prints, formats and encodes as
// "[redacted]"; only [Token.Authorization] reveals it. The zero value is no
// token and matches nothing.
type Token struct {
	// reveal is nil for the zero value. The secret lives in a closure because
	// package fmt cannot look into one: where a struct hides a Token in an
	// unexported field, Format is not called and a string or a pointer to one
	// would be printed.
	reveal func() tokenSecret
}

type tokenSecret struct {
	text string
	hash [sha256.Size]byte
}

// ParseToken makes a Token from its text, 32 to 512 characters that are allowed
// in an Authorization header (RFC 6750 b64token). The error does not quote it.
func ParseToken(text string) (Token, error) {
	if len(text) < minTokenChars || len(text) > maxTokenChars {
		return Token{}, fmt.Errorf("a token has %d to %d characters, this one %d", minTokenChars, maxTokenChars, len(text))
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~+/=", c) >= 0:
		default:
			return Token{}, fmt.Errorf("a token is made of letters, digits and -._~+/=, and the character at position %d is not", i+1)
		}
	}
	secret := tokenSecret{text: text, hash: sha256.Sum256([]byte(text))}
	return Token{func() tokenSecret { return secret }}, nil
}

// IsZero reports whether there is no token.
func (t Token) IsZero() bool { return t.reveal == nil }

// Matches compares hashes in constant time, so that the time it takes reveals
// neither the content nor the length of the token.
func (t Token) Matches(candidate string) bool {
	if t.reveal == nil {
		return false
	}
	hash, own := sha256.Sum256([]byte(candidate)), t.reveal().hash
	return subtle.ConstantTimeCompare(hash[:], own[:]) == 1
}

// Authorization returns the value of the Authorization header that a client of
// this server sends, or "" for the zero value. No other method returns the
// text.
func (t Token) Authorization() string {
	if t.reveal == nil {
		return ""
	}
	return "Bearer " + t.reveal().text
}

const redacted = "[redacted]"

// String returns "[redacted]".
func (t Token) String() string { return redacted }

// Format prints "[redacted]" for every verb of package fmt.
func (t Token) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText encodes as "[redacted]", so JSON, TOML and loggers show no more.
func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LoadOrCreateToken returns the token of a data directory. It makes the token
// at the first start, and updates the curl-header file beside it. The directory
// must exist. Several processes may call it at once: one token wins, and all
// return it.
func LoadOrCreateToken(dir string) (Token, error) {
	t, err := LoadToken(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createToken(dir); err != nil {
			return Token{}, err
		}
		t, err = LoadToken(dir)
	}
	if err != nil {
		return Token{}, err
	}
	return t, writeCurlHeader(dir, t)
}

// LoadToken reads the token of a data directory. The error is fs.ErrNotExist
// (errors.Is) if the server has not made one yet. A token that others can read,
// or that another user owns, is refused; the error says what to do.
func LoadToken(dir string) (Token, error) {
	path := filepath.Join(dir, TokenFile)
	b, err := ReadSecretFile(path, maxTokenChars+2)
	if err != nil {
		return Token{}, err
	}
	t, err := ParseToken(strings.TrimRight(string(b), "\r\n"))
	if err != nil {
		return Token{}, fmt.Errorf("%s: %w; remove the file and start the server to get a new one", path, err)
	}
	return t, nil
}

// createToken makes the file whole or not at all. A link does not replace a
// file that another process has made meanwhile.
func createToken(dir string) error {
	random := make([]byte, tokenBytes)
	if _, err := rand.Read(random); err != nil {
		return fmt.Errorf("make a token: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(random)
	temp, err := writeTemp(dir, text+"\n")
	if err != nil {
		return fmt.Errorf("make a token: %w", err)
	}
	defer func() { _ = os.Remove(temp) }()
	path := filepath.Join(dir, TokenFile)
	if err := os.Link(temp, path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		// This file system has no links. The data directory's lock keeps a
		// second server away, so nothing is replaced here either.
		if err := os.Rename(temp, path); err != nil {
			return fmt.Errorf("make a token: %w", err)
		}
	}
	return syncDir(dir)
}

// writeCurlHeader writes the token as a header line for curl -H @file, if it has changed.
func writeCurlHeader(dir string, t Token) error {
	path, line := filepath.Join(dir, CurlHeaderFile), "Authorization: "+t.Authorization()+"\n"
	if b, err := ReadSecretFile(path, len(line)+1); err == nil && string(b) == line {
		return nil
	}
	temp, err := writeTemp(dir, line)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncDir(dir)
}

// writeTemp writes a new file that only its owner can read, syncs it and
// returns its name. os.CreateTemp opens with O_EXCL and mode 0600; the mode is
// set again because a umask may have taken the owner's bits away.
func writeTemp(dir, text string) (string, error) {
	f, err := os.CreateTemp(dir, ".token-*")
	if err != nil {
		return "", err
	}
	_, errWrite := f.WriteString(text)
	if err := errors.Join(f.Chmod(0o600), errWrite, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// readAtMost reads the file for every ReadSecretFile, at most limit bytes.
func readAtMost(f *os.File, path string, limit int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(b) > limit {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return b, nil
}
