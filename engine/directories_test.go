package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// A file system that does not answer holds up so many looks, and each request for a bounded
// time.
func TestLooksAtDirectoriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, here := newDirectories(), t.TempDir()
		for range maxLooks {
			d.looks <- struct{}{} // a look that does not end
		}
		began := time.Now()
		var bad *turns.InvalidError
		if err := d.usable(t.Context(), here); !errors.As(err, &bad) || bad.Reason != turns.ReasonNoDirectory || time.Since(began) != lookWithin {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := d.usable(ctx, here); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the client has left: %v", err)
		}
		<-d.looks
		for range 3 * maxLooks { // each gives its slot back
			if err := d.usable(t.Context(), here); err != nil {
				t.Fatal(err)
			}
		}
	})
}
