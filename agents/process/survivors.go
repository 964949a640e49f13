package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// How long processes of a killed server get to end. Their work has no receiver
// any more, so this is short: the server is not up before it is over.
const (
	survivorTerm = 2 * time.Second // after TERM
	survivorKill = 2 * time.Second // after KILL, until the kernel has done it
	survivorPoll = 20 * time.Millisecond
)

// survivor is a group of a killed server, and the processes that were seen in
// it, by pid and start time.
type survivor struct {
	record
	seen map[member]bool
}

// EndSurvivors ends the groups that an earlier server of this folder has left
// running: TERM, up to 2 s, KILL. The one server that holds the folder calls it
// before any Add. ended counts the groups. When ctx ends, the rest gets KILL at
// once.
//
// A group is ended only if its number, its start (the time of its leader, in
// the same boot) and its command match what was recorded; if the leader is
// dead, or has changed its title, the mark in the environment of its processes
// is used instead of the command. Records of groups that have ended, or that
// are not proven to be the recorded ones, are removed, with a log line in the
// second case. Files that are no records are left alone, with a log line. An
// error says what could not be read or removed; everything else has been done.
func (r *Records) EndSurvivors(ctx context.Context, log *zap.Logger) (ended int, err error) {
	if r == nil {
		return 0, nil
	}
	recs, err := r.leftOver(log)
	if len(recs) == 0 {
		return 0, err
	}
	boot, bootErr := bootID()
	all, listErr := groups()
	if errors.Is(listErr, errors.ErrUnsupported) {
		return 0, errors.Join(err, r.forget(recs, log))
	}
	if failed := errors.Join(bootErr, listErr); failed != nil {
		return 0, errors.Join(err, fmt.Errorf("look for processes: %w", failed)) // the records stay
	}
	var alive []*survivor
	for _, rec := range recs {
		s := &survivor{record: rec, seen: map[member]bool{}}
		switch members := all[rec.Group]; {
		case s.isRecorded(boot, members):
			log.Warn("ending what a server that was killed has left running",
				zap.Int("group", rec.Group), zap.Int("processes", len(members)), zap.String("command", strings.Join(rec.Command, " ")))
			alive = append(alive, s)
			continue
		case rec.Boot == boot && len(members) > 0:
			log.Warn("a process group has the number of one that was recorded, but is another: it is left alone",
				zap.Int("group", rec.Group), zap.String("command", strings.Join(rec.Command, " ")))
		}
		if s.endOrphans(boot, log) {
			ended++
		}
		err = errors.Join(err, r.discard(rec))
	}
	left := endAll(ctx, boot, alive)
	for _, s := range alive {
		if slices.Contains(left, s) { // it hangs in the kernel, such as on a dead disk: the next start tries again
			log.Error("a process group does not end", zap.Int("group", s.Group))
			continue
		}
		ended++
		s.endOrphans(boot, log)
		err = errors.Join(err, r.discard(s.record))
	}
	return ended, errors.Join(err, ctx.Err())
}

// endAll ends groups and returns those that remain.
func endAll(ctx context.Context, boot string, alive []*survivor) (left []*survivor) {
	for _, step := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGTERM, survivorTerm}, {syscall.SIGKILL, survivorKill}} {
		if len(alive) == 0 {
			break
		}
		for _, s := range alive {
			if step.sig == syscall.SIGKILL {
				killAll(s.Group)
				continue
			}
			_ = syscall.Kill(-s.Group, step.sig) // ESRCH: it has ended meanwhile
		}
		done := ctx.Done()
		if step.sig == syscall.SIGKILL {
			done = nil // nothing is faster than KILL
		}
		alive = await(done, boot, alive, step.wait)
	}
	return alive
}

// await returns the groups that are still alive after d, or when done is
// closed.
func await(done <-chan struct{}, boot string, alive []*survivor, d time.Duration) []*survivor {
	limit, poll := time.After(d), time.Tick(survivorPoll)
	for {
		if all, err := groups(); err == nil {
			alive = slices.DeleteFunc(slices.Clone(alive), func(s *survivor) bool { return !s.isRecorded(boot, all[s.Group]) })
		}
		if len(alive) == 0 {
			return nil
		}
		select {
		case <-poll:
		case <-limit:
			return alive
		case <-done:
			return alive
		}
	}
}

// isRecorded reports whether these processes, the living ones with the group's
// number, are the recorded group. The kernel does not reuse a number while a
// process has it as its group. So it is the recorded group if one member is
// proven to belong to it: the leader by its start and command; others, if the
// leader is dead, by the mark, or because they were seen in the group before.
func (s *survivor) isRecorded(boot string, members []member) bool {
	if s.Boot == "" || s.Boot != boot || s.Start == 0 || s.Group == syscall.Getpgrp() {
		return false
	}
	recorded := false
	for _, m := range members {
		if m.pid == s.Group && m.start != s.Start {
			return false // the number has been reused
		}
		recorded = recorded || s.seen[m] || m.start >= s.Start && (s.isLeader(m) || marked(m.pid, s.Mark))
	}
	if recorded {
		for _, m := range members {
			s.seen[m] = true
		}
	}
	return recorded
}

// endOrphans ends processes of the group that have left it.
func (s *survivor) endOrphans(boot string, log *zap.Logger) bool {
	if !s.Orphans && !s.Daemons || s.Boot == "" || s.Boot != boot {
		return false
	}
	n := endOrphans(s.Mark, Moment(s.Start), s.Daemons)
	if n > 0 {
		log.Warn("ended what a program of a server that was killed has left running",
			zap.Int("group", s.Group), zap.Int("processes", n), zap.String("command", strings.Join(s.Command, " ")))
	}
	return n > 0
}

func (s *survivor) isLeader(m member) bool {
	if m.pid != s.Group || s.CommandLine == "" {
		return false
	}
	line, err := commandLine(m.pid)
	return err == nil && line == s.CommandLine
}

// leftOver reads all records, and removes incomplete ones.
func (r *Records) leftOver(log *zap.Logger) (recs []record, err error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, fmt.Errorf("read process records: %w", err)
	}
	for _, e := range entries {
		rec, readErr := r.read(e)
		switch {
		case readErr == nil:
			recs = append(recs, rec)
		case errors.Is(readErr, errNotRecord) && strings.HasSuffix(e.Name(), tempSuffix) && e.Type().IsRegular():
			err = errors.Join(err, r.drop(e.Name()))
		case errors.Is(readErr, errNotRecord):
			log.Warn("a file among the process records is none and is left alone", zap.String("file", filepath.Join(r.dir, e.Name())))
		default:
			log.Warn("a process record cannot be used and is removed", zap.String("file", filepath.Join(r.dir, e.Name())), zap.Error(readErr))
			err = errors.Join(err, r.drop(e.Name()))
		}
	}
	return recs, err
}

// forget removes records whose groups cannot be identified.
func (r *Records) forget(recs []record, log *zap.Logger) (err error) {
	for _, rec := range recs {
		if syscall.Kill(-rec.Group, 0) == nil {
			log.Warn("a process group has the number of one that a killed server had started; whether it is that one cannot be told on this system",
				zap.Int("group", rec.Group), zap.String("command", strings.Join(rec.Command, " ")))
		}
		err = errors.Join(err, r.discard(rec))
	}
	return err
}

func (r *Records) discard(rec record) error { return r.drop(filepath.Base(r.path(rec))) }

func (r *Records) drop(name string) error {
	if err := os.Remove(filepath.Join(r.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a process record: %w", err)
	}
	return nil
}
