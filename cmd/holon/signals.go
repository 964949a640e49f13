package main

import (
	"os"
	"os/signal"
	"syscall"
)

// What was ignored when this program was started, read before anything catches it: nohup
// ignores SIGHUP, and the shell of a script ignores SIGINT for what it starts with "&".
var (
	hangupIgnored    = signal.Ignored(syscall.SIGHUP)
	interruptIgnored = signal.Ignored(syscall.SIGINT)
)

// endSignals are the signals that ask a program to end: Ctrl-C, a supervisor, and a
// terminal that is closed. One that was started with nohup ignores the last.
func endSignals() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !hangupIgnored {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// serverSignals are the signals that stop a server, and those that have no effect on it.
// An effect is taken from a signal by catching it, because the programs that the server
// starts would inherit an ignored one, while exec gives a caught one its default again: a
// pipeline of an agent ends by SIGPIPE when its reader leaves. The server itself gets an
// error from each write to a pipe whose reader has left, and continues.
func serverSignals() (stop, caught []os.Signal) {
	stop, caught = []os.Signal{syscall.SIGTERM}, []os.Signal{syscall.SIGPIPE}
	if hangupIgnored {
		caught = append(caught, syscall.SIGHUP)
	} else {
		stop = append(stop, syscall.SIGHUP)
	}
	if interruptIgnored {
		// A shell ignores SIGQUIT together with it. That cannot be asked: Go's runtime has
		// caught SIGQUIT already, which is enough for what the server starts.
		caught = append(caught, syscall.SIGINT, syscall.SIGQUIT)
	} else {
		stop = append(stop, syscall.SIGINT)
	}
	return stop, caught
}

// dropped receives the signals without an effect. Nobody reads it: os/signal does not wait.
var dropped = make(chan os.Signal, 1)
