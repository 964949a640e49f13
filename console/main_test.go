package console

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// newConsole has the client for JavaScript as it is in the repository.
func newConsole(t *testing.T) *Console {
	t.Helper()
	paths, err := filepath.Glob("../clients/js/*.js")
	if err != nil {
		t.Fatal(err)
	}
	client := fstest.MapFS{}
	for _, p := range paths {
		client[filepath.Base(p)] = &fstest.MapFile{Data: []byte(readText(t, p))}
	}
	return mustNew(t, client)
}

func mustNew(t *testing.T, client fs.FS) *Console {
	t.Helper()
	c, err := New(client)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// request asks for a path with headers "Name: value".
func (c *Console) request(method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", nil)
	r.RequestURI = target // as it was sent
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}

// pathOf is the path of a file below Path.
func (c *Console) pathOf(t *testing.T, name string) string {
	t.Helper()
	for url := range c.files {
		if rest, ok := strings.CutPrefix(url, Path); ok {
			if _, rest, _ = strings.Cut(rest, "/"); rest == name {
				return url
			}
		}
	}
	t.Fatalf("there is no %s", name)
	return ""
}

func unzipped(t *testing.T, body []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readText(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func status(t *testing.T, w *httptest.ResponseRecorder, want int, what string) {
	t.Helper()
	if w.Code != want {
		t.Errorf("%s: status %d, want %d: %.80q", what, w.Code, want, w.Body)
	}
	if got := w.Header().Get("Content-Security-Policy"); got == "" {
		t.Errorf("%s: no policy", what)
	}
	if want != http.StatusOK && want != http.StatusNotModified && w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%s: a refusal may be cached", what)
	}
}
