package dispatch

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
)

// TestAStoredBodyKeepsItsLink: what was tried before the address of the console has changed
// is sent again as it was, also after a reset, and what comes later has the new one, or none.
func TestAStoredBodyKeepsItsLink(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		served := func(at string) {
			w.change = func(c *Config) { c.ConsoleURL = at }
			w.restart()
		}
		served("https://old.example")
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			return bridges.Result{Outcome: bridges.Failed, Arrived: true, Error: "timeout"}
		})
		m := w.thread("a")
		ends(m, "t1")
		synctest.Wait()
		served("https://new.example")
		w.target.set(nil)
		time.Sleep(time.Minute)
		ends(m, "t2")
		synctest.Wait()
		served("")
		ends(m, "t3")
		synctest.Wait()
		w.target.mu.Lock()
		got := w.target.got
		w.target.mu.Unlock()
		if n := len(got); n < 4 {
			t.Fatalf("%d attempts", n)
		}
		for _, a := range got[:len(got)-2] { // all attempts at the first
			if a.body != got[0].body || a.envelope.Data.URL != "https://old.example/#/thread/a" {
				t.Errorf("%s, first %s", a.body, got[0].body)
			}
		}
		last := got[len(got)-2:]
		if at := last[0].envelope.Data.URL; at != "https://new.example/#/thread/a" {
			t.Errorf("after the change: %q", at)
		}
		if strings.Contains(last[1].body, `"url"`) {
			t.Errorf("without an address: %s", last[1].body)
		}
		w.again("s", 0)
		time.Sleep(time.Minute)
		synctest.Wait()
		w.target.mu.Lock()
		again := w.target.got[len(got):]
		w.target.mu.Unlock()
		if len(again) != 3 || again[0].body != got[0].body || again[1].body != last[0].body || again[2].body != last[1].body {
			t.Errorf("after a reset: %+v", again)
		}
	})
}
