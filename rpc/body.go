package rpc

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/seed82539d15/holon/api"
)

// maxIgnoredBody is how much of an unwanted body is read, as much as net/http
// itself would read.
const maxIgnoredBody = 256 << 10

// withBodyDeadline gives the body of every request a deadline: net/http waits
// for a body before it answers, and its own deadlines do not suit streams. A
// handler that needs longer calls clearBodyDeadline once the request is
// admitted.
func withBodyDeadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			// A recorder in a test has no deadlines.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(api.RequestTimeout))
		}
		next.ServeHTTP(w, r)
	})
}

// bodiless serves a path that takes no body. A body that comes is ignored; a
// request whose body does not end in time is refused.
func (s *Server) bodiless(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 && !ignoreBody(w, r) {
			s.fail(w, r, http.StatusBadRequest, api.Errorf(api.KindInvalidRequest, "this path takes no body, and the request's has not ended"))
			return
		}
		serve(w, r)
	}
}

// uncoded serves a path whose POST takes a body, which must come as it is: a compressed one
// would have another size than max_frame_bytes bounds.
func uncoded(s *Server, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && encoded(r.Header) {
			w.Header().Set("Accept-Encoding", "identity") // RFC 9110, section 15.5.16
			s.fail(w, r, http.StatusUnsupportedMediaType, api.Errorf(api.KindInvalidRequest, "send the body as it is, without Content-Encoding"))
			return
		}
		serve(w, r)
	}
}

// encoded reports whether a body has another encoding than identity, which is none.
func encoded(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			return true
		}
	}
	return false
}

func ignoreBody(w http.ResponseWriter, r *http.Request) bool {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(refusedBodyWait))
	n, err := io.CopyN(io.Discard, r.Body, maxIgnoredBody+1)
	_ = control.SetReadDeadline(time.Time{})
	return errors.Is(err, io.EOF) && n <= maxIgnoredBody
}

// clearBodyDeadline removes the deadline from the body of an admitted request.
func clearBodyDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// readBody reads the message of POST /rpc, which need not be one line.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *api.Error) {
	limit := int64(s.limits.MaxFrameBytes)
	tooLarge := api.Errorf(api.KindFrameTooLarge, "a message has at most %d bytes", limit)
	if r.ContentLength > limit+2 { // a line's end does not count
		return nil, tooLarge
	}
	size := 512
	if r.ContentLength > 0 {
		size = int(r.ContentLength) + 1
	}
	body, err := readAll(io.LimitReader(r.Body, limit+3), size)
	clearBodyDeadline(w)
	if err != nil {
		return nil, api.Errorf(api.KindParseError, "the message ended early")
	}
	for len(body) > 0 && (body[len(body)-1] == '\n' || body[len(body)-1] == '\r') {
		body = body[:len(body)-1]
	}
	if int64(len(body)) > limit {
		return nil, tooLarge
	}
	return body, nil
}

// readAll works like io.ReadAll, with a first guess of the size.
func readAll(r io.Reader, size int) ([]byte, error) {
	b := make([]byte, 0, size)
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}
