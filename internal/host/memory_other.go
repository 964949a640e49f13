//go:build !linux

package host

import "errors"

// PSS returns the proportional set size of a process; here nobody says.
func PSS(int) (int64, error) { return 0, errors.ErrUnsupported }

// Memory returns how much memory this process may use; here nobody says.
func Memory() (int64, error) { return 0, errors.ErrUnsupported }
