package rpc

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/notify"
)

// pausing is a request with a function to call after its answer.
func pausing(id, reason string) string {
	return request(id, "holon/pause", fmt.Sprintf(`{"reason":%q}`, reason))
}

func told(t *testing.T, r *rig, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case got := <-r.engine.sent:
			if got != w {
				t.Errorf("told %q, want %q", got, w)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("never told %q", w)
		}
	}
	select {
	case got := <-r.engine.sent:
		t.Errorf("told %q beside", got)
	default:
	}
}

func TestWhatFollowsAnAnswerComesWhenItsBytesAreWritten(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.MaxFrameBytes = 4096 })
	r.engine.sent = make(chan string, 10)
	r.post(pausing("1", "one"))
	told(t, r, "one true")
	r.post("[" + pausing("1", "a") + "," + pausing("2", "b") + "," + pausing("2", "twice") + "]")
	told(t, r, "a true", "b true")
	st := r.open("POST", "/rpc/stream")
	st.expect(notify.StreamOpened)
	st.send(pausing("1", "stream"))
	st.expect("#1")
	told(t, r, "stream true")
	st.send("[" + pausing("1", "c") + "," + pausing("2", "d") + "]")
	told(t, r, "c true", "d true")
}

// The function is called with the lock of the stream held.
func TestPanicAfterAnAnswerEndsNothing(t *testing.T) {
	r := newRig(t)
	r.engine.sent = make(chan string, 10)
	st := r.open("POST", "/rpc/stream")
	st.expect(notify.StreamOpened)
	st.send(pausing("1", "panic"))
	st.expect("#1")
	st.send(pausing("2", "next"))
	st.expect("#2")
	told(t, r, "next true")
	r.post(pausing("1", "panic"))
	r.post(pausing("1", "post"))
	told(t, r, "post true")
}

func TestAnAnswerThatIsNotTheResultTellsNothing(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.MaxFrameBytes = 4096 })
	r.engine.sent = make(chan string, 10)
	long := strings.Repeat("x", 4015)
	note := strings.Replace(pausing("1", "note"), `"id":1,`, "", 1)
	if note == pausing("1", "note") {
		t.Fatal("the request still has an id")
	}
	r.post(note)
	told(t, r, "note false")
	r.post(pausing("1", long)) // its answer is larger than a frame
	told(t, r, "xxxxxxxx false")
	st := r.open("POST", "/rpc/stream")
	st.expect(notify.StreamOpened)
	st.send(note)
	told(t, r, "note false")
	st.send(pausing("1", long))
	told(t, r, "xxxxxxxx false")
}

// The client leaves while its answer is being written.
func TestAnAnswerThatIsNeverWrittenTellsSo(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.engine.sent = make(chan string, 10)
		c := r.pipe(t, "POST /rpc/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || parse(t, line).Method != notify.StreamOpened {
			t.Fatalf("%q %v", line, err)
		}
		synctest.Wait() // until the stream waits too: for a mutex that a blocked write holds, a bubble would wait for ever
		line := pausing("1", "unread") + "\n"
		if _, err := fmt.Fprintf(c, "%x\r\n%s\r\n", len(line), line); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // until the answer waits for its reader
		if len(r.engine.sent) > 0 {
			t.Fatalf("told %q before anything was written", <-r.engine.sent)
		}
		c.Close()
		told(t, r, "unread false")
	})
}
