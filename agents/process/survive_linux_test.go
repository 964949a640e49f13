package process

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// The main goroutine stays on the main thread: see survive.
func init() { runtime.LockOSThread() }

// survive has the calling process outlive its parent. The kernel keeps for each thread
// the signal that the process gets when its parent dies, and Start gives one to the main
// thread only.
func survive() {
	if unix.Gettid() != os.Getpid() {
		panic("not the main thread")
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0); err != nil {
		panic(err)
	}
}
