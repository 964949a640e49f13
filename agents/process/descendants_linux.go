package process

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// ticksPerSecond is USER_HZ, the unit of /proc/PID/stat, which is the same
	// wherever Go runs on Linux.
	ticksPerSecond = 100
	// maxLine is how much of a command line is shown.
	maxLine = 120
)

// Now returns the present moment.
func Now() Moment {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return Moment(uint64(t.Sec)*ticksPerSecond + uint64(t.Nsec)/(1e9/ticksPerSecond))
}

// Since returns the living descendants of the leader that began at m or later,
// in no order; none if m is 0 or the group has ended. A process that has lost
// its parent, such as a daemon, is not a descendant.
func (g *Group) Since(m Moment) (list []Descendant) {
	g.mu.Lock() // so that the leader's pid is not reused
	defer g.mu.Unlock()
	if g.ended || m == 0 {
		return nil
	}
	living := livingProcesses()
	for pid := range living {
		if d, ok := g.descendant(living, pid, m); ok {
			list = append(list, d)
		}
	}
	return list
}

// descendant describes a process if it is a descendant of the leader that
// began at m or later.
func (g *Group) descendant(living map[int]kin, pid int, m Moment) (d Descendant, ok bool) {
	k := living[pid]
	leader := func(pid int, _ kin) bool { return pid == g.PID() }
	if Moment(k.start) < m || pid == g.PID() || pid == os.Getpid() || !descends(living, pid, leader) {
		return Descendant{}, false
	}
	d = Descendant{PID: pid, Began: Moment(k.start), Apart: k.session != living[g.PID()].session, kin: k}
	for p := k; p.parent != g.PID(); {
		if p, ok = living[p.parent]; !ok || Moment(p.start) < m {
			break
		}
		d.Began = min(d.Began, Moment(p.start))
	}
	d.Command = shownLine(pid)
	return d, true
}

// Environment returns the variables that the process was started with, as
// KEY=VALUE; nil if they cannot be read or the process has ended.
func (d Descendant) Environment() []string {
	b, err := readAtMost(fmt.Sprintf("/proc/%d/environ", d.PID), maxEnviron)
	if err != nil {
		return nil
	}
	if now, _, err := readKin(d.PID); err != nil || now.start != d.kin.start {
		return nil
	}
	return strings.Split(string(b), "\x00")
}

// shownLine returns the command line of a process for people, shortened.
func shownLine(pid int) string {
	b, err := readAtMost(fmt.Sprintf("/proc/%d/cmdline", pid), maxEnviron)
	if err != nil {
		return ""
	}
	line := strings.ToValidUTF8(string(bytes.TrimRight(bytes.ReplaceAll(b, []byte{0}, []byte{' '}), " ")), "\uFFFD")
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "…"
	}
	return line
}

// ending is a run of EndSince. A descendant that was found stays known, and so
// does the session that it leads: when a parent ends before its children, the
// children are no longer descendants.
type ending struct {
	g     *Group
	since Moment
	which func(Descendant) bool

	known    map[int]Descendant
	sessions map[int]bool
	sent     map[member]os.Signal // the last signal sent to each
}

// signal lists the descendants again and sends sig to those that have not got
// it. It returns all that are alive.
func (e *ending) signal(sig os.Signal) (left []Descendant) {
	if e.known == nil {
		e.known, e.sessions, e.sent = map[int]Descendant{}, map[int]bool{}, map[member]os.Signal{}
	}
	spared := map[int]bool{}
	for _, d := range e.g.Since(e.since) {
		if !e.which(d) {
			spared[d.PID] = true
			continue
		}
		e.known[d.PID] = d
		if d.kin.session == d.PID {
			e.sessions[d.PID] = true
		}
	}
	living := livingProcesses()
	for pid, k := range living {
		d, known := e.known[pid]
		switch {
		case known && d.kin.start == k.start:
		case e.sessions[k.session] && !spared[pid] && Moment(k.start) >= e.since && marked(pid, e.g.mark):
			d = Descendant{PID: pid, Began: Moment(k.start), Apart: true, Command: shownLine(pid), kin: k}
			e.known[pid] = d
		default:
			continue
		}
		left = append(left, d)
		if which := (member{pid: pid, start: k.start}); e.sent[which] != sig {
			if p := hold(pid, k); p != nil {
				_ = p.Signal(sig) // it may have ended meanwhile
				_ = p.Release()
			}
			e.sent[which] = sig
		}
	}
	return left
}
