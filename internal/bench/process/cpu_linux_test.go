package process

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// used is the processor time of this process, from another source.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestProcessorTimeIsThatOfTheProcess(t *testing.T) {
	for used(t) < 200*time.Millisecond { // more than a few ticks
	}
	const ticks = 30 * time.Millisecond // both times are rounded down, and a tick may be under way
	least := used(t) - ticks
	got, err := processorTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if most := used(t) + ticks; got < least || got > most {
		t.Errorf("%v, not between %v and %v", got, least, most)
	}
}
