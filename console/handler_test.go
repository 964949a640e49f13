package console

import (
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

func TestEveryFileIsServedWithItsTypeAndAsItIs(t *testing.T) {
	c := newConsole(t)
	for url := range c.files {
		w := c.request("GET", url)
		status(t, w, http.StatusOK, url)
		h := w.Header()
		kind := h.Get("Content-Type")
		if kind == "" || url != "/" && kind != types[path.Ext(url)] {
			t.Errorf("%s: the type is %q", url, kind)
		}
		if h.Get("Content-Encoding") != "" || h.Get("Content-Length") != strconv.Itoa(w.Body.Len()) || w.Body.Len() == 0 {
			t.Errorf("%s: %d bytes with %v", url, w.Body.Len(), h)
		}
		z := c.request("GET", url, "Accept-Encoding: deflate, gzip;q=0.8, br")
		if z.Header().Get("Content-Encoding") != "gzip" || unzipped(t, z.Body.Bytes()) != w.Body.String() {
			t.Errorf("%s: the compressed file is another one: %v", url, z.Header())
		}
		if z.Header().Get("ETag") == h.Get("ETag") || h.Get("Vary") != "Accept-Encoding" || z.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: caches cannot tell the variants apart: %v and %v", url, h, z.Header())
		}
		for _, asked := range []http.Header{h, z.Header()} {
			head := c.request("HEAD", url, "Accept-Encoding: "+asked.Get("Content-Encoding"))
			if head.Body.Len() != 0 || !maps.EqualFunc(head.Header(), asked, slices.Equal) {
				t.Errorf("%s: HEAD answers %v, GET %v", url, head.Header(), asked)
			}
		}
	}
	if kind := c.request("GET", "/").Header().Get("Content-Type"); kind != "text/html; charset=utf-8" {
		t.Errorf("the page has the type %q", kind)
	}
}

func TestServedFilesAreThoseOfTheDirectory(t *testing.T) {
	c := newConsole(t)
	var names []string
	for url := range c.files {
		if rest, ok := strings.CutPrefix(url, Path); ok {
			_, name, _ := strings.Cut(rest, "/")
			if !strings.HasPrefix(name, clientDir) {
				names = append(names, name)
			}
		}
	}
	contents, err := contentsOf(os.DirFS("static"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for name := range contents {
		name, inDir := strings.CutPrefix(name, clientDir) // read as if it were a client
		if inDir && name != page && name != "vendor/update.sh" && name != "vendor/manifest.json" {
			want = append(want, name)
		}
	}
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("served: %v\nin the directory: %v", names, want)
	}
}

func TestAFileOfAnUnknownTypeIsAnError(t *testing.T) {
	if _, err := New(fstest.MapFS{"index.d.ts": {Data: []byte("x")}}); err == nil {
		t.Error("a file without a type is served")
	}
}

func TestHeadersOfThePage(t *testing.T) {
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
			"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
	}
	c := newConsole(t)
	for target, code := range map[string]int{"/": 200, c.pathOf(t, "vendor/preact.js"): 200, "/console/nothing": 404} {
		w := c.request("GET", target)
		status(t, w, code, target)
		for name, value := range want {
			if got := w.Header().Get(name); got != value {
				t.Errorf("%s: %s is %q, want %q", target, name, got, value)
			}
		}
		if !strings.Contains(w.Header().Get("Permissions-Policy"), "camera=()") {
			t.Errorf("%s: the page may use the camera", target)
		}
	}
}

func TestOnlyExactPathsAreFiles(t *testing.T) {
	c := newConsole(t)
	file := c.pathOf(t, "vendor/preact.js")
	base := strings.TrimSuffix(file, "vendor/preact.js")
	for _, target := range []string{
		"", "*", "//", "/.", "/./", "/?", "/?x=1", "/#x", "/index.html", "/%2f", "/favicon.ico", "http://localhost/",
		"/console", "/console/", "/console/index.html", "/console/vendor/preact.js", "/console/vendor/",
		strings.TrimSuffix(base, "/"), base, base + page, base + "vendor", base + "vendor/", base + "vendor/update.sh", base + "vendor/manifest.json",
		base + "/vendor/preact.js", base + "vendor//preact.js", base + "vendor/./preact.js", base + "app/../vendor/preact.js",
		base + "vendor%2fpreact.js", base + "vendor/preact%2ejs", base + `vendor\preact.js`, base + "static/vendor/preact.js", base + "../../rpc",
		file + "/", file + "?", file + "?x=1", file + "%00", strings.ToUpper(file), "/console/0123456789abcdef/vendor/preact.js",
		"/console/../rpc", "/console/..%2frpc", "/console/%2e%2e/rpc",
	} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			status(t, c.request(method, target), http.StatusNotFound, method+" "+target)
		}
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	c := newConsole(t)
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "QUERY"} {
		w := c.request(method, "/")
		status(t, w, http.StatusMethodNotAllowed, method)
		if w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: Allow is %q", method, w.Header().Get("Allow"))
		}
	}
}

