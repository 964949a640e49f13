package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Level says how bad a finding is.
type Level string

// The levels. With a warning the store is usable. An error means that the store
// loses or has lost something, or that others can read it.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Error   Level = "error"
)

// Finding is the result of one check.
type Finding struct {
	Name  string `json:"name"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
}

// freeWarning is the free space below which doctor warns: roughly a day of a
// busy server's log.
const freeWarning = 1 << 30

// fullBelow is the free space below which doctor calls a disk full: a commit needs a few
// hundred kB for the write-ahead log and its index.
const fullBelow = 1 << 20

// Check checks a store: its settings, its schema, the soundness of its file, the
// density of its log, its attempts, its inboxes, its cursors, permissions and free space. It may run
// while a server has the store open. An error says that Check itself failed.
func (s *Reader) Check(ctx context.Context) (list []Finding, err error) {
	add := func(name string, level Level, format string, args ...any) {
		list = append(list, Finding{Name: name, Level: level, Text: fmt.Sprintf(format, args...)})
	}
	if err := s.read(ctx, func(c *conn) error {
		for _, setting := range []struct{ name, want string }{
			{"journal_mode", "wal"}, {"user_version", fmt.Sprint(SchemaVersion())},
		} {
			got, err := c.pragma(setting.name)
			if err != nil {
				return err
			}
			add(setting.name, levelIf(got == setting.want), "%s", got)
		}
		problems, err := integrity(c)
		if err != nil {
			return err
		}
		add("integrity", levelIf(len(problems) == 0), "%d problems", len(problems))
		for _, p := range problems {
			add("integrity", Error, "%s", p)
		}
		return checkLog(c, add)
	}); err != nil {
		return list, err
	}
	if err := s.checkDurable(add); err != nil {
		return list, err
	}
	s.checkFiles(add)
	return list, nil
}

func levelIf(ok bool) Level {
	if ok {
		return OK
	}
	return Error
}

type addFinding func(name string, level Level, format string, args ...any)

// checkDurable opens a connection as the writer does: synchronous is a setting
// of the connection, so the writer's is the one to check.
func (s *Reader) checkDurable(add addFinding) error {
	c, err := dial(s.path, settings(false))
	if err != nil {
		return err
	}
	defer c.close()
	got, err := c.pragma("synchronous")
	if err != nil {
		return err
	}
	add("synchronous", levelIf(got == "2"), "%s (2 is FULL)", got)
	return nil
}

func checkLog(c *conn, add addFinding) error {
	var first, latest, count, lowest int64
	if err := ends(c, &first, &latest); err != nil {
		return err
	}
	if _, err := c.queryOne("SELECT count(*), coalesce(min(seq), 0) FROM events", func(r row) { count, lowest = r.Int(0), r.Int(1) }); err != nil {
		return err
	}
	add("log", levelIf(count == latest-first+1 && (count == 0 || lowest == first)),
		"%d events, seq %d to %d", count, first, latest)
	// No row may have a seq above the log's.
	ahead := int64(0)
	if _, err := c.queryOne(`SELECT (SELECT count(*) FROM threads WHERE latest_seq > ?1) + (SELECT count(*) FROM turns WHERE updated_seq > ?1)
		+ (SELECT count(*) FROM items WHERE updated_seq > ?1) + (SELECT count(*) FROM steps WHERE updated_seq > ?1)
		+ (SELECT count(*) FROM inboxes WHERE updated_seq > ?1) + (SELECT count(*) FROM inbox_items WHERE max(created_seq, acked_seq) > ?1)
		+ (SELECT count(*) FROM inbox_digests WHERE max(created_seq, newest, last_raw) > ?1)
		+ (SELECT count(*) FROM inbox_entries WHERE max(created_seq, superseded_by) > ?1)
		+ (SELECT count(*) FROM inbox_subscriptions WHERE created_seq > ?1) + (SELECT count(*) FROM inbox_timers WHERE created_seq > ?1)`, func(r row) { ahead = r.Int(0) }, latest); err != nil {
		return err
	}
	add("rows", levelIf(ahead == 0), "%d rows are newer than the log", ahead)
	if err := checkTries(c, add, first); err != nil {
		return err
	}
	if err := checkInboxes(c, add); err != nil {
		return err
	}
	return checkCursors(c, add, latest)
}

func (s *Reader) checkFiles(add addFinding) {
	secret := []string{s.dir, s.path, s.path + "-wal", s.path + "-shm", filepath.Join(s.dir, "lock"),
		filepath.Join(s.dir, "token"), filepath.Join(s.dir, "curl-header"), filepath.Join(s.dir, "server.json"), filepath.Join(s.dir, "backups")}
	open := 0
	for _, path := range secret {
		info, err := os.Lstat(path)
		if err != nil {
			continue // most of them need not exist
		}
		if mode := info.Mode(); mode.Perm()&0o077 != 0 {
			open++
			add("permissions", Error, "%s is open to others (%s): chmod go= it", path, mode.Perm())
		}
	}
	if open == 0 {
		add("permissions", OK, "only the owner can read %s", s.dir)
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(s.dir, &fs); err != nil {
		add("free space", Warning, "not known: %v", err)
		return
	}
	level, text := space(int64(fs.Bavail) * int64(fs.Bsize))
	add("free space", level, "%s", text)
}

// space judges the free space of the disk.
func space(free int64) (Level, string) {
	switch {
	case free < fullBelow:
		return Error, "none: nothing can be stored until there is space on this disk"
	case free < freeWarning:
		return Warning, fmt.Sprintf("%d MiB: make space before the disk is full", free>>20)
	}
	return OK, fmt.Sprintf("%d MiB", free>>20)
}
