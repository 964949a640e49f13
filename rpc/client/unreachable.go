package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// UnreachableError says that no server answered at URL. Source tells where the
// URL came from, for the message.
type UnreachableError struct {
	URL    string
	Source string
	Err    error
}

// Error names the URL and the cause.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no server at %s (%s): %s", e.URL, e.Source, why(e.Err))
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// why explains why nobody answered: in the words of the libraries of Go, without their names
// and those of their calls.
func why(err error) string {
	var noTLS tls.RecordHeaderError
	var alert tls.AlertError
	var name *net.DNSError
	var op *net.OpError
	var call *os.SyscallError
	said := err.Error()
	switch {
	case errors.As(err, &noTLS):
		return "what listens there does not speak TLS"
	case errors.As(err, &alert):
		return "what listens there refuses a TLS connection with " + strings.TrimPrefix(alert.Error(), "tls: ")
	case strings.HasPrefix(said, "tls: "):
		return "no TLS connection is possible with what listens there: " + strings.TrimPrefix(said, "tls: ")
	case strings.Contains(said, "malformed HTTP"):
		return "what listens there does not speak HTTP"
	case errors.As(err, &name) && name.IsNotFound:
		return "there is no machine " + name.Name
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer came in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended before an answer came"
	case errors.As(err, &call):
		return call.Err.Error()
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return said
}
