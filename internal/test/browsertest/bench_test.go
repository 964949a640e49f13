package browsertest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// What a person feels, in times: `make bench-people`. It is no part of the tests, since a
// busy machine is no fault of the page.
func TestWhatAPersonFeels(t *testing.T) {
	if os.Getenv("BENCH_CONSOLE") == "" {
		t.Skip("NOT TESTED: times are measured by make bench-people")
	}
	needsBrowser(t)
	s := serve(t, "[agents.worker]\nkind = \"worker\"\n")
	for i := range 200 {
		s.call("thread/start", object{"agent": "echo", "title": fmt.Sprintf("Thread %d", i)})
	}
	var opened, files []float64
	for i := range 11 {
		t.Run(fmt.Sprint("open ", i), func(t *testing.T) { // a tab with nothing kept, which is closed again
			p := open(t, s, desktopLight, "#/")
			opened = append(opened, read[float64](p, "look.readyAt"))
			files = append(files, read[float64](p, "Math.max(...performance.getEntriesByType('resource').filter(r => r.initiatorType !== 'fetch').map(r => r.responseEnd))"))
		})
	}
	opened, files = opened[1:], files[1:] // the first one warms the browser up
	slices.Sort(opened)
	slices.Sort(files)
	t.Logf("the files had come after %.1f ms", files[len(files)/2])
	say(t, "first content, 200 threads, nothing kept, median of 10", opened[len(opened)/2], "ms", 300)

	const perSecond, seconds, batch = 5000, 10, 100
	thread := s.thread("worker", object{"title": "The fast one"})
	s.turn(thread, "go", nil)
	lease := s.call("turn/claim", object{"agent": "worker"})["lease"]
	s.call("item/create", object{"lease": lease, "item_id": "fast", "content": message("")})
	p := open(t, s, desktopLight, "#/thread/"+thread)
	p.sees("article[data-status=in_progress]", "")
	p.press("#composer", "")
	p.eval("look.measureKeys()")
	ops := []object{}
	for range batch {
		ops = append(ops, object{"op": "append", "item_id": "fast", "text": "a word or two "})
	}
	began := time.Now()
	tick := time.NewTicker(time.Second * batch / perSecond)
	defer tick.Stop()
	for n := range seconds * perSecond / batch {
		s.call("item/batch", object{"lease": lease, "ops": ops})
		if n%10 == 9 {
			p.key("x")
		}
		<-tick.C
	}
	took := time.Since(began)
	p.untilSeq()
	behind := time.Since(began) - took
	p.until("look.keys.length >= 40")
	keys := read[[]float64](p, "look.keys")
	slices.Sort(keys)
	t.Logf("%.0f deltas a second were written, %d frames were drawn", seconds*perSecond/took.Seconds(), read[int](p, "look.framesSince()"))
	say(t, "a key until it is drawn, at that rate, median", keys[len(keys)/2], "ms", 50)
	say(t, "the same, 95 of 100", keys[len(keys)*95/100], "ms", 100)
	say(t, "the page is behind the log, at the end", float64(behind.Milliseconds()), "ms", 1000)
	p.exact()
}

func say(t *testing.T, what string, value float64, unit string, most float64) {
	verdict := "yes"
	if value > most {
		verdict = "NO"
	}
	t.Log(strings.TrimSpace(fmt.Sprintf("%-58s %9.1f %-4s ≤ %-5g %s", what, value, unit, most, verdict)))
}
