package main

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// A read from a terminal cannot be called off: the reader of questions ends
	// with the process.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("main.(*questions).read.func1"))
}
