package notify

import (
	"context"
	"strings"
	"testing"
)

// madeOf is a log that answers with these frames, up to a seq.
type madeOf struct {
	Log
	frames string
	upTo   int64
}

func (l *madeOf) Page(context.Context, Query) (Page, error) {
	return Page{Frames: []byte(l.frames), First: 1, Scanned: l.upTo, Latest: l.upTo}, nil
}

// FuzzFrames holds that no bytes that a log may answer with do harm: a cursor returns
// them, or an error. It never leaves the page, nor goes back.
func FuzzFrames(f *testing.F) {
	e := draft(7, "a", ItemDelta, 5)
	whole := string(e.AppendFrame(nil))
	for _, s := range []string{whole, whole + whole, whole[:len(whole)-1], "\n", "", frameMethod, frameMethod + `x"` + "\n",
		strings.Replace(whole, `"seq":7`, `"seq":-7`, 1), strings.Replace(whole, `"seq":7,`, "", 1), strings.Replace(whole, `{"seq":7`, `{"seq":"7"`, 1),
		strings.Replace(whole, `"seq":7`, `"seq":10`, 1), whole + strings.Replace(whole, `"seq":7`, `"seq":6`, 1)} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, sparse bool) {
		filter := Filter{}
		if sparse {
			filter.ThreadIDs = []string{"a"}
		}
		c := NewCursor(NewTail(1, 9), &madeOf{frames: s, upTo: 9}, filter, 0)
		defer c.Close()
		chunk, err := c.Next(t.Context(), 0)
		if err == nil && len(s) <= ChunkBytes && string(chunk) != s {
			t.Fatalf("%q of %q", chunk, s)
		}
		if err == nil && sparse && !c.Inside() && len(s) > 0 && c.After() != 9 {
			t.Fatalf("the cursor is at %d", c.After())
		}
	})
}

func TestSparseFramesSayTheirSeqs(t *testing.T) {
	var all []string
	for _, seq := range []int64{3, 4, 1000, 1e17} {
		e := draft(seq, "a", ItemDelta, 5)
		line := e.AppendFrame(nil)
		if got, ok := seqOf(line); !ok || got != seq {
			t.Errorf("%d of %s", got, line)
		}
		all = append(all, string(line))
	}
	// A bound inside a page leaves the rest for later.
	log := &madeOf{upTo: 1e18}
	c := NewCursor(NewTail(1, 1e18), log, Filter{ThreadIDs: []string{"a"}}, 0)
	defer c.Close()
	for _, w := range []struct {
		upTo, after int64
		returned    int // frames before this page
	}{{2, 2, 0}, {3, 3, 0}, {3, 3, 1}, {999, 999, 1}, {1e18, 1e18, 2}} {
		log.frames = strings.Join(all[w.returned:], "")
		if chunk, err := c.Next(t.Context(), w.upTo); err != nil || c.After() != w.after {
			t.Fatalf("up to %d: at %d, %v, %q", w.upTo, c.After(), err, chunk)
		}
	}
}
