package notify

import (
	"fmt"
	"testing"
)

func TestMatcherSaysWhatItsFilterSays(t *testing.T) {
	for n := range 3 * fewThreads {
		for _, methods := range [][]string{nil, {"turn/*"}, {ItemDelta, ThreadStarted}} {
			f := Filter{Methods: methods}
			for i := range n {
				f.ThreadIDs = append(f.ThreadIDs, fmt.Sprint("t", 2*i))
			}
			m := f.matcher()
			for i := range 6 * fewThreads {
				for _, method := range []string{ItemDelta, ThreadStarted, TurnStarted, StreamRewind} {
					if id := fmt.Sprint("t", i); m.match(id, method) != f.Match(id, method) || m.match("", method) != f.Match("", method) {
						t.Fatalf("%d threads, %v: %s %s", n, methods, id, method)
					}
				}
			}
		}
	}
}
