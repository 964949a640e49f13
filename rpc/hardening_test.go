package rpc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Every hostile line is answered or ignored according to the protocol, and the
// next valid line is served.
func TestHostileLinesDoNotHurtTheNextGoodOne(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.MaxFrameBytes = 256 << 10 })
	none := api.Kind("nothing")
	for name, c := range map[string]struct {
		line string
		kind api.Kind
	}{
		"binary noise":                   {"\x00\x01\x02\xff\xfe", api.KindParseError},
		"invalid UTF-8 in a name":        {"{\"\xc0\xaf\":1}", api.KindParseError},
		"overlong UTF-8":                 {"\"\xe0\x80\xaf\"", api.KindParseError},
		"UTF-16":                         {"{\x00}\x00", api.KindParseError},
		"a byte order mark":              {"\xef\xbb\xbf{}", api.KindParseError},
		"a NUL in a string":              {"\"\x00\"", api.KindParseError},
		"half a surrogate":               {`{"jsonrpc":"2.0","id":"\udc00","method":"x"}`, api.KindParseError},
		"an HTTP request":                {"GET / HTTP/1.1", api.KindParseError},
		"single quotes":                  {"{'jsonrpc':'2.0'}", api.KindParseError},
		"NaN":                            {`{"jsonrpc":"2.0","id":NaN,"method":"x"}`, api.KindParseError},
		"a comment":                      {`{/**/}`, api.KindParseError},
		"an open bracket, 200,000 times": {strings.Repeat("[", 200_000), api.KindInvalidRequest},
		"an open brace, 40,000 times":    {strings.Repeat(`{"a":`, 40_000), api.KindInvalidRequest},
		"200,000 levels, closed":         {strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), api.KindInvalidRequest},
		"a line of spaces":               {strings.Repeat(" ", 100_000), none},
		"a line a byte too long":         {strings.Repeat("x", 256<<10+1), api.KindFrameTooLarge},
		"a line much too long":           {strings.Repeat("x", 2<<20), api.KindFrameTooLarge},
		"a number of 200,000 digits":     {`{"jsonrpc":"2.0","id":1,"method":"thread/list","params":{"limit":` + strings.Repeat("9", 200_000) + `}}`, api.KindInvalidParams},
		"an id of 200,000 bytes":         {`{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 200_000) + `","method":"no/such"}`, api.KindMethodNotFound},
		"an id that fills the frame":     {`{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 256<<10-100) + `","method":"no/such"}`, api.KindFrameTooLarge},
		"a method of 200,000 bytes":      {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 200_000) + `"}`, api.KindMethodNotFound},
		"a member of 200,000 bytes":      {`{"jsonrpc":"2.0","id":1,"method":"holon/status","params":{"` + strings.Repeat("m", 200_000) + `":1}}`, api.KindInvalidParams},
		"10,000 members":                 {`{"jsonrpc":"2.0","id":1,"method":"holon/status","params":{` + manyMembers(10_000) + `}}`, api.KindInvalidParams},
		"10,000 members of the envelope": {`{"jsonrpc":"2.0","id":1,"method":"no/such",` + manyMembers(10_000) + `}`, api.KindMethodNotFound},
		"a batch of 50,000":              {"[" + strings.Repeat("1,", 50_000) + "1]", api.KindInvalidRequest},
		"a batch in a batch":             {`[[{"jsonrpc":"2.0","id":1,"method":"holon/status"}]]`, api.KindInvalidRequest},
		"escapes in a name":              {`{"\u006aso\u006erpc":"2.0","id":1,"method":"no/such"}`, api.KindMethodNotFound},
		"the prototype of JavaScript":    {`{"jsonrpc":"2.0","id":1,"method":"holon/status","params":{"__proto__":{}}}`, api.KindInvalidParams},
		"a method of dots":               {`{"jsonrpc":"2.0","id":1,"method":"../../etc/passwd"}`, api.KindMethodNotFound},
		"a method with a line feed":      {`{"jsonrpc":"2.0","id":1,"method":"a\nb"}`, api.KindMethodNotFound},
		"a response that nobody asked":   {`{"jsonrpc":"2.0","id":1,"result":{}}`, none},
		"an error that nobody asked":     {`{"jsonrpc":"2.0","id":null,"error":{"code":1}}`, none},
	} {
		t.Run(name, func(t *testing.T) {
			st := r.open("POST", "/rpc/stream")
			st.expect("stream/opened")
			st.send(c.line, request(`"good"`, "holon/status", `{}`))
			line := st.next()
			if c.kind != none {
				if strings.HasPrefix(line, "[") { // a batch is answered as one
					line = strings.Trim(line, "[]")
				}
				m := parse(t, line)
				if m.Error == nil || m.Error.Data.Kind != c.kind {
					t.Fatalf("got %.300s, want %s", line, c.kind)
				}
				line = st.next()
			}
			if !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":"good","result":`) {
				t.Fatalf("the good one got %.300s", line)
			}
			st.close()
		})
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":%d,`, i, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// seeds are good and bad messages that mutations begin with.
var seeds = []string{
	request("1", "holon/status", `{}`),
	request(`"x"`, "thread/start", `{"thread_id":"a","metadata":{"k":[1,2,{"z":null}]}}`),
	request("2", "turn/start", hello),
	request("-7", "event/list", `{"after_seq":0,"limit":5,"methods":["item/*"]}`),
	request("null", "stream/subscribe", `{"after_seq":0}`),
	`[` + request("3", "holon/status", `{}`) + `,` + request("4", "turn/read", `{"turn_id":"x"}`) + `]`,
	`{"jsonrpc":"2.0","method":"holon/status"}`,
	`{"jsonrpc":"2.0","id":5,"result":null}`,
}

