package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// static holds the files of the page, without the script that updates the libraries.
//
//go:embed static/*.* static/app static/vendor/*.js static/vendor/licences.txt
var static embed.FS

const (
	page      = "index.html"
	clientDir = "client/" // below Path: the client for JavaScript
)

// types are the content types by extension. A file with another extension is an error.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".svg":  "image/svg+xml",
	".png":  "image/png",
	".txt":  "text/plain; charset=utf-8",
}

// file is one file, ready to be sent.
type file struct {
	contentType  string
	cacheControl string
	plain        variant
	gzipped      func() variant // compresses once, at the first request that accepts gzip
}

// variant is a file in one encoding. Each has its own entity tag (RFC 9110, section 8.8.3.3).
type variant struct {
	body []byte
	etag string
}

// load reads the embedded files and those of the client, by the paths of their URLs.
//
// Every path except that of the page contains a hash of all files. Modules import each other
// by relative paths, so a page never loads files of two versions, and browsers may cache them
// for ever: after an upgrade the page names other paths. Browsers revalidate only the page.
func load(client fs.FS) (map[string]*file, error) {
	contents, err := contentsOf(client)
	if err != nil {
		return nil, err
	}
	base := Path + versionOf(contents) + "/"
	files := make(map[string]*file, len(contents))
	for name, body := range contents {
		url, cache := base+name, "public, max-age=31536000, immutable"
		if name == page {
			url, cache = "/", "no-cache"
			body = bytes.ReplaceAll(body, []byte(`="`+Path), []byte(`="`+base))
			body = bytes.Replace(body, []byte("</head>"), []byte(preloads(contents, base)+"</head>"), 1)
		}
		if files[url], err = newFile(name, body, cache); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// preloads returns links that make browsers request all modules at once. Without them a
// browser requests a module only after it has read one that imports it.
func preloads(contents map[string][]byte, base string) string {
	var links strings.Builder
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		if path.Ext(name) == ".js" {
			links.WriteString(`<link rel="modulepreload" href="` + base + name + `">` + "\n")
		}
	}
	return links.String()
}

// contentsOf reads all files by their paths below Path.
func contentsOf(client fs.FS) (map[string][]byte, error) {
	own, err := fs.Sub(static, "static")
	if err != nil {
		return nil, err
	}
	contents := make(map[string][]byte)
	read := func(prefix string, from fs.FS) error {
		return fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			contents[prefix+name], err = fs.ReadFile(from, name)
			return err
		})
	}
	if err := read("", own); err != nil || client == nil {
		return contents, err
	}
	return contents, read(clientDir, client)
}

// versionOf returns a hash of the names and contents of all files.
func versionOf(contents map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		fmt.Fprintf(h, "%s %d\n", name, len(contents[name]))
		h.Write(contents[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:8]) // 64 bits are enough to distinguish versions
}

func newFile(name string, body []byte, cache string) (*file, error) {
	kind := types[path.Ext(name)]
	if kind == "" {
		return nil, fmt.Errorf("console: %s has no known type", name)
	}
	sum := sha256.Sum256(body)
	tag := hex.EncodeToString(sum[:16])
	return &file{
		contentType: kind, cacheControl: cache, plain: variant{body, `"` + tag + `"`},
		gzipped: sync.OnceValue(func() variant { return variant{compressed(body), `"` + tag + `-gzip"`} }),
	}, nil
}

// compressed returns the compressed bytes. It cannot fail: the level is valid,
// and a buffer takes everything.
func compressed(body []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = z.Write(body)
	_ = z.Close()
	return b.Bytes()
}
