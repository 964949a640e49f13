//go:build !linux

package host

import "errors"

// Without /proc nothing tells a process from a later one with its number.

// BootID is a word that the kernel makes at each boot; here there is none.
func BootID() (string, error) { return "", errors.ErrUnsupported }

// ReadStat reads what the system says of a process; here it says nothing.
func ReadStat(int) (Stat, error) { return Stat{}, errors.ErrUnsupported }
