//go:build !linux

package host

import "errors"

// Without /proc a process cannot be told from a later one with its number.

// BootID returns the id that the kernel makes at each boot; here there is none.
func BootID() (string, error) { return "", errors.ErrUnsupported }

// ReadStat reads what the system says about a process; here it says nothing.
func ReadStat(int) (Stat, error) { return Stat{}, errors.ErrUnsupported }

// ProcessUID returns the user of a process; here nobody says.
func ProcessUID(int) (uint32, error) { return 0, errors.ErrUnsupported }
