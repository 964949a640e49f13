package admission

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestTokenIsMadeOnceAndKept(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadToken(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the first start: %v", err)
	}
	first, err := LoadOrCreateToken(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadOrCreateToken(dir)
	if err != nil || again.Authorization() != first.Authorization() {
		t.Errorf("the second start has another token: %v", err)
	}
	text := strings.TrimPrefix(first.Authorization(), "Bearer ")
	if raw, err := base64.RawURLEncoding.DecodeString(text); err != nil || len(raw) != 32 {
		t.Errorf("%d bytes, want 256 bits: %v", len(raw), err)
	}
	for name, want := range map[string]string{TokenFile: text + "\n", CurlHeaderFile: "Authorization: Bearer " + text + "\n"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(b) != want {
			t.Errorf("%s does not hold the token: %v", name, err)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
	other, err := LoadOrCreateToken(t.TempDir())
	if err != nil || other.Authorization() == first.Authorization() {
		t.Errorf("two servers with one token: %v", err)
	}
}

func TestOneTokenWinsBetweenManyStarts(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			tok, err := LoadOrCreateToken(dir)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			seen[tok.Authorization()]++
		})
	}
	wg.Wait()
	if len(seen) != 1 {
		t.Errorf("%d tokens", len(seen))
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestChosenTokenIsTakenAndTheCurlHeaderFollows(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadOrCreateToken(dir); err != nil {
		t.Fatal(err)
	}
	const chosen = "chosen-by-the-user-0123456789abcdef"
	write(t, filepath.Join(dir, TokenFile), chosen+"\r\n", 0o600)
	if err := os.Chmod(filepath.Join(dir, CurlHeaderFile), 0o644); err != nil {
		t.Fatal(err)
	}
	tok, err := LoadOrCreateToken(dir)
	if err != nil || !tok.Matches(chosen) {
		t.Fatal(err)
	}
	b, err := ReadSecretFile(filepath.Join(dir, CurlHeaderFile), 1000)
	if err != nil || string(b) != "Authorization: Bearer "+chosen+"\n" {
		t.Errorf("curl-header %q: %v", b, err)
	}
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestTokenOfBadShapeIsRefusedWithoutQuotingIt(t *testing.T) {
	for name, text := range map[string]string{
		"empty":          "",
		"short":          "secret-0123456789",
		"two lines":      "secret-0123456789-0123456789\nsecret-0123456789-0123456789",
		"a space inside": "secret-0123456789 secret-0123456789",
		"a zero byte":    "secret-0123456789-0123456789-012345\x00",
		"no ASCII":       "secret-0123456789-0123456789-012345é",
		"very long":      strings.Repeat("secret", 200),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, TokenFile), text, 0o600)
			tok, err := LoadOrCreateToken(dir)
			if err == nil || !tok.IsZero() {
				t.Fatal("taken")
			}
			if strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), TokenFile) {
				t.Errorf("%q", err)
			}
		})
	}
}

func TestZeroTokenMatchesNothing(t *testing.T) {
	var zero Token
	if !zero.IsZero() || zero.Authorization() != "" || zero.Matches("") || zero.Matches(redacted) {
		t.Error("the zero token lets in")
	}
	tok := testToken(t)
	if !tok.Matches(testTokenText) || tok.Matches("") || tok.Matches(testTokenText+"\x00") || tok.Matches(redacted) {
		t.Error("the token does not match itself alone")
	}
}

func TestTokenEncodesAsRedacted(t *testing.T) {
	tok := testToken(t)
	b, err := json.Marshal(map[string]any{"a": tok, "b": &tok, "c": Policy{Token: tok}})
	if err != nil || strings.Contains(string(b), testTokenText) || strings.Count(string(b), redacted) != 3 {
		t.Errorf("%s, %v", b, err)
	}
	if tok.String() != redacted {
		t.Error(tok.String())
	}
}

func TestTokenMatchesAsAWhole(t *testing.T) {
	tok := testToken(t)
	for i := range 4096 { // enough to meet a hash that begins with the same byte
		if candidate := fmt.Sprint(testTokenText, i); tok.Matches(candidate) {
			t.Fatalf("%q is taken", candidate)
		}
	}
}
