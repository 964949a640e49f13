package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// programs are the programs that the tests start as another user.
var programs = map[string]func(arg string) error{}

func TestMain(m *testing.M) {
	hosttest.Main(programs)
	// What was started with nohup ignores SIGHUP, what a script started with "&" SIGINT, and
	// what they start does too, except if they catch it: tests send both to programs that
	// must not.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	// A read from a terminal cannot be cancelled: the reader of questions ends
	// with the process. A connection that net/http cuts early lingers 500 ms,
	// longer than goleak waits.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"), goleak.IgnoreAnyFunction("main.(*questions).read.func1"), goleak.Cleanup(func(code int) {
		acptest.Clean()
		os.Exit(code)
	}))
}
