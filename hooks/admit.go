package hooks

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// admit checks what needs no body.
func (d *door) admit(r *http.Request) *answer {
	if r.Method != http.MethodPost {
		return refuse(http.StatusMethodNotAllowed, "method", "send webhooks with POST")
	}
	if !d.limit.Allow() {
		return refuse(http.StatusTooManyRequests, "rate_limit", "at most %d webhooks a second, %d at once, for each source; send it again", perSecond, burst)
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		why := "the content type must be application/json"
		if d.kind == KindGitHub && media == "application/x-www-form-urlencoded" {
			why = "the body is a form; choose the content type application/json in the settings of the webhook at GitHub"
		}
		return refuse(http.StatusUnsupportedMediaType, "content_type", "%s", why)
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return refuse(http.StatusUnsupportedMediaType, "content_encoding", "send the body as it is, without Content-Encoding")
	}
	if r.ContentLength > MaxBodyBytes {
		return tooLarge()
	}
	return nil
}

func tooLarge() *answer {
	return refuse(http.StatusRequestEntityTooLarge, "too_large", "a body has at most %d bytes", MaxBodyBytes)
}

// readBody reads a body within its bounds.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *answer) {
	// A recorder has no deadlines; every connection has.
	conn := http.NewResponseController(w)
	if err := conn.SetReadDeadline(time.Now().Add(h.bodyFor)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, refuse(http.StatusInternalServerError, "internal", "the body cannot be read in time; send it again")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBodyBytes))
	switch timeout, _ := errors.AsType[net.Error](err); {
	case err == nil:
		// The deadline stays: it may end r.Context(), on which nothing depends.
		return body, nil
	case isTooLarge(err):
		return nil, tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded), timeout != nil && timeout.Timeout():
		return nil, refuse(http.StatusRequestTimeout, "slow", "the body took longer than %s; send it again", h.bodyFor)
	}
	return nil, refuse(http.StatusBadRequest, "truncated", "the body ended before its end; send it again")
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}
