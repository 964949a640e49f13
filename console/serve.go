package console

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// serve sends the file, or 304 if the client has it already.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	v, zipped := f.plain, acceptsGzip(r.Header.Values("Accept-Encoding"))
	if zipped {
		v = f.gzipped()
	}
	h.Set("Cache-Control", f.cacheControl)
	h.Set("ETag", v.etag)
	if matches(r.Header.Values("If-None-Match"), v.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.contentType)
	if zipped {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(v.body)))
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return
	}
	// The client is not authenticated: it must not hold the answer by not reading. A writer
	// without deadlines, such as a recorder in a test, needs none.
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(v.body) // an error means that the client has disconnected
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{})
}

// acceptsGzip reads Accept-Encoding (RFC 9110, section 12.5.3). A client that excludes
// gzip by q=0, or does not name it, gets the file as it is.
func acceptsGzip(values []string) bool {
	accepted := false
	for element := range strings.SplitSeq(strings.Join(values, ","), ",") {
		coding, weight, weighted := strings.Cut(element, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		accepted = true
		if name, q, _ := strings.Cut(strings.TrimSpace(weight), "="); weighted && strings.EqualFold(strings.TrimSpace(name), "q") {
			value, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			accepted = err == nil && value > 0
		}
	}
	return accepted
}

// matches reads If-None-Match, whose tags are compared weakly (RFC 9110, section 13.1.2).
func matches(values []string, etag string) bool {
	for tag := range strings.SplitSeq(strings.Join(values, ","), ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if tag == etag || tag == "*" {
			return true
		}
	}
	return false
}
