package console

import (
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Path is the prefix of all files except the page itself, which is at "/".
const Path = "/console/"

// Owns reports whether a decoded URL path belongs to the console, even if no file has it. A
// path with escapes is compared decoded, so that it cannot bypass the rules for these files.
func Owns(path string) bool {
	return path == "/" || path+"/" == Path || strings.HasPrefix(path, Path)
}

// writeTimeout is how long a client may take to receive a file: 150 kB at 5 kB/s.
const writeTimeout = 30 * time.Second

// policy is the Content-Security-Policy of every answer. Scripts and styles are files of
// this server, never text in the page. Trusted Types without a policy disable the functions
// that turn text into markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// features disables browser features that the page does not need.
const features = "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), geolocation=(), gyroscope=(), " +
	"magnetometer=(), microphone=(), midi=(), payment=(), screen-wake-lock=(), usb=(), xr-spatial-tracking=()"

// Console is the handler of the files. It is safe for use from many goroutines.
type Console struct {
	files map[string]*file // by the path of the URL, as it is sent
}

// New reads the files. client has the files of the client for JavaScript, which the page
// imports from client/; nil: none.
func New(client fs.FS) (*Console, error) {
	files, err := load(client)
	return &Console{files: files}, err
}

// ServeHTTP answers GET and HEAD of a file that exists, under exactly its path.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", features)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	f := c.files[r.RequestURI] // not URL.Path: a file has one spelling, without a query
	switch {
	case f == nil || isServiceWorker(r):
		sayPlainly(w, http.StatusNotFound, "There is no such file here. The console is at /.\n")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		sayPlainly(w, http.StatusMethodNotAllowed, "This is a file: GET and HEAD only.\n")
	default:
		f.serve(w, r)
	}
}

// isServiceWorker reports whether a browser would install the file as a service worker. The
// console has none: it would outlive the page and answer for later versions of it.
func isServiceWorker(r *http.Request) bool {
	return r.Header["Service-Worker"] != nil || r.Header.Get("Sec-Fetch-Dest") == "serviceworker"
}

func sayPlainly(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // an error means that the client has disconnected
}
