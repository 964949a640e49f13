//go:build !linux

package sqlite

import "os"

// writeOut does nothing: only Linux can write a file in pieces without an fsync.
func writeOut(*os.File) error { return nil }
