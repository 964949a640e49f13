// Package wire is the client of all measurements: a raw socket that speaks just
// enough HTTP to read a chunked response, and counts lines. It is the same on
// both sides of every ratio, and cheap enough not to affect the result: it
// borrows a buffer only while there are bytes to read, and looks only for line
// feeds.
package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Stream is one connection. It belongs to one goroutine, except Send, which
// another one may call.
type Stream struct {
	conn    *net.TCPConn
	raw     syscall.RawConn
	read    func(fd uintptr) bool // fills got and err from the readable bytes
	got     int
	err     error
	rest    []byte // of the body, read together with the header
	chunked *chunks
	out     []byte

	Lines int64  // complete lines so far
	Bytes int64  // of the body, chunk framing excluded
	Tail  []byte // of the body: its last bytes, kept if KeepTail was set
	// KeepTail keeps the last bytes of a Read in Tail.
	KeepTail bool
}

// tailBytes is enough for a small response and for the beginning of a frame.
const tailBytes = 1 << 10

// Dial connects. limit bounds the whole use of the connection, from now on.
func Dial(ctx context.Context, address string, limit time.Duration) (*Stream, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	s := &Stream{conn: c.(*net.TCPConn)}
	if s.raw, err = s.conn.SyscallConn(); err != nil {
		return nil, err
	}
	s.read = s.readable
	return s, c.SetDeadline(time.Now().Add(limit))
}

// Close closes the connection; a waiting Read returns an error.
func (s *Stream) Close() { s.conn.Close() }

// Write sends bytes unchanged.
func (s *Stream) Write(b []byte) error {
	_, err := s.conn.Write(b)
	return err
}

// Send sends b as one chunk of a request body.
func (s *Stream) Send(b []byte) error {
	s.out = AppendChunk(s.out[:0], b)
	return s.Write(s.out)
}

// AppendChunk appends b as one chunk.
func AppendChunk(to, b []byte) []byte {
	to = strconv.AppendInt(to, int64(len(b)), 16)
	to = append(to, "\r\n"...)
	to = append(to, b...)
	return append(to, "\r\n"...)
}

// Request sends a request. A POST has a chunked body, sent with Send.
func (s *Stream) Request(verb, target string) error {
	body := ""
	if verb == "POST" {
		body = "Transfer-Encoding: chunked\r\nContent-Type: application/x-ndjson\r\n"
	}
	return s.Write([]byte(verb + " " + target + " HTTP/1.1\r\nHost: " + s.conn.RemoteAddr().String() + "\r\n" + body + "\r\n"))
}

// Header reads the response's header. The body follows.
func (s *Stream) Header() error {
	buf := make([]byte, 0, 4<<10)
	for {
		n, err := s.conn.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if end := bytes.Index(buf, []byte("\r\n\r\n")); end >= 0 {
			return s.opened(string(buf[:end]), bytes.Clone(buf[end+4:]))
		}
		if err == nil && len(buf) == cap(buf) {
			err = fmt.Errorf("the header is longer than %d bytes", len(buf))
		}
		if err != nil {
			return fmt.Errorf("read the response: %w", err)
		}
	}
}

func (s *Stream) opened(header string, rest []byte) error {
	status, fields, _ := strings.Cut(header, "\r\n")
	if !strings.Contains(status, " 200 ") {
		return fmt.Errorf("the server answered %s: %.300s", status, rest)
	}
	if strings.Contains(strings.ToLower(fields), "transfer-encoding: chunked") {
		s.chunked = &chunks{}
	}
	s.rest = rest
	return nil
}

// Open connects, sends a request and reads the response's header.
func Open(ctx context.Context, address, verb, target string, limit time.Duration) (*Stream, error) {
	s, err := Dial(ctx, address, limit)
	if err != nil {
		return nil, err
	}
	if err = s.Request(verb, target); err == nil {
		err = s.Header()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Read waits for bytes of the body, reads up to 64 KiB, and returns the number
// of lines that ended in them.
func (s *Stream) Read() (int, error) {
	before := s.Lines
	if len(s.rest) > 0 {
		rest := s.rest
		s.rest = nil
		s.take(rest)
	} else if err := s.fill(); err != nil {
		return 0, err
	}
	return int(s.Lines - before), s.err
}

// Until reads until the stream has had n lines.
func (s *Stream) Until(n int64) error {
	for s.Lines < n {
		if _, err := s.Read(); err != nil && s.Lines < n {
			return fmt.Errorf("after line %d of %d: %w", s.Lines, n, err)
		}
	}
	return nil
}

// take counts the lines and bytes in b.
func (s *Stream) take(b []byte) {
	if s.chunked == nil {
		s.body(b)
		return
	}
	if err := s.chunked.feed(b, s.body); err != nil {
		s.err = err
	}
}

func (s *Stream) body(b []byte) {
	s.Lines += int64(bytes.Count(b, newline))
	s.Bytes += int64(len(b))
	if s.KeepTail {
		s.Tail = append(s.Tail, b[max(0, len(b)-tailBytes):]...)
		s.Tail = s.Tail[max(0, len(s.Tail)-tailBytes):]
	}
}

var newline = []byte{'\n'}

// ended turns the end of a response into an error.
func ended(n int, err error) error {
	if n == 0 && err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}
