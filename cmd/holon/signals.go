package main

import (
	"os"
	"os/signal"
	"syscall"
)

// hangupIgnored says that this program was started with SIGHUP ignored, as nohup does. It is
// read before anything catches the signal.
var hangupIgnored = signal.Ignored(syscall.SIGHUP)

// endSignals returns the signals that ask a program to end: Ctrl-C, a supervisor, and a
// terminal that is closed. One that was started with nohup ignores the last.
func endSignals() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !hangupIgnored {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// dropped receives the signals that have no effect on a server. Nobody reads it: os/signal
// does not wait.
var dropped = make(chan os.Signal, 1)

// dropSignals takes the effect from SIGPIPE, and leaves SIGHUP without one after nohup. They
// are caught, because the programs that the server starts would inherit an ignored one, while
// exec gives a caught one its default again: a pipeline of an agent ends by SIGPIPE when its
// reader leaves. Go's runtime has caught SIGQUIT, and endSignals are caught. The server itself
// gets an error from each write to a pipe whose reader has left, and continues.
func dropSignals() {
	caught := []os.Signal{syscall.SIGPIPE}
	if hangupIgnored {
		caught = append(caught, syscall.SIGHUP)
	}
	signal.Notify(dropped, caught...)
}
