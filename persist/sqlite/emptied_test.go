package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// An empty database would be taken for a new one, and its write-ahead log removed.
func TestAnEmptiedDatabaseIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		files   []string // beside the database
		content string   // of the database
		refused bool
	}{
		"a crash in the first start":                   {files: []string{"lock", "token"}},
		"a server has had a log there":                 {files: []string{"lock", "token", "processes"}, refused: true},
		"a write-ahead log is there":                   {files: []string{"lock", FileName + "-wal"}, refused: true},
		"damaged, not empty: SQLite says it by itself": {files: []string{"processes"}, content: "x", refused: false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(FileName, test.content)
			for _, name := range test.files {
				write(name, "something")
			}
			s, err := Open(Options{Dir: dir, Beside: []string{"processes"}})
			if err == nil {
				defer s.Close()
			}
			if _, refused := errors.AsType[*EmptyError](err); refused != test.refused {
				t.Fatalf("it says: %v", err)
			}
			if info, err := os.Stat(filepath.Join(dir, FileName+"-wal")); test.refused && test.files[len(test.files)-1] == FileName+"-wal" && (err != nil || info.Size() == 0) {
				t.Error("the write-ahead log is gone")
			}
		})
	}
}
