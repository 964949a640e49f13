//go:build unix

package wire

import (
	"sync"
	"syscall"
)

// buffers are shared by all streams. Only as many are in use as there are
// processors, so they stay in the cache for any number of streams.
var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// fill waits until the socket is readable and reads once. An idle stream has no
// buffer.
func (s *Stream) fill() error {
	s.got, s.err = 0, nil
	if err := s.raw.Read(s.read); err != nil {
		return err
	}
	return ended(s.got, s.err)
}

// readable runs with the socket and returns false to wait for more.
func (s *Stream) readable(fd uintptr) bool {
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	for {
		n, err := syscall.Read(int(fd), buf[:])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return false
		case err != nil || n <= 0:
			s.err = err
			return true
		}
		s.got = n
		s.take(buf[:n])
		return true
	}
}