func TestNoFileBecomesAServiceWorker(t *testing.T) {
	c := newConsole(t)
	file := c.pathOf(t, "vendor/preact.js")
	for _, header := range []string{"Service-Worker: script", "Service-Worker: SCRIPT", "Service-Worker: ", "Sec-Fetch-Dest: serviceworker"} {
		for _, target := range []string{"/", file} {
			status(t, c.request("GET", target, header), http.StatusNotFound, header)
		}
	}
}

func TestCachesKeepFilesAndAskForThePage(t *testing.T) {
	c := newConsole(t)
	file := c.pathOf(t, "vendor/preact.js")
	for target, cache := range map[string]string{"/": "no-cache", file: "public, max-age=31536000, immutable"} {
		first := c.request("GET", target, "Accept-Encoding: gzip")
		etag := first.Header().Get("ETag")
		if got := first.Header().Get("Cache-Control"); got != cache || !strings.HasPrefix(etag, `"`) {
			t.Errorf("%s: Cache-Control %q, ETag %q", target, got, etag)
		}
		for _, line := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
			w := c.request("GET", target, "Accept-Encoding: gzip", "If-None-Match: "+line)
			status(t, w, http.StatusNotModified, line)
			if w.Body.Len() != 0 || w.Header().Get("ETag") != etag || w.Header().Get("Cache-Control") != cache || w.Header().Get("Vary") == "" {
				t.Errorf("%s, %s: %d bytes, %v", target, line, w.Body.Len(), w.Header())
			}
		}
		for _, line := range []string{`"other"`, strings.Trim(etag, `"`), ""} {
			status(t, c.request("GET", target, "Accept-Encoding: gzip", "If-None-Match: "+line), http.StatusOK, "another tag "+line)
		}
		status(t, c.request("GET", target, "If-None-Match: "+etag), http.StatusOK, "the tag of the compressed file, uncompressed")
	}
}

func TestGzipIsForClientsThatTakeIt(t *testing.T) {
	for line, want := range map[string]bool{
		"gzip": true, "GZIP": true, "br, gzip": true, "gzip;q=1.0": true, "gzip; q=0.001": true, "br,gzip ; q=0.5": true,
		"": false, "br": false, "gzip;q=0": false, "gzip; Q=0.000": false, "x-gzip-y": false, "gzip;q=x": false, "*": false,
	} {
		if got := acceptsGzip([]string{line}); got != want {
			t.Errorf("Accept-Encoding: %s: %v", line, got)
		}
	}
	if !acceptsGzip([]string{"br", "gzip"}) {
		t.Error("gzip in a second header is not seen")
	}
}

// Two versions of a module in one page would be two modules, each with its own state.
func TestFilesOfTwoVersionsNeverMeet(t *testing.T) {
	old := mustNew(t, fstest.MapFS{"index.js": {Data: []byte("export const v = 1")}})
	renewed := mustNew(t, fstest.MapFS{"index.js": {Data: []byte("export const v = 2")}})
	for url := range old.files {
		if url == "/" {
			continue
		}
		if strings.Contains(renewed.request("GET", "/").Body.String(), url) {
			t.Errorf("the new page names %s of the old version", url)
		}
		status(t, renewed.request("GET", url), http.StatusNotFound, url)
	}
	if tag := "ETag"; old.request("GET", "/").Header().Get(tag) == renewed.request("GET", "/").Header().Get(tag) {
		t.Error("the page of the old version counts as that of the new one")
	}
	again := mustNew(t, fstest.MapFS{"index.js": {Data: []byte("export const v = 1")}})
	if !maps.EqualFunc(old.files, again.files, func(a, b *file) bool { return a.plain.etag == b.plain.etag }) {
		t.Error("the same files have other paths after a restart")
	}
}
