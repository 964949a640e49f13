package sqlite

import (
	"context"
	"slices"
	"testing"

	"github.com/seed82539d15/holon/persist/persisttest"
)

// Each kind of damage to inboxes has its own finding.
func TestDoctorSeesDamagedInboxes(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct{ want, damage string }{
		{"inboxes", "UPDATE inboxes SET unacked_items = 9"},
		{"inboxes", "UPDATE inbox_items SET acked_seq = 7 WHERE created_seq = 8"},
		{"inboxes", "UPDATE inbox_digests SET pending = 0"},
		{"inboxes", "UPDATE inbox_entries SET superseded_by = 0"},
		{"inboxes", "UPDATE inbox_entries SET fresh = 0"},
		{"inboxes", "DELETE FROM inbox_timers"},
		{"inbox items", "DELETE FROM inboxes"},
		{"inbox items", "UPDATE inbox_items SET created_seq = 1 WHERE created_seq = 8"},
		{"rows", "UPDATE inboxes SET updated_seq = 100"},
		{"rows", "UPDATE inbox_entries SET superseded_by = 100 WHERE superseded_by > 0"},
		{"rows", "UPDATE inbox_items SET acked_seq = 100 WHERE acked_seq > 0"},
		{"rows", "UPDATE inbox_digests SET last_raw = 100"},
		{"rows", "UPDATE inbox_subscriptions SET created_seq = 100"},
		{"rows", "UPDATE inbox_timers SET created_seq = 100"},
	} {
		t.Run(c.damage, func(t *testing.T) {
			s := running(t, Options{Dir: t.TempDir()})
			persisttest.InboxExample(t, whole{s, s.view})
			if bad := worst(t, s.view); len(bad) > 0 {
				t.Errorf("of a sound log: %v", bad)
			}
			if err := s.Do(ctx, func() error { return s.w.conn.run(c.damage) }); err != nil {
				t.Fatal(err)
			}
			if bad := worst(t, s.view); !slices.ContainsFunc(bad, func(f Finding) bool { return f.Name == c.want }) {
				t.Errorf("found %v, want %s", bad, c.want)
			}
		})
	}
}
