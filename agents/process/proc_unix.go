//go:build unix && !linux

package process

import (
	"errors"
	"os"
	"syscall"
)

// Without /proc a group cannot be distinguished from a later one with the same
// number.

func bootID() (string, error) { return "", nil }

func readIdentity(*record) error { return nil }

func commandLine(int) (string, error) { return "", nil }

func marked(int, string) bool { return false }

func groups() (map[int][]member, error) { return nil, errors.ErrUnsupported }

// killAll kills a group; descendants outside of it cannot be found here.
func killAll(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) } // ESRCH: no process is left

func endOrphans(string, Moment, bool) int { return 0 }

// Now returns 0: start times of processes are unknown here.
func Now() Moment { return 0 }

// Since returns nothing: descendants cannot be found here.
func (g *Group) Since(Moment) []Descendant { return nil }

// Memory returns -1 for each group: it is not known here.
func Memory(groups []*Group) []int64 {
	sums := make([]int64, len(groups))
	for i := range sums {
		sums[i] = -1
	}
	return sums
}

// Environment returns nil here.
func (d Descendant) Environment() []string { return nil }

type kin struct{}

type ending struct {
	g     *Group
	since Moment
	which func(Descendant) bool
}

func (*ending) signal(os.Signal) []Descendant { return nil }
