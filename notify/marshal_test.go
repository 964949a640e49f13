package notify

import (
	"fmt"
	"sync"
	"testing"
)

// What Marshal keeps from one call to the next has no ids of another call in it,
// also when many call at once.
func TestHolesBelongToTheirCall(t *testing.T) {
	type body struct {
		A ID   `json:"a"`
		B []ID `json:"b"`
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				v := body{A: MakeID("ent_", Provisional(n)), B: make([]ID, i)}
				for j := range v.B {
					v.B[j] = MakeID("raw_", int64(n+1))
				}
				b, holes, err := Marshal(v)
				if err != nil || len(holes) != 1 {
					t.Errorf("%d holes, %v", len(holes), err)
					return
				}
				want := fmt.Sprintf(`{"a":"ent_%d"`, 100+n)
				if got := string(Fill(b, holes, 100)); got[:len(want)] != want {
					t.Errorf("got %s, want %s…", got, want)
				}
			}
		})
	}
	wg.Wait()
}
