package main

import (
	"os"
	"os/signal"
	"syscall"
)

// endSignals are the signals that ask a program to end: Ctrl-C, a supervisor, and a
// terminal that is closed. One that was started with nohup ignores the last.
func endSignals() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
