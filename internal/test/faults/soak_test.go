//go:build linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestSoak runs everything at once for SOAK (such as 30m): writers and
// followers that survive kills, readers that never read, clients that are
// cut, broken frames; it kills and drains the server now and then, and checks
// all promises at the end. The table it prints is for docs/performance.md.
func TestSoak(t *testing.T) {
	text := os.Getenv("SOAK")
	if text == "" {
		t.Skip("NOT TESTED: SOAK is not set; `make soak SOAK=10m` runs it")
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("SOAK: %v", err)
	}
	k := &soak{testbed: newTestbed(t), began: time.Now(), quit: make(chan struct{}), live: &latency{}}
	k.herd = newHerd(k.testbed, 8, 4)
	k.herd.think, k.herd.prompts = 100*time.Millisecond, prompts[:len(prompts)-2]
	k.start(t)
	k.herd.run(t)
	k.wg.Go(k.cutClients)
	k.wg.Go(k.breakFrames)
	k.wg.Go(k.watchLatency)
	k.drive(t, d)
	close(k.quit)
	k.wg.Wait()
	k.herd.stop()
	k.events = k.herd.verify(t, k.server)
	k.settle(t)
	k.server.stop(t)
	k.doctor(t)
	for _, err := range k.errs {
		t.Error(err)
	}
	if !t.Failed() { // the table says that nothing was lost
		t.Log("\n" + k.table())
	}
}

// soak is the state of a run. What goroutines share is atomic or under mu.
type soak struct {
	*testbed
	server *server
	herd   *herd
	began  time.Time
	took   time.Duration
	quit   chan struct{}
	wg     sync.WaitGroup

	kills, drains, slept  int
	cycles, frames        atomic.Int64
	events                int
	maxRSS, lastRSS       int64
	maxFDs, maxGoroutines int
	endFDs, endGoroutines int
	database              int64
	live                  *latency

	mu   sync.Mutex
	errs []error
}

func (k *soak) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.errs) < 20 {
		k.errs = append(k.errs, err)
	}
}

func (k *soak) start(t *testing.T) {
	k.server = k.testbed.start(t, "--write-timeout-seconds", "5", "--drain-seconds", "2")
}

// drive lets a server live for some time, among sleepers, ends it, and starts
// the next one.
func (k *soak) drive(t *testing.T, d time.Duration) {
	for left := d; left > 0; left = d - time.Since(k.began) {
		life := min(left, time.Duration(5+rand.IntN(20))*time.Second)
		sleepers := newSleepers(t, k.server, 20)
		for end := time.Now().Add(life); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
			k.sample(t)
		}
		if (k.kills+k.drains)%4 == 3 {
			k.drains++
			if err := k.server.signal(syscall.SIGTERM); err != nil || !k.server.wait(15*time.Second) || k.server.status != nil {
				t.Errorf("the drain after %v: %v %v\n%s", time.Since(k.began), err, k.server.status, k.server.stderr.tail())
			}
		} else {
			k.kills++
		}
		k.server.kill()
		k.start(t)
		for _, sl := range sleepers { // the log continues from their position
			close(sl.quit)
			<-sl.done
			sl.conn.Close()
			if len(k.herd.views) >= 60 { // compared at the end; more only take time
				continue
			}
			k.herd.catchUp(t, k.server, sl.view, k.server.latest(t))
			k.herd.views = append(k.herd.views, sl.view)
			k.slept++
		}
	}
	k.took = time.Since(k.began)
}

func (k *soak) sample(t *testing.T) {
	k.lastRSS = k.server.memory("VmRSS")
	k.maxRSS = max(k.maxRSS, k.lastRSS)
	k.maxFDs = max(k.maxFDs, k.server.fds())
	k.maxGoroutines = max(k.maxGoroutines, k.server.goroutines(t))
}

