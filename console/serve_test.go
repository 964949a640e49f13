package console

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// deadlines is a writer of a connection that notes which deadline it had when the body came.
type deadlines struct {
	*httptest.ResponseRecorder
	now, atWrite time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error { d.now = t; return nil }

func (d *deadlines) Write(p []byte) (int, error) {
	d.atWrite = d.now
	return d.ResponseRecorder.Write(p)
}

// An unauthenticated client that stops reading must not hold an answer for ever. The next
// request on the connection, which may be a stream, has no such deadline.
func TestAFileHasADeadlineAndTheConnectionHasNone(t *testing.T) {
	c := newConsole(t)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	c.ServeHTTP(w, r)
	if w.Code != http.StatusOK || w.atWrite.IsZero() || !w.now.IsZero() {
		t.Errorf("status %d; the deadline was %v while the file was written, and is %v afterwards", w.Code, w.atWrite, w.now)
	}
}
