package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
)

// BenchmarkRoundTrip compares holon/status on a two-way stream with jsonrpc2
// over a plain socket, 1 and 16 in flight, over the same raw client.
func BenchmarkRoundTrip(b *testing.B) {
	for _, flight := range []int{1, 16} {
		b.Run(fmt.Sprintf("plain/%d", flight), func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			result := json.RawMessage(statusOf16(b))
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				h := jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) { return &result, nil })
				jsonrpc2.NewConn(b.Context(), jsonrpc2.NewPlainObjectStream(c), h)
			}()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			roundTrips(b, flight, c, bufio.NewReader(c))
		})
		b.Run(fmt.Sprintf("ours/%d", flight), func(b *testing.B) {
			r := newRig(b)
			st, in := rawStream(b, r)
			roundTrips(b, flight, in, st)
		})
	}
}

func statusOf16(b *testing.B) string {
	r := newRig(b)
	_, answer := r.post(request("1", "holon/status", "{}"))
	return string(parse(b, answer).Result)
}

// rawStream speaks HTTP by hand, so that the client costs the same as on a
// plain socket.
func rawStream(b *testing.B, r *rig) (*bufio.Reader, io.Writer) {
	c, err := net.Dial("tcp", r.url[len("http://"):])
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	_, _ = io.WriteString(c, "POST /rpc/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, &http.Request{Method: "POST"})
	if err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewReader(resp.Body)
	if _, err := lines.ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	return lines, chunks{c}
}

type chunks struct{ w io.Writer }

func (c chunks) Write(b []byte) (int, error) {
	out := append([]byte(fmt.Sprintf("%x\r\n", len(b))), b...)
	_, err := c.w.Write(append(out, "\r\n"...))
	return len(b), err
}

func roundTrips(b *testing.B, flight int, in io.Writer, out *bufio.Reader) {
	line := []byte(request("1", "holon/status", "{}") + "\n")
	slots := make(chan struct{}, flight)
	done := make(chan struct{})
	b.ResetTimer()
	go func() {
		defer close(done)
		for range b.N {
			if _, err := out.ReadSlice('\n'); err != nil {
				b.Error(err)
				return
			}
			<-slots
		}
	}()
	for range b.N {
		slots <- struct{}{}
		if _, err := in.Write(line); err != nil {
			b.Fatal(err)
		}
	}
	<-done
}
