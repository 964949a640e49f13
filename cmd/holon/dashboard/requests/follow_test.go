package requests

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// streams is a server of a log: serve answers the nth connection, counted from 1, and
// says whether it stays open.
type streams struct {
	serve func(n int, w http.ResponseWriter) (stays bool)
	below string // a thread below that begins

	mu      sync.Mutex
	cursors []string // what each connection has asked for
}

func (s *streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("within_thread_id") { // the threads below
		open(w, 3, 2)
		if s.below != "" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"thread/started","params":{"seq":10,"thread_id":%q,"timestamp":"2026-11-21T10:00:00.000Z"}}`+"\n", s.below)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
		return
	}
	s.mu.Lock()
	s.cursors = append(s.cursors, r.URL.Query().Get("thread_id")+" after "+r.URL.Query().Get("after_seq"))
	n := len(s.cursors)
	s.mu.Unlock()
	if s.serve(n, w) {
		<-r.Context().Done()
	}
}

// open writes the beginning of a stream and some events.
func open(w http.ResponseWriter, from, to int) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"stream/opened","params":{"log_id":"log","after_seq":%d,"heartbeat_seconds":15}}`+"\n", from-1)
	for seq := from; seq <= to; seq++ {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"turn/progress","params":{"seq":%d,"thread_id":"t","timestamp":"2026-11-21T10:00:00.000Z"}}`+"\n", seq)
	}
	w.(http.Flusher).Flush()
}

// cut breaks the connection.
func cut() { panic(http.ErrAbortHandler) }

// follow follows thread t after seq 2 until what was sent satisfies until, or Follow ends
// by itself. It returns what was sent, a word each.
func follow(t *testing.T, s *streams, until string) (said []string, ended error) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	c := client.New(client.At(server.URL, client.SourceGiven, "", false))
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	action := screen.Follow{Thread: "t", After: 2}
	Follow(ctx, c, action, func(msg tea.Msg) {
		switch msg := msg.(type) {
		case []client.Event:
			for _, e := range msg {
				said = append(said, fmt.Sprint(e.Seq))
			}
		case screen.Connection:
			said = append(said, string(msg.State.Kind))
		case screen.Below:
			said = append(said, "below")
		case screen.Done:
			if msg.Action != action {
				t.Errorf("the end of %#v", msg.Action)
			}
			ended = msg.Err
		}
		if strings.Contains(strings.Join(said, " ")+" ", until+" ") {
			cancel()
		}
	})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("only %v came", said)
	}
	return said, ended
}

func TestFollowGoesOnWhereTheConnectionBroke(t *testing.T) {
	s := &streams{serve: func(n int, w http.ResponseWriter) bool {
		if n == 1 {
			open(w, 3, 5)
			cut()
		}
		open(w, 5, 7) // one that has come already
		return true
	}}
	said, ended := follow(t, s, "7")
	if got := strings.Join(said, " "); got != "connected 3 4 5 lost resumed 6 7" || ended != nil {
		t.Errorf("%s, %v", got, ended)
	}
	if got := strings.Join(s.cursors, ", "); got != "t after 2, t after log:5" {
		t.Errorf("it has asked for %s", got)
	}
}

func TestFollowWaitsForAServerThatIsGone(t *testing.T) {
	s := &streams{serve: func(n int, w http.ResponseWriter) bool {
		if n < 4 {
			cut()
		}
		open(w, 3, 3)
		return true
	}}
	if said, ended := follow(t, s, "3"); strings.Join(said, " ") != "lost lost lost connected 3" || ended != nil {
		t.Errorf("%v, %v", said, ended)
	}
}

func TestFollowEndsWhenTheLogHasAGap(t *testing.T) {
	s := &streams{serve: func(_ int, w http.ResponseWriter) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"pruned","data":{"kind":"cursor_expired","retryable":false}}}`)
		return false
	}}
	if said, ended := follow(t, s, "lost"); !client.IsKind(ended, client.KindCursorExpired) || len(said) > 0 {
		t.Errorf("%v, %v", said, ended)
	}
}

func TestFollowTellsOfThreadsBelow(t *testing.T) {
	s := &streams{below: "child", serve: func(_ int, w http.ResponseWriter) bool {
		open(w, 3, 2)
		return true
	}}
	if said, ended := follow(t, s, "below"); ended != nil {
		t.Errorf("%v, %v", said, ended)
	}
}

// A stream tells of threads below, without what agents print. What happens in the thread
// itself comes on its own stream.
func TestOnlyThreadsBelowAreToldOf(t *testing.T) {
	for thread, want := range map[string]int{"t": 0, "child": 1} {
		var asked url.Values
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.Query()
			open(w, 3, 2)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"turn/started","params":{"seq":9,"thread_id":%q,"timestamp":"2026-11-21T10:00:00.000Z"}}`+"\n", thread)
			fmt.Fprintln(w, `{"jsonrpc":"2.0","method":"stream/closing","params":{"code":"unsubscribed","reconnect":false,"seq":9}}`)
		}))
		c := client.New(client.At(server.URL, client.SourceGiven, "", false))
		told := 0
		followBelow(t.Context(), c, screen.Follow{Thread: "t", After: 2}, func() error { told++; return nil })
		c.Close()
		server.Close()
		if told != want {
			t.Errorf("%d events are told after one of %s", told, thread)
		}
		want := url.Values{"within_thread_id": {"t"}, "method": belowEvents, "content": {"summary"}, "after_seq": {"2"}}
		if !reflect.DeepEqual(asked, want) {
			t.Errorf("it asks for %v, want %v", asked, want)
		}
	}
}

func TestEventsComeTogetherAndInTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pieces := make(chan tea.Msg, 2*mostTogether)
		var got []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			gatherEvents(pieces, func(msg tea.Msg) {
				if events, ok := msg.([]client.Event); ok {
					got = append(got, fmt.Sprintf("%d-%d", events[0].Seq, events[len(events)-1].Seq))
					return
				}
				got = append(got, fmt.Sprintf("%T", msg))
			})
		}()
		put := func(from, to int) {
			for seq := from; seq <= to; seq++ {
				pieces <- client.Event{Seq: int64(seq)}
			}
			synctest.Wait()
		}
		put(1, mostTogether+5) // a batch at once, the rest waits
		put(mostTogether+6, mostTogether+6)
		time.Sleep(gather)
		put(2000, 2001)
		pieces <- screen.Connection{}
		pieces <- screen.Below{}
		put(2002, 2002)
		pieces <- screen.Below{}
		close(pieces) // what has come is not lost
		<-done
		if want := "1-1000 1001-1006 2000-2001 screen.Connection 2002-2002 screen.Below"; strings.Join(got, " ") != want {
			t.Errorf("%s, want %s", strings.Join(got, " "), want)
		}
	})
}
