package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/host/hosttest"
	"github.com/seed82539d15/holon/testagents/acptest"
)

// programs are the programs that the tests start as another user.
var programs = map[string]func(arg string) error{}

func TestMain(m *testing.M) {
	hosttest.Main(programs)
	// What was started with nohup ignores SIGHUP, and what it starts does too, except if it
	// catches it: tests send it to programs that must not.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	// A read from a terminal cannot be cancelled: the reader of questions ends
	// with the process. A connection that net/http cuts early lingers 500 ms,
	// longer than goleak waits.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"), goleak.IgnoreAnyFunction("main.(*questions).read.func1"), goleak.Cleanup(func(code int) {
		acptest.Clean()
		os.Exit(code)
	}))
}
