package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"
	"time"
)

func TestChunksAreTakenApartHoweverTheyArrive(t *testing.T) {
	var framed strings.Builder
	w := httputil.NewChunkedWriter(&framed)
	want := strings.Repeat("a line\nanother, longer one\n", 300)
	for rest := want; rest != ""; {
		n := min(len(rest), 1+rand.IntN(200))
		_, _ = io.WriteString(w, rest[:n])
		rest = rest[n:]
	}
	w.Close()
	all := framed.String() + "\r\n"
	for _, size := range []int{1, 2, 3, 7, 100, len(all)} {
		var c chunks
		var got strings.Builder
		var err error
		for rest := all; rest != "" && err == nil; {
			n := min(size, len(rest))
			err = c.feed([]byte(rest[:n]), func(b []byte) { got.Write(b) })
			rest = rest[n:]
		}
		if got.String() != want || !errors.Is(err, io.EOF) {
			t.Errorf("in pieces of %d: %d bytes of %d, %v", size, got.Len(), len(want), err)
		}
	}
}

func TestMalformedChunkIsAnError(t *testing.T) {
	for _, in := range []string{"2\r\nabX", "ffffffffffffffff\r\n"} {
		if err := new(chunks).feed([]byte(in), func([]byte) {}); !errors.Is(err, errChunk) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestStreamCountsLinesOfAChunkedResponse(t *testing.T) {
	const lines = 5000
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range lines {
			fmt.Fprintf(w, "line %d\n", i)
		}
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	s, err := Open(context.Background(), server.Listener.Addr().String(), "GET", "/", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.KeepTail = true
	if err := s.Until(lines); err != nil {
		t.Fatal(err)
	}
	if s.Lines != lines || !strings.HasSuffix(string(s.Tail), fmt.Sprintf("\nline %d\n", lines-1)) {
		t.Fatalf("%d lines, ending in %.40q", s.Lines, s.Tail)
	}
}

func TestStreamReadsAPlainSocket(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "one\ntwo\n")
		c.Close()
	}()
	s, err := Dial(context.Background(), l.Addr().String(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Until(2); err != nil {
		t.Fatal(err)
	}
	if err := s.Until(3); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("after the end: %v", err)
	}
}

func TestRefusedRequestSaysWhatTheServerSaid(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such place", http.StatusNotFound)
	}))
	defer server.Close()
	_, err := Open(context.Background(), server.Listener.Addr().String(), "GET", "/", 10*time.Second)
	if err == nil || !strings.Contains(err.Error(), "no such place") {
		t.Fatal(err)
	}
}
