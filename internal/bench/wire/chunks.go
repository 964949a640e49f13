package wire

import (
	"errors"
	"io"
)

// errChunk says that the chunks of a response cannot be read.
var errChunk = errors.New("a chunk is malformed")

// chunks parses a chunked body, in pieces of any size.
type chunks struct {
	left int64 // of the chunk's data
	at   state
	last bool // the chunk that ends the body
}

type state int

const (
	inSize  state = iota // in the size of a chunk
	inLine               // in the rest of the size's line: extensions, CR
	inData               // in the data, of which left bytes are missing
	afterCR              // in the line end after the data
)

// feed calls data with the parts of the body that are in b. It returns io.EOF
// at the end of the body.
func (c *chunks) feed(b []byte, data func([]byte)) error {
	for len(b) > 0 {
		switch c.at {
		case inData:
			n := min(int64(len(b)), c.left)
			data(b[:n])
			b = b[n:]
			if c.left -= n; c.left == 0 {
				c.at = afterCR
			}
			continue
		case inSize:
			if digit := hex(b[0]); digit >= 0 {
				if c.left = c.left<<4 | int64(digit); c.left > 1<<40 {
					return errChunk
				}
			} else {
				c.last = c.left == 0
				c.at = inLine
				continue
			}
		case inLine:
			if b[0] == '\n' {
				if c.last {
					return io.EOF
				}
				c.at = inData
			}
		case afterCR:
			if b[0] == '\n' {
				c.at = inSize
			} else if b[0] != '\r' {
				return errChunk
			}
		}
		b = b[1:]
	}
	return nil
}

func hex(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b >= 'a' && b <= 'f':
		return int(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return int(b-'A') + 10
	}
	return -1
}