func mutate(rng *rand.Rand, s string) string {
	b := []byte(s)
	for range 1 + rng.IntN(4) {
		if len(b) == 0 {
			break
		}
		i := rng.IntN(len(b))
		switch rng.IntN(6) {
		case 0:
			b[i] = byte(rng.IntN(256))
		case 1:
			b = append(b[:i], b[i+1:]...)
		case 2:
			j := i + rng.IntN(len(b)-i)
			b = append(b[:i], b[j:]...)
		case 3:
			j := i + rng.IntN(len(b)-i)
			b = append(b[:j:j], append(append([]byte{}, b[i:j]...), b[j:]...)...)
		case 4:
			b = append(b[:i:i], append([]byte(`{}[],:"\u0000e-.0n`)[rng.IntN(18):], b[i:]...)...)
		case 5:
			other := seeds[rng.IntN(len(seeds))]
			b = append(b[:i:i], other[rng.IntN(len(other)):]...)
		}
	}
	return strings.NewReplacer("\n", " ", "\r", " ").Replace(string(b))
}

func TestTenThousandMutatedFramesAreAnsweredByRule(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(1, 2))
	st := r.open("POST", "/rpc/stream?method=none/none")
	st.expect("stream/opened")
	rounds, each := 100, 100
	if testing.Short() {
		rounds = 20
	}
	for round := range rounds {
		var lines []string
		for range each {
			lines = append(lines, mutate(rng, seeds[rng.IntN(len(seeds))]))
		}
		mark := fmt.Sprintf(`"good-%d"`, round)
		st.send(append(lines, request(`"unsub"`, "stream/unsubscribe", `{}`), request(mark, "holon/status", `{}`))...)
		for {
			line := st.next()
			if line == "" {
				t.Fatalf("the connection died in round %d of %q", round, lines)
			}
			if strings.HasPrefix(line, "[") {
				if !jsontext.Value(line).IsValid() {
					t.Fatalf("answer %s", line)
				}
				continue
			}
			m := parse(t, line)
			if m.Error != nil && m.Error.Data.Kind == api.KindInternal {
				t.Fatalf("an internal error: %s", line)
			}
			if string(m.ID) == mark {
				break
			}
		}
	}
}

