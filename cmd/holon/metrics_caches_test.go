package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// cacheSamples fetches the samples of these caches.
func (s *server) cacheSamples(names map[string][3]int) (list []string) {
	s.t.Helper()
	_, page := s.fetch("/metrics")
	for line := range strings.Lines(page) {
		_, of, _ := strings.Cut(line, `cache="`)
		name, _, _ := strings.Cut(of, `"`)
		if _, ok := names[name]; ok && strings.HasPrefix(line, "holon_cache_") {
			list = append(list, strings.TrimSpace(line))
		}
	}
	slices.Sort(list)
	return list
}

func TestMetricsOfCachesAreThereFromTheStartAndCountWhatHappened(t *testing.T) {
	s := startServer(t)
	same := func(when string, counts map[string][3]int) { // hits, misses, entries
		t.Helper()
		var want []string
		for name, c := range counts {
			for i, metric := range []string{"hits_total", "misses_total", "entries"} {
				want = append(want, fmt.Sprintf("holon_cache_%s{cache=%q} %d", metric, name, c[i]))
			}
		}
		slices.Sort(want)
		if have := s.cacheSamples(counts); !slices.Equal(have, want) {
			t.Errorf("%s the metrics are\n%s\nwant\n%s", when, strings.Join(have, "\n"), strings.Join(want, "\n"))
		}
	}
	same("at the start", map[string][3]int{"summaries": {}, "parents": {}, "titles": {}, "git": {}})

	s.did("thread/start", `{"thread_id":"a"}`)
	s.did("thread/start", `{"thread_id":"b","parent":{"thread_id":"a"}}`)
	// That of git is read in the background: what it counts depends on when.
	list := func() { s.did("thread/list", `{"view":"summary"}`) }
	list()
	same("after a list", map[string][3]int{"summaries": {0, 2, 2}, "parents": {}, "titles": {0, 2, 0}})
	list()
	same("after the same list", map[string][3]int{"summaries": {2, 2, 2}, "parents": {}, "titles": {0, 2, 0}})
	s.did("thread/pause", `{"thread_id":"a"}`)
	list()
	same("after a change", map[string][3]int{"summaries": {3, 3, 2}, "parents": {}, "titles": {0, 3, 0}})

	limited := s.newToken("some", "--role", "read", "--thread", "a") // the command reads the thread that it names
	for range 3 {
		if _, text := s.as(limited, "inbox/read", `{"thread_id":"b"}`); !strings.Contains(text, `"result"`) {
			t.Fatal(text)
		}
	}
	same("after requests with a limited token", map[string][3]int{"summaries": {4, 3, 2}, "parents": {2, 1, 1}, "titles": {0, 3, 0}})
}
