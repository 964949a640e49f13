package persisttest

import (
	"slices"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
)

// wholeThreads reads pages of summaries: without item/delta, but with those of the
// threads that are whole.
func wholeThreads(t *testing.T, h Harness) {
	for _, id := range []string{"thread_a", "thread_b", "thread_c"} {
		k := NewMaker(t, h.Store, id).Start()
		k.Create("", "item_of_"+id, items.StatusInProgress, items.NewAgentMessage(""))
		for n := range 7 {
			k.Delta("", "item_of_"+id, "x", n)
		}
		k.Commit()
	}
	log := all(t, h.Store)
	for _, c := range []struct{ threads, whole []string }{
		{nil, nil}, {nil, []string{"thread_b"}}, {nil, []string{"thread_c", "thread_a", "thread_c", "thread_none"}}, {nil, []string{"thread_none"}},
		{[]string{"thread_a"}, []string{"thread_a"}}, {[]string{"thread_a"}, []string{"thread_b"}}, {[]string{"thread_a", "thread_b"}, []string{"thread_b", "thread_c"}},
	} {
		q := notify.Query{Summary: true, Whole: c.whole, Filter: notify.Filter{ThreadIDs: c.threads}, MaxEvents: 3, MaxBytes: 1 << 20}
		want := slices.DeleteFunc(slices.Clone(log), func(e notify.Event) bool {
			of, err := fold.Parse(e.Method, e.Params)
			if err != nil {
				t.Fatal(err)
			}
			return len(c.threads) > 0 && !slices.Contains(c.threads, of.ThreadID) || e.Method == notify.ItemDelta && !slices.Contains(c.whole, of.ThreadID)
		})
		sameEvents(t, "summaries", paged(t, h.Store, q), want)
	}
}
