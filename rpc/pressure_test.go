package rpc

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/persisttest"
)

func TestStreamsThatDoNotReadLargeEventsAreEndedForTheOthers(t *testing.T) {
	const unread, events, size = 100, 6, 1 << 20
	r, store := stored(t, 1)
	m := persisttest.NewMaker(t, store, "thread_a").Start()
	for range events {
		m.Messages("", 1, size)
		m.Commit()
	}
	dial := r.unix()
	slow := dial()
	replay(t, slow)
	for range unread {
		replay(t, dial())
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(&slowly{slow}, 16<<10), nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReaderSize(resp.Body, 64<<10)
	ended := false
	for next := int64(1); next <= events; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("a client that reads was ended before event %d: %v", next, err)
		}
		var frame struct {
			Method string
			Params struct{ Seq int64 }
		}
		if err := json.Unmarshal(line, &frame); err != nil {
			t.Fatal(err)
		}
		if frame.Method == notify.StreamOpened || frame.Method == notify.StreamHeartbeat {
			continue
		}
		if frame.Params.Seq != next {
			t.Fatalf("event %d instead of %d", frame.Params.Seq, next)
		}
		next++
		ended = ended || r.server.streams.len() <= unread
	}
	if !ended {
		t.Fatal("no stream was ended while the slow client read: it shows nothing")
	}
	for deadline := time.Now().Add(10 * time.Second); r.server.pages.Excess() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d streams hold %d bytes", r.server.streams.len(), r.server.pages.Used())
		}
	}
	// Those within the budget stay.
	if n := r.server.streams.len(); n < 10 {
		t.Errorf("%d streams are left", n)
	}
}

// slowly reads 16 KiB at a time, about 1 MiB a second.
type slowly struct{ io.Reader }

func (s *slowly) Read(b []byte) (int, error) {
	time.Sleep(10 * time.Millisecond)
	return s.Reader.Read(b[:min(len(b), 16<<10)])
}
