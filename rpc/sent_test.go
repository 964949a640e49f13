package rpc

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
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

// TestAnAnswerThatIsNeverWrittenTellsSo fills the connection of a client that
// does not read, then breaks it.
func TestAnAnswerThatIsNeverWrittenTellsSo(t *testing.T) {
	r := newRig(t)
	r.engine.sent = make(chan string, 100_000)
	c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST /rpc/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	line := pausing("1", strings.Repeat("y", 60)) + "\n"
	sent := 0
	for sent < 90_000 { // until nothing more goes in, as the answers are not read
		_ = c.SetWriteDeadline(time.Now().Add(2 * time.Second))
		if _, err := fmt.Fprintf(c, "%x\r\n%s\r\n", len(line), line); err != nil {
			break
		}
		sent++
	}
	_ = c.(*net.TCPConn).SetLinger(0) // a reset, not an end in order
	c.Close()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case got := <-r.engine.sent:
			if strings.HasSuffix(got, " false") {
				return
			}
		case <-deadline:
			t.Fatalf("of %d answers all were told as sent", sent)
		}
	}
}
