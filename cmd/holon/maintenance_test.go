package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/persist/sqlite"
)

func TestBackupRestoreExportAndDoctorBesideTheServer(t *testing.T) {
	s := startServer(t)
	if err := os.Chmod(s.data, 0o700); err != nil {
		t.Fatal(err)
	}
	s.want("run", "hello")
	s.want("run", "world")
	exported := s.want("export")
	events := s.events()
	if n := strings.Count(exported, "\n"); n != len(events) {
		t.Errorf("exported %d lines of %d events", n, len(events))
	}
	if rest := s.want("export", "--after", "3"); !strings.HasSuffix(exported, rest) || strings.Count(rest, "\n") != len(events)-3 {
		t.Errorf("exported after 3: %q", rest)
	}
	report := oneObject(t, s.want("doctor", "--refold", "-o", "json"))
	if report["ok"] != true {
		t.Errorf("doctor says %v", report)
	}

	file := filepath.Join(t.TempDir(), "backup.db")
	s.want("backup", file)
	if r := s.holon("backup", file); r.code != exitFailed || !strings.Contains(r.err, "exists") {
		t.Errorf("a backup over a file: %+v", r)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	made := oneObject(t, s.want("restore", file, "--data", dir, "-o", "json"))
	if made["latest_seq"] != float64(len(events)) {
		t.Errorf("restored %v", made)
	}
	if r := s.holon("restore", file, "--data", dir); r.code != exitFailed || !strings.Contains(r.err, "not empty") {
		t.Errorf("a restore over a log: %+v", r)
	}
	if r := holon(t, dir, "", "doctor", "--refold"); r.code != exitOK {
		t.Errorf("doctor on what was restored: %+v", r)
	}
	if r := holon(t, dir, "", "export"); r.out != exported {
		t.Errorf("the restored log is another: %+v", r)
	}
}

func TestPruneAsksTheServerOrOpensTheLog(t *testing.T) {
	s := startServer(t)
	s.want("run", "hello")
	first := oneObject(t, s.want("prune", "--before", "3", "-o", "json"))
	if first["first_seq"] != float64(3) || first["pruned"] != float64(2) {
		t.Errorf("through the server: %v", first)
	}
	s.stop()
	second := oneObject(t, s.want("prune", "--before", "5", "-o", "json"))
	if second["first_seq"] != float64(5) || second["pruned"] != float64(2) {
		t.Errorf("without a server: %v", second)
	}
	if r := s.holon("export", "--after", "2"); r.code != exitUsage || !strings.Contains(r.err, "begins at 5") {
		t.Errorf("an export of what is gone: %+v", r)
	}
	if r := s.holon("prune"); r.code != exitUsage {
		t.Errorf("prune without a seq: %+v", r)
	}
}

func TestMaintenanceNeedsALog(t *testing.T) {
	for _, args := range [][]string{{"doctor"}, {"export"}, {"backup", "x.db"}, {"prune", "--before", "2"}} {
		dir := freshDir(t)
		r := holon(t, dir, "", args...)
		if r.code != exitFailed || !strings.Contains(r.err, "there is no log") {
			t.Errorf("%v: %+v", args, r)
		}
		if _, err := os.Stat(filepath.Join(dir, sqlite.FileName)); err == nil {
			t.Errorf("%v made a log", args)
		}
	}
}

func TestDoctorFailsOnDamage(t *testing.T) {
	s := startServer(t)
	s.want("run", "hello")
	s.stop()
	path := filepath.Join(s.data, sqlite.FileName)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := s.holon("doctor"); r.code != exitFailed || !strings.Contains(r.out, "open to others") {
		t.Errorf("a log that others can read: %+v", r)
	}
}
