package browsertest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// maxBytes is what the page may weigh, compressed, until it can be used.
const maxBytes = 150_000

type counts struct{ Renders, Frames, Events, Requests, Connections int }

// What the page costs does not depend on how much there is: rows in the page, drawings per
// frame, bytes, requests.
func TestThePageCostsLittleWhateverThereIs(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		thread := s.thread("echo", object{"title": "The long one"})
		s.ended(thread, "/items 3000 20")
		s.ended(thread, "/deltas 2000 20")
		for range 20 {
			s.ended(thread, "/say more")
		}

		p := blank(t, s, f)
		loaded := p.weigh()
		p.navigate("#/")
		p.untilPage("overview")
		if n := loaded.Load(); n > maxBytes || n < 10_000 {
			t.Errorf("the page weighs %d bytes, want at most %d", n, maxBytes)
		}
		p.goTo("#/thread/" + thread)
		p.untilSeq()
		rows := func() int { return read[int](p, "document.querySelectorAll('.row').length") }
		p.until("document.querySelectorAll('.row').length >= 50") // a frame after the data
		if n := rows(); n > 200 {
			t.Errorf("%d rows of a thread of 3,000 items, want at most 200", n)
		}
		if n := read[counts](p, "holon.counters").Requests; n > 20 {
			t.Errorf("%d requests for the overview and a thread, want at most 20", n)
		}
		oldest := read[string](p, "document.querySelector('.row').id")
		for range 5 { // to the beginning, page by page, there are never more
			p.eval("document.querySelector('.lines').scrollTop = 0")
			p.until("document.querySelector('.row').id !== " + quote(oldest))
			oldest = read[string](p, "document.querySelector('.row').id")
			if n := rows(); n > 200 {
				t.Errorf("%d rows", n)
			}
		}
		p.press("button", "Follow the end")
		p.seesNot("button", "Follow the end")
		p.sees(".row:last-child .end", "Done")
		p.exact()

		p.eval("look.countFrames()")
		before := read[counts](p, "holon.counters")
		s.ended(thread, "/items 2000 20\n/deltas 5000 20")
		p.untilSeq()
		after, frames := read[counts](p, "holon.counters"), read[int](p, "look.framesSince()")
		seconds := read[float64](p, "look.secondsSince()") // a busy machine draws few frames a second
		if n := after.Events - before.Events; n < 2000 {   // the server joins deltas
			t.Errorf("%d events have come", n)
		}
		if n := after.Renders - before.Renders; n > frames+2 {
			t.Errorf("drawn %d times in %d frames", n, frames)
		}
		// Rows of threads are read again at most four times a second, whatever comes. Three
		// readers do so.
		if n, most := after.Requests-before.Requests, 10+int(12*seconds); n > most {
			t.Errorf("%d requests for 2,000 items and 5,000 deltas in %.1f s, want at most %d", n, seconds, most)
		}
		if after.Connections != before.Connections {
			t.Errorf("%d connections", after.Connections)
		}
		if n := rows(); n > 200 {
			t.Errorf("%d rows", n)
		}
		p.exact()
	})
}

// An overview of many threads, and its pages of questions and bridges, stay small too.
func TestAnOverviewOfManyThreadsStaysSmall(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		for i := range 600 {
			s.call("thread/start", object{"agent": "echo", "title": fmt.Sprintf("Thread %d", i)})
		}
		p := open(t, s, f, "#/")
		p.sees("li.card", "Thread 599")
		before := read[counts](p, "holon.counters")
		p.press("button", "Show older threads")
		p.sees("li.card", "Thread 399")
		if n := read[int](p, "document.querySelectorAll('li.card').length"); n != 200 {
			t.Errorf("%d cards", n)
		}
		if y := read[float64](p, "scrollY"); y != 0 {
			t.Errorf("the older threads are shown from %v px on", y)
		}
		if n := before.Requests; n > 10 {
			t.Errorf("%d requests for an overview", n)
		}
	}, phoneLight)
}

// weigh counts the bytes of the files that the page loads from now on, compressed as they
// are sent, without the headers of the answers.
func (p *tab) weigh() *atomic.Int64 {
	p.t.Helper()
	var loaded atomic.Int64
	files := map[network.RequestID]float64{}
	if err := chromedp.Listen(p.ctx, func(ev any) {
		switch e := ev.(type) {
		case *network.EventResponseReceived:
			if e.Type != network.ResourceTypeFetch {
				files[e.RequestID] = e.Response.EncodedDataLength
			}
		case *network.EventLoadingFinished:
			if headers, ok := files[e.RequestID]; ok {
				loaded.Add(int64(e.EncodedDataLength - headers))
			}
		}
	}); err != nil {
		p.t.Fatal(err)
	}
	return &loaded
}
