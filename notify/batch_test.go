package notify

import (
	"strings"
	"testing"
)

func TestSparseFramesSayTheirSeqs(t *testing.T) {
	var frames []byte
	for _, seq := range []int64{3, 4, 1000, 1e17} {
		e := draft(seq, "a", ItemDelta, 5)
		frames = e.AppendFrame(frames)
	}
	b, err := batchOf(2, 1e18, frames, true)
	if err != nil || len(b.seqs) != 4 || b.seqs[0] != 3 || b.seqs[3] != 1e17 || b.last != 1e18 {
		t.Fatalf("%+v, %v", b, err)
	}
	for after, want := range map[int64]int{0: 0, 2: 0, 3: 1, 5: 2, 999: 2, 1000: 3, 1e17: 4} {
		if got := b.index(after); got != want {
			t.Errorf("after %d: index %d, want %d", after, got, want)
		}
	}
}

// FuzzFrames holds that no bytes that a log may answer with do harm: they are
// frames with a seq each, or an error.
func FuzzFrames(f *testing.F) {
	e := draft(7, "a", ItemDelta, 5)
	whole := string(e.AppendFrame(nil))
	for _, s := range []string{whole, whole + whole, whole[:len(whole)-1], "\n", "", frameMethod, frameMethod + `x"` + "\n",
		strings.Replace(whole, `"seq":7`, `"seq":-7`, 1), strings.Replace(whole, `"seq":7,`, "", 1), strings.Replace(whole, `{"seq":7`, `{"seq":"7"`, 1)} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, sparse bool) {
		b, err := batchOf(1, 9, []byte(s), sparse)
		if err != nil {
			return
		}
		if n := strings.Count(s, "\n"); len(b.ends) != n || sparse && len(b.seqs) != n || n > 0 && int(b.ends[n-1]) != len(s) {
			t.Fatalf("%d frames with %d seqs of %q", len(b.ends), len(b.seqs), s)
		}
		for i := range b.seqs {
			if b.seqs[i] < 0 {
				t.Fatalf("seq %d of %q", b.seqs[i], s)
			}
		}
	})
}
