//go:build linux && !amd64

package faults

import "golang.org/x/sys/unix"

// nameCalls are the calls that remove a name, and which argument the name is.
var nameCalls = map[uint64]int{unix.SYS_UNLINKAT: 1, unix.SYS_RENAMEAT: 1, unix.SYS_RENAMEAT2: 1}
