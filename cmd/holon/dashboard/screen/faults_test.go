package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
)

func TestErrorsAreSaidInWords(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("read the stream: %w", io.ErrUnexpectedEOF), "The server is gone."},
		{client.ErrEnded, "The server is gone."},
		{&client.UnreachableError{URL: "http://127.0.0.1:1", Err: syscall.ECONNREFUSED}, "The server is gone."},
		{&client.NoServerError{DataDir: "/data", GonePID: 7}, "The server is gone."},
		{&client.ClosedError{Code: "draining", Reconnect: true}, "The server is gone."},
		{&client.SilentError{Limit: time.Second}, "The server does not answer."},
		{fmt.Errorf("call: %w", context.DeadlineExceeded), "The server does not answer."},
		{&client.Error{Kind: "already_resolved", Message: "item_1 is resolved"}, "Somebody else has answered already, or its turn has ended."},
		{&client.Error{Kind: "overloaded", Message: "a queue is full", Retryable: true}, "The server has too much to do. Try it again in a moment."},
		{&client.Error{Kind: "overloaded", Message: "no thread may be deeper"}, "No thread may be deeper."},
		{&client.Error{Kind: "conflict", Message: "the thread has another cwd"}, "The thread has another cwd."},
		{&client.Error{Kind: "http_502", Message: "HTTP 502 Bad Gateway\x1b[31m"}, "HTTP 502 Bad Gateway."},
		{errors.New("no port"), "No port."},
		{errors.New(""), "Something went wrong."},
	} {
		if got := Words(tc.err); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.err, got, tc.want)
		}
	}
}

// However little room there is, the line says that there is no connection and that nothing
// needs to be done.
func TestOfflineFitsEveryWidth(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 35, 16, 0, time.UTC)
	for width, want := range map[int]string{
		80: "The server is gone since 12:35:16; trying again. A key tries at once.",
		50: "The server is gone since 12:35:16; trying again",
		40: "The server is gone; trying again",
		30: "Offline; trying again",
	} {
		if got := Offline(at, io.EOF, width); got != want {
			t.Errorf("in %d columns: %q, want %q", width, got, want)
		}
	}
	if got := Offline(at, &client.Error{Kind: client.KindUnauthorized}, 80); !strings.HasPrefix(got, "The server does not accept the token since ") {
		t.Errorf("%q", got)
	}
	if got := Offline(time.Time{}, nil, 80); got != "The server is gone; trying again. A key tries at once." {
		t.Errorf("%q", got)
	}
}