func TestGigabyteWithoutLineFeedOnAStream(t *testing.T) {
	size := 256 << 20
	if testing.Short() {
		size = 32 << 20
	}
	r := newRig(t)
	c, err := net.Dial("tcp", r.url[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_, _ = fmt.Fprintf(c, "POST /rpc/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(resp.Body)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	piece := []byte(fmt.Sprintf("%x\r\n%s\r\n", 1<<20, strings.Repeat("x", 1<<20)))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range size >> 20 {
		if _, err := c.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC() // what is held, not what waits to be collected
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	good := "\n" + request("1", "holon/status", "{}") + "\n"
	_, _ = fmt.Fprintf(c, "%x\r\n%s\r\n", len(good), good)
	for _, want := range []string{`"kind":"frame_too_large"`, `"id":1,"result"`} {
		line, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Fatalf("%.200s %v, want %s", line, err, want)
		}
	}
}

// deaf opens a stream and never reads a byte of it.
func deaf(t testing.TB, r *rig, path string) net.Conn {
	return deafOn(t, "tcp", r.url[len("http://"):], path)
}

func deafOn(t testing.TB, network, address, path string) net.Conn {
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.(interface{ SetReadBuffer(int) error }).SetReadBuffer(32 << 10)
	_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	t.Cleanup(func() { c.Close() })
	return c
}

func bigItem(size int) notify.Draft {
	return draft(notify.ItemUpdated, "t", &items.Updated{ItemID: "i", Type: "updated", Content: jsontext.Value(`{"type":"reasoning","text":"` + strings.Repeat("x", size) + `"}`)})
}

func TestReadersThatNeverReadDelayNobodyAndAreCut(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for range 20 {
			r.pipe(t, "GET /rpc/stream?after_seq=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
			r.pipe(t, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
		healthy := r.open("GET", "/rpc/stream?after_seq=0")
		healthy.expect("stream/opened")
		if synctest.Wait(); r.server.streams.len() != 41 {
			t.Fatalf("%d streams are open", r.server.streams.len())
		}
		began := time.Now()
		for i := range 100 {
			r.memory.append(t, bigItem(30_000))
			if m := healthy.message(); m.Params.Seq != int64(i+1) {
				t.Fatalf("seq %d, want %d", m.Params.Seq, i+1)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the events took %v", took)
		}
		time.Sleep(r.server.limits.WriteTimeout() + deadlineSlack)
		if synctest.Wait(); r.server.streams.len() != 1 {
			t.Errorf("%d streams are still open", r.server.streams.len())
		}
	}, func(c *Config) { c.Limits.WriteTimeoutSeconds = 0.2 })
}

func TestSlowReaderIsNotCutAndMissesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.pipe(t, "GET /rpc/stream?after_seq=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
		const n = 100
		for range n {
			r.memory.append(t, bigItem(30_000))
		}
		began := time.Now()
		lines := bufio.NewReaderSize(slow{c}, 16<<10)
		resp, err := http.ReadResponse(lines, nil)
		if err != nil {
			t.Fatal(err)
		}
		body := bufio.NewReader(resp.Body)
		for seq := int64(0); seq <= n; seq++ {
			line, err := body.ReadString('\n')
			if err != nil {
				t.Fatalf("after seq %d: %v", seq, err)
			}
			if m := parse(t, line); m.Params.Seq != seq {
				t.Fatalf("seq %d, want %d", m.Params.Seq, seq)
			}
		}
		if took := time.Since(began); took < 5*(r.server.limits.WriteTimeout()+deadlineSlack) {
			t.Errorf("the reader took %v: it is not slow", took)
		}
	}, func(c *Config) { c.Limits.WriteTimeoutSeconds = 0.5 })
}

// slow reads a chunk of the stream in about 0.4 s of virtual time: within the write
// timeout, all of them together far beyond it.
type slow struct{ r io.Reader }

func (s slow) Read(b []byte) (int, error) {
	time.Sleep(50 * time.Millisecond)
	return s.r.Read(b[:min(len(b), 8<<10)])
}

func TestTwoWayClientThatNeverReadsIsBounded(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.WriteTimeoutSeconds = 0.3 })
	c, err := net.Dial("tcp", r.url[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	_, _ = fmt.Fprintf(c, "POST /rpc/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
	line := request("1", "item/read", `{"item_id":"big100000"}`) + "\n"
	sent := 0
	_ = c.SetWriteDeadline(time.Now().Add(20 * time.Second))
	for ; sent < 200_000; sent++ {
		if _, err := fmt.Fprintf(c, "%x\r\n%s\r\n", len(line), line); err != nil {
			break // cut, as it has to be
		}
	}
	if sent == 200_000 {
		t.Fatal("all requests were taken from a client that reads no answer")
	}
	wait := time.Now().Add(5 * time.Second)
	for r.server.streams.len() > 0 {
		if time.Now().After(wait) {
			t.Fatal("the stream is still open")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestLaggingStreamIsAnsweredAtOnceAndStaysWhole(t *testing.T) {
	r := newRig(t)
	const n = 20_000
	for range n / 100 {
		var drafts []notify.Draft
		for range 100 {
			drafts = append(drafts, started())
		}
		r.memory.append(t, drafts...)
	}
	st := r.open("POST", "/rpc/stream?after_seq=0")
	st.expect("stream/opened")
	st.send(request("1", "turn/start", hello))
	answeredAt, next := int64(-1), int64(1)
	for next <= n+2 {
		m := st.message()
		if m.Method == "" {
			answeredAt = next
			continue
		}
		if m.Params.Seq != next {
			t.Fatalf("seq %d, want %d", m.Params.Seq, next)
		}
		next++
	}
	if answeredAt < 0 {
		st.expect("#1")
	}
}

func TestPrunedUnderALaggingStreamIsSaid(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.memory.tail = notify.NewTail(1, 0) // nothing stays in memory but the newest batch
		r.server.cfg.Tail = r.memory.tail
		c := r.pipe(t, "GET /rpc/stream?after_seq=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
		const n = 100
		for range n {
			r.memory.append(t, bigItem(30_000))
		}
		synctest.Wait() // until the stream waits for its reader
		r.memory.prune(n)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(resp.Body)
		last := ""
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			last = line
		}
		if m := parse(t, last); m.Method != notify.StreamClosing || m.Params.Code != api.CloseExpired {
			t.Fatalf("the last line is %.200s", last)
		}
	})
}

func TestCloseTellsLaggingReadersWhereTheyAre(t *testing.T) {
	defer func(size int) { lastBuffer = size }(lastBuffer)
	lastBuffer = 208 << 10 // the kernel's default where its bound is not set
	r := newRig(t)
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = r.http.Serve(l) }()
	keepsUp := r.open("GET", "/rpc/stream?after_seq=0")
	keepsUp.expect("stream/opened")
	never := []net.Conn{deaf(t, r, "/rpc/stream?after_seq=0"), deafOn(t, "unix", path, "/rpc/stream?after_seq=0")}
	const n = 100
	for range n {
		r.memory.append(t, bigItem(30_000))
	}
	for range n {
		keepsUp.expect("item/updated")
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := r.server.Close(ctx, Closing{Code: api.CloseStopping, Reason: "bye"}); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2500*time.Millisecond {
		t.Fatalf("took %v", took)
	}
	if m := keepsUp.expect("stream/closing"); m.Params.Seq != n {
		t.Fatalf("%+v", m.Params)
	}
	// Bytes in the kernel's buffers can still be read when the server has
	// exited. The end of each response's body comes after its stream's last
	// line.
	ends, cancelEnds := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancelEnds()
	if err := r.http.Shutdown(ends); err != nil {
		t.Error(err)
	}
	<-served
	for _, c := range never {
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Errorf("%s: after %d bytes: %v", c.RemoteAddr().Network(), len(body), err)
			continue
		}
		lines := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
		reached, m := parse(t, lines[len(lines)-2]).Params.Seq, parse(t, lines[len(lines)-1])
		if m.Method != notify.StreamClosing || m.Params.Seq != reached || reached < 1 || reached >= n {
			t.Errorf("after seq %d: %s %+v", reached, m.Method, m.Params)
		}
	}
}

// pausedAt is a client that takes its first events only when the server has
// closed. It counts what is written from then on.
type pausedAt struct {
	closed <-chan struct{}
	writes int
}

func (p *pausedAt) Write(b []byte) (int, error) {
	if strings.Contains(string(b[:min(len(b), 100)]), notify.ItemUpdated) {
		<-p.closed
		p.writes++
	}
	return len(b), nil
}

// A stream that lags when the server closes has space for a chunk or two and
// its last line: each further chunk would take the space of the last line.
func TestLaggingStreamWritesNoFurtherThanTheClose(t *testing.T) {
	for range 30 {
		r := newRig(t)
		for range 20 {
			r.memory.append(t, bigItem(30_000))
		}
		s := r.server
		client := &pausedAt{closed: s.closing}
		o := &outlet{server: s, w: client, transport: "test"}
		if err := o.open(t.Context(), &api.StreamStart{Given: true}, api.Position{First: 1, Latest: 20}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan string)
		go func() { ended <- o.run(t.Context()) }()
		s.closeOnce.Do(func() {
			s.notice, s.lastHead, s.until = Closing{Code: api.CloseStopping}, s.cfg.Tail.Head(), time.Now()
			close(s.closing)
		})
		if why := <-ended; why != api.CloseStopping {
			t.Fatalf("ended as %s", why)
		}
		if client.writes > 2 {
			t.Fatalf("%d chunks were written after the close", client.writes)
		}
	}
}

func TestClosingAnswersWhatIsInFlight(t *testing.T) {
	r := newRig(t)
	ended := make(chan turns.InterruptResult, 1)
	r.engine.stubborn = map[string]chan turns.InterruptResult{"slow": ended}
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	st.send(request("1", "turn/interrupt", `{"turn_id":"slow"}`))
	st.expect("turn/progress")
	var group sync.WaitGroup
	group.Go(func() { _ = r.server.Close(t.Context(), Closing{Code: api.CloseStopping, Reason: "bye"}) })
	time.Sleep(20 * time.Millisecond)
	ended <- turns.InterruptResult{State: "interrupted"}
	st.expect("#1")
	st.expect("stream/closing")
	group.Wait()
}

func TestConnectSubscribeCutLeavesNothingBehind(t *testing.T) {
	r := newRig(t)
	cycles := 1000
	if testing.Short() {
		cycles = 100
	}
	one := func(i int) {
		c, err := net.Dial("tcp", r.url[len("http://"):])
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		switch i % 4 {
		case 0:
			_, _ = io.WriteString(c, "GET /rpc/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
		case 1:
			_, _ = io.WriteString(c, "POST /rpc/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3b\r\n"+`{"jsonrpc":"2.0","id":1,"method":"stream/subscribe","par`)
		case 2:
			_, _ = io.WriteString(c, "GET /events?after_seq=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
		case 3:
			line := request("1", "stream/subscribe", `{"after_seq":0}`) + "\n"
			_, _ = fmt.Fprintf(c, "POST /rpc/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(line), line)
		}
		if i%3 == 0 {
			_, _ = c.Read(make([]byte, 100))
		}
		if i%5 == 0 {
			_ = c.(*net.TCPConn).SetLinger(0)
		}
	}
	one(0)
	// A connection is counted out before its goroutines end, and the server learns of a
	// cut when it likes.
	settled := func(goroutines int) bool {
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if r.server.streams.len() == 0 && r.server.connections.Load() == 0 && runtime.NumGoroutine() <= goroutines {
				return true
			}
		}
		return false
	}
	if !settled(math.MaxInt) {
		t.Fatalf("one client left %d connections, %d streams", r.server.connections.Load(), r.server.streams.len())
	}
	before := runtime.NumGoroutine()
	for i := range cycles {
		one(i)
	}
	if !settled(before + 3) {
		t.Fatalf("goroutines %d before, %d after; %d connections, %d streams", before, runtime.NumGoroutine(), r.server.connections.Load(), r.server.streams.len())
	}
}

func FuzzCursor(f *testing.F) {
	for _, s := range []string{"0", "42", "log-1:42", "a:b:7", "", ":", "-1", "9999999999999999999999", "٥"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		logID, seq, ok := api.ParseCursor(s)
		if !ok {
			return
		}
		if seq < 0 || !strings.HasPrefix(s, logID) || len(s) == 0 {
			t.Fatalf("%q is %q %d", s, logID, seq)
		}
		back := fmt.Sprint(seq)
		if logID != "" {
			back = logID + ":" + back
		}
		if again, n, ok := api.ParseCursor(back); !ok || again != logID || n != seq {
			t.Fatalf("%q comes back as %q %d %v", back, again, n, ok)
		}
	})
}
