package notify

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// madeOf is a log that answers with these frames.
type madeOf struct {
	Log
	frames string
}

func (l *madeOf) Page(context.Context, Query) (Page, error) {
	return Page{Frames: []byte(l.frames), First: 1, Scanned: 9, Latest: 9}, nil
}

// FuzzFrames holds that no bytes that a log may answer with do harm: a cursor returns
// them, or an error.
func FuzzFrames(f *testing.F) {
	e := draft(7, "a", ItemDelta, 5)
	whole := string(e.AppendFrame(nil))
	for _, s := range []string{whole, whole + whole, whole[:len(whole)-1], "\n", "", frameMethod, frameMethod + `x"` + "\n",
		strings.Replace(whole, `"seq":7`, `"seq":-7`, 1), strings.Replace(whole, `"seq":7,`, "", 1), strings.Replace(whole, `{"seq":7`, `{"seq":"7"`, 1)} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, sparse bool) {
		filter := Filter{}
		if sparse {
			filter.ThreadIDs = []string{"a"}
		}
		c := NewCursor(NewTail(1, 9), &madeOf{frames: s}, filter, 0)
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
	var frames []byte
	for _, seq := range []int64{3, 4, 1000, 1e17} {
		e := draft(seq, "a", ItemDelta, 5)
		frames = e.AppendFrame(frames)
	}
	for line := range bytes.Lines(frames) {
		seq, ok := seqOf(line)
		if e := draft(seq, "a", ItemDelta, 5); !ok || !bytes.Equal(e.AppendFrame(nil), line) {
			t.Errorf("%d of %s", seq, line)
		}
	}
	// A bound inside a page leaves the rest for later.
	c := NewCursor(NewTail(1, 9), &madeOf{frames: string(frames)}, Filter{ThreadIDs: []string{"a"}}, 0)
	defer c.Close()
	for _, w := range []struct{ upTo, after int64 }{{2, 2}, {3, 3}, {3, 3}, {999, 999}} {
		if chunk, err := c.Next(t.Context(), w.upTo); err != nil || c.After() != w.after {
			t.Fatalf("up to %d: at %d, %v, %q", w.upTo, c.After(), err, chunk)
		}
	}
}