// settle looks what the last server holds once everybody has left.
func (k *soak) settle(t *testing.T) {
	k.server.client.CloseIdleConnections()
	k.endGoroutines, k.endFDs = k.server.goroutines(t), k.server.fds()
	for deadline := time.Now().Add(8 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		k.endGoroutines, k.endFDs = min(k.endGoroutines, k.server.goroutines(t)), min(k.endFDs, k.server.fds())
	}
	if k.endGoroutines > 30 || k.endFDs > 40 {
		t.Errorf("with everybody gone there are %d goroutines and %d descriptors", k.endGoroutines, k.endFDs)
	}
	if info, err := os.Stat(k.data + "/holon.db"); err == nil {
		k.database = info.Size()
	}
	if bound := int64(256 << 20); k.maxRSS > bound {
		t.Errorf("resident memory reached %.0f MiB", mib(k.maxRSS))
	}
}

func (k *soak) over() bool {
	select {
	case <-k.quit:
		return true
	default:
		return false
	}
}

func (k *soak) cutClients() {
	for !k.over() {
		// It fails while the server is away, which is no fault.
		if connectAndCut(k.testbed, "GET /rpc/stream?after_seq=0 HTTP/1.1\r\nHost: localhost\r\n\r\n") == nil {
			k.cycles.Add(1)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (k *soak) breakFrames() {
	rng := rand.New(rand.NewPCG(rand.Uint64(), 0))
	var d *duplex
	for i := 0; !k.over(); i++ {
		time.Sleep(5 * time.Millisecond)
		if d == nil {
			var err error
			if d, err = k.dialDuplex(); err != nil {
				d = nil
				continue
			}
		}
		lines, err := d.survives(mutate(rng, goodFrames[rng.IntN(len(goodFrames))]), i)
		if err != nil { // the server was killed
			d.conn.Close()
			d = nil
			continue
		}
		k.frames.Add(1)
		for _, line := range lines {
			if err := byRule(line, map[string]int{}); err != nil && !strings.Contains(line, `"unavailable"`) {
				k.fail(err)
			}
		}
	}
	if d != nil {
		d.conn.Close()
	}
}

// watchLatency follows live, as a person would, and measures.
func (k *soak) watchLatency() {
	s := &server{testbed: k.testbed, client: k.http()}
	defer s.client.CloseIdleConnections()
	for !k.over() {
		st, err := s.open(-1)
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		timer := time.AfterFunc(5*time.Second, st.close) // looks again whether it is over
		for n := 0; err == nil; n++ {
			var line string
			if line, err = st.next(); err == nil && n%10 == 0 && methodOf(line) != "stream/opened" {
				k.live.add(line, time.Now())
			}
		}
		timer.Stop()
		st.close()
	}
}

func (k *soak) table() string {
	var b strings.Builder
	row := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", what, fmt.Sprintf(format, args...))
	}
	b.WriteString("| soak | |\n|---|---|\n")
	row("duration", "%v", k.took.Round(time.Second))
	row("events in the log", "%d (%.0f a second), database %.0f MiB", k.events, float64(k.events)/k.took.Seconds(), mib(k.database))
	row("servers killed, drained", "%d, %d", k.kills, k.drains)
	row("changes acknowledged, lost", "%d, 0", k.herd.acked())
	row("clients that resumed by cursor", "8 over %d connections; %d readers that never read, then resumed; gaps and duplicates: 0", k.herd.connections(), k.slept)
	row("connect, subscribe, cut", "%d cycles", k.cycles.Load())
	row("broken frames", "%d, all answered by rule", k.frames.Load())
	row("append to receipt", "p50 %v, p99 %v", k.live.at(.5).Round(100*time.Microsecond), k.live.at(.99).Round(100*time.Microsecond))
	row("resident memory", "at most %.0f MiB", mib(k.maxRSS))
	row("goroutines, descriptors", "at most %d, %d; %d, %d with everybody gone", k.maxGoroutines, k.maxFDs, k.endGoroutines, k.endFDs)
	return b.String()
}
