// Package fsync is the baseline of durability: the time of the disk itself. It
// overwrites an existing block, so that the file does not grow, and syncs it.
package fsync

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"time"
)

// Result is the output of the program: one JSON object.
type Result struct {
	Milliseconds []float64 `json:"milliseconds"` // each write with its fsync
}

const (
	block  = 4 << 10 // the least that a durable append writes: one page
	blocks = 64
)

// Run writes --count blocks into the new file --file, --every apart.
func Run(ctx context.Context, args []string, _ io.Reader, out io.Writer) (err error) {
	flags := flag.NewFlagSet("fsync", flag.ContinueOnError)
	file := flags.String("file", "", "a new file")
	count := flags.Int("count", 500, "how often")
	every := flags.Duration("every", 5*time.Millisecond, "from one to the next")
	if err := flags.Parse(args); err != nil {
		return err
	}
	f, err := os.OpenFile(*file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(*file)) }()
	buf := make([]byte, block*blocks)
	if _, err := f.Write(buf); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	var r Result
	tick := time.Tick(*every)
	for i := range *count {
		select {
		case <-tick:
		case <-ctx.Done():
			return ctx.Err()
		}
		began := time.Now()
		if _, err := f.WriteAt(buf[:block], int64(i%blocks*block)); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		r.Milliseconds = append(r.Milliseconds, float64(time.Since(began))/float64(time.Millisecond))
	}
	return json.NewEncoder(out).Encode(r)
}
