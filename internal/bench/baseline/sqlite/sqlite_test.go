package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/seed82539d15/holon/notify"
	store "github.com/seed82539d15/holon/persist/sqlite"
)

// A baseline that wrote less than the server would be useless: the server's own
// store must be able to read its data.
func TestBaselineWritesWhatTheServerReads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var out bytes.Buffer
	if err := Run(context.Background(), []string{"--dir", dir, "--threads", "3", "--items", "20", "--group", "8"}, nil, &out); err != nil {
		t.Fatal(err)
	}
	var r Result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if want := int64(3 * (20 + 4)); r.Events != want || r.Seconds <= 0 {
		t.Fatalf("%d events in %v s, want %d", r.Events, r.Seconds, want)
	}
	s, err := store.Open(store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	counts, err := s.Reader().Counts(context.Background())
	if err != nil || counts.Latest != r.Events || counts.Threads != 3 || counts.TurnsActive != 0 {
		t.Fatalf("the store counts %+v, %v", counts, err)
	}
	page, err := s.Reader().Page(context.Background(), notify.Query{MaxEvents: 100, MaxBytes: 1 << 20})
	if err != nil || int64(len(page.Events)) != r.Events {
		t.Fatalf("%d events can be read, %v", len(page.Events), err)
	}
	for _, e := range page.Events {
		var h notify.Header
		if err := json.Unmarshal(e.Params, &h); err != nil || h.Seq != e.Seq || h.ThreadSeq == 0 || h.ThreadID == "" {
			t.Fatalf("event %d has params %s: %v", e.Seq, e.Params, err)
		}
	}
}
