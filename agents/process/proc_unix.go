//go:build unix && !linux

package process

import (
	"errors"
	"os"
	"syscall"
)

// Without /proc nothing tells a group from a later one with its number.

func bootID() (string, error) { return "", nil }

func readIdentity(*record) error { return nil }

func commandLine(int) (string, error) { return "", nil }

func marked(int, string) bool { return false }

func groups() (map[int][]member, error) { return nil, errors.ErrUnsupported }

// killAll kills a group; what its members have started outside of it cannot be
// told here.
func killAll(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) } // ESRCH: nobody is left

func endOrphans(string) int { return 0 }

// Now is 0: when a process began is not known here.
func Now() Moment { return 0 }

// Since returns nothing: descendants cannot be told here.
func (g *Group) Since(Moment) []Descendant { return nil }

// Environment is nil here.
func (d Descendant) Environment() []string { return nil }

type kin struct{}

type ending struct {
	g     *Group
	since Moment
	which func(Descendant) bool
}

func (*ending) signal(os.Signal) []Descendant { return nil }
