package sqlite

import (
	"context"
	"testing"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// A list says of a question what the form does that answers it: by what the question is about,
// not by its title, which is often only a path.
func TestAListSaysWhatAQuestionIsAbout(t *testing.T) {
	for name, test := range map[string]struct{ about, want string }{
		"a change of the thread":    {"item_change", "write out.txt"},
		"nothing that is there":     {"item_none", "/home/me/src/out.txt"},
		"an item of another thread": {"item_other", "/home/me/src/out.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			s := running(t, Options{Dir: t.TempDir()})
			other := persisttest.NewMaker(t, s, "thread_b").Start()
			other.Attempt("turn_b")
			other.Create("turn_b", "item_other", items.StatusInProgress, items.FileChange{Type: items.KindFileChange, Changes: []items.Change{{Path: "secret.txt", Operation: "add"}}})
			other.Commit()
			m := persisttest.NewMaker(t, s, "thread_a").Start()
			m.Attempt("turn_a")
			m.Create("turn_a", "item_change", items.StatusInProgress, items.FileChange{Type: items.KindFileChange, Title: "/home/me/src/out.txt", Changes: []items.Change{{Path: "out.txt", Operation: "add"}}})
			m.Create("turn_a", "item_ask", items.StatusPending, items.PermissionRequest{
				Type: items.KindPermissionRequest, Title: "/home/me/src/out.txt", Subject: items.Subject{Type: "item", ItemID: test.about},
			})
			m.Commit()
			l, err := s.reader.Summaries(context.Background(), turns.SummaryQuery{Query: threads.Query{IDs: []string{"thread_a"}}})
			if err != nil || len(l.Rows) != 1 {
				t.Fatalf("%v, %v", l, err)
			}
			got := l.Rows[0].Summary
			if len(got.Waiting) != 1 || got.Waiting[0].Title != test.want || got.Text != test.want {
				t.Errorf("waiting for %+v, %q; want %q", got.Waiting, got.Text, test.want)
			}
		})
	}
}
