package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/sqlite"
)

// largeEvents makes a log of events of a size.
func largeEvents(t *testing.T, tailBytes, events, size int) (*rig, *sqlite.Store, *persisttest.Maker) {
	r, store := stored(t, tailBytes)
	m := persisttest.NewMaker(t, store, "thread_a").Start()
	for range events {
		m.Messages("", 1, size)
		m.Commit()
	}
	return r, store, m
}

// framesOf reads the log as frames.
func framesOf(t *testing.T, store *sqlite.Store) (frames []byte) {
	p, err := store.Reader().Page(t.Context(), notify.Query{MaxEvents: 1000, MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Events {
		frames = p.Events[i].AppendFrame(frames)
	}
	return frames
}

// eventually waits until f reports true.
func eventually(t *testing.T, what func() string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what())
		}
	}
}

// Streams that do not read hold a chunk each, however large their events are, from one
// copy. None of them is ended, and one that reads gets the same bytes as ever.
func TestStreamsThatDoNotReadLargeEventsHoldAChunkEach(t *testing.T) {
	const unread, events, size = 200, 6, 1 << 20
	for _, live := range []bool{false, true} {
		t.Run(fmt.Sprint("live ", live), func(t *testing.T) {
			tailBytes := 1
			if live {
				tailBytes = 64 << 20
			}
			r, store, m := largeEvents(t, tailBytes, 0, size)
			r.server.limits.WriteTimeoutSeconds = 3600
			dial := r.unix()
			begin := func() {
				for i := range unread {
					path := []string{"/rpc/stream?after_seq=0", "/events?after_seq=0", "/rpc/stream?after_seq=0&collapse=superseded", "/rpc/stream?after_seq=0&method=item/*"}[i%4]
					if _, err := io.WriteString(dial(), "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
						t.Fatal(err)
					}
				}
				eventually(t, func() string { return fmt.Sprint(r.server.streams.len(), " streams") }, func() bool { return r.server.streams.len() == unread })
			}
			if live {
				begin()
			}
			for range events {
				m.Messages("", 1, size)
				m.Commit()
			}
			if !live {
				begin()
			}
			reader := dial()
			replay(t, reader)
			resp, err := http.ReadResponse(bufio.NewReader(reader), nil)
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(resp.Body)
			var got []byte
			for want := framesOf(t, store); len(got) < len(want); {
				line, err := lines.ReadBytes('\n')
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Contains(line, []byte(`"method":"stream/`)) {
					got = append(got, line...)
				}
				if !bytes.HasPrefix(want, got) {
					t.Fatalf("after %d bytes: %.200s", len(got), line)
				}
			}
			// Those that do not read have all begun the first large event.
			most := int64(r.server.limits.ReplayBytes + unread*notify.SmallChunkBytes)
			holding := func() int64 { return r.server.chunks.Used() / notify.SmallChunkBytes }
			eventually(t, func() string { return fmt.Sprint(holding()) }, func() bool { return holding() >= unread })
			if used := r.server.chunks.Used(); used > most {
				t.Errorf("%d streams hold %d bytes, at most %d are wanted", unread, used, most)
			}
			if n := store.Reader().CopyBytes(); n > 8<<20 || n == 0 && !live {
				t.Errorf("%d bytes of copies", n)
			}
			if n := r.server.streams.len(); n != unread+1 {
				t.Errorf("%d of %d streams are left", n, unread+1)
			}
		})
	}
}

// On a two-way stream nothing comes between the parts of a large event: neither the
// answers nor the heartbeats nor another subscription.
func TestNothingComesBetweenThePartsOfAnEvent(t *testing.T) {
	r, store, _ := largeEvents(t, 1, 3, 3<<20)
	r.server.limits.HeartbeatSeconds = 0.001
	st := r.open("POST", "/rpc/stream?after_seq=0")
	st.expect("stream/opened")
	for i := range 50 {
		st.send(request(fmt.Sprint(i+1), "holon/status", `{}`))
	}
	st.send(request("99", "stream/subscribe", `{"after_seq":0}`))
	var got strings.Builder
	want := string(framesOf(t, store))
	answers := 0
	for answers < 51 || got.Len() < len(want) {
		line := st.next()
		switch {
		case strings.Contains(line, `"method":"stream/`):
		case strings.Contains(line, `"method":"`):
			got.WriteString(line + "\n")
		default:
			answers++
			if m := parse(t, line); m.Error != nil {
				t.Fatal(line)
			}
			if strings.Contains(line, `"id":99`) {
				got.Reset() // the subscription began anew
			}
		}
	}
	if got.String() != want {
		t.Errorf("%d bytes of events, want %d", got.Len(), len(want))
	}
}

// If the rest of an event is gone, the connection breaks: the client does not take what
// it has for a line, nor for the end of the stream.
func TestAStreamWhoseEventIsGoneBreaks(t *testing.T) {
	r := newRigWith(t, newMemory(1))
	r.memory.append(t, bigItem(20<<20))
	r.memory.append(t, started()) // the tail has only this
	for _, path := range []string{"/rpc/stream?after_seq=0", "/events?after_seq=0"} {
		r.memory.prune(1)
		resp, err := r.client.Get(r.url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		beginning := make([]byte, 100_000)
		if _, err := io.ReadFull(resp.Body, beginning); err != nil {
			t.Fatal(err)
		}
		r.memory.prune(2)
		rest, err := io.ReadAll(resp.Body)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s ended with %v", path, err)
		}
		if bytes.Contains(rest, []byte("\n")) {
			t.Errorf("%s: a line after %d bytes", path, len(rest))
		}
	}
}
