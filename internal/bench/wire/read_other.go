//go:build !unix

package wire

// fill reads into a buffer of the stream.
func (s *Stream) fill() error {
	buf := make([]byte, 64<<10)
	n, err := s.conn.Read(buf)
	s.err = nil
	s.take(buf[:n])
	if err == nil {
		err = s.err
	}
	return ended(n, err)
}

func (s *Stream) readable(uintptr) bool { return true }
