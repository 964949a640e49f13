package process

import (
	"fmt"
	"io"
	"os"
)

// member is a living process of a group.
type member struct {
	pid, group int
	start      uint64 // clock ticks since the boot
}

// readAtMost reads a file that may not be larger than max.
func readAtMost(path string, max int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(b)) > max {
		err = fmt.Errorf("more than %d bytes", max)
	}
	return b, err
}
