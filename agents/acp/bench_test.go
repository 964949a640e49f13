package acp_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed82539d15/holon/agents/acp"
	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

func p50(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// turnTime runs a small turn and measures the time from turn/start to its end
// in the log.
func (s *server) turnTime(thread string) time.Duration {
	began := time.Now()
	turn := s.start(thread, "say x")
	if end := s.end(turn); end.Method != notify.TurnCompleted {
		s.t.Errorf("%+v", end)
	}
	return time.Since(began)
}

// BenchmarkFlood runs turns of 50,000 updates at full speed, and small turns in
// another thread beside them: in a separate process, and in the same one. It
// reports lost updates, the peak of the heap, and the other thread's median
// compared with its median alone.
func BenchmarkFlood(b *testing.B) {
	const n = 50000
	for _, shared := range []bool{false, true} {
		b.Run(fmt.Sprintf("SameProcess=%v", shared), func(b *testing.B) {
			s := serve(b, b.TempDir(), "", func(c *acp.Config) {
				if !shared {
					c.MaxProcesses = 2
				}
			})
			for range 20 {
				s.turnTime("other")
			}
			if !shared { // while the first process is busy another one is started
				busy := s.start("other", "say busy\nwait")
				s.item(busy, items.KindAgentMessage)
				s.end(s.start("flood", "say first"))
				s.interrupt(busy)
				s.end(busy)
			}
			var alone, beside []time.Duration
			var peak, took, said int64
			for b.Loop() {
				for range 100 {
					alone = append(alone, s.turnTime("other"))
				}
				runtime.GC()
				var over atomic.Bool
				var wg sync.WaitGroup
				wg.Go(func() { peak = max(peak, heapPeak(&over)) })
				began := time.Now()
				turn := s.start("flood", fmt.Sprintf("flood %d", n))
				s.item(turn, items.KindAgentMessage)
				wg.Go(func() {
					for !over.Load() {
						beside = append(beside, s.turnTime("other"))
					}
				})
				end := s.end(turn)
				took += int64(time.Since(began))
				over.Store(true)
				wg.Wait()
				if end.Method != notify.TurnCompleted {
					b.Errorf("%+v", end)
				}
				text, _ := s.said(turn)
				said += int64(len(text))
			}
			rounds := int64(b.N)
			b.ReportMetric(float64(n*11*rounds-said)/11, "lost")
			b.ReportMetric(float64(n*rounds)/(float64(took)/1e9), "updates/s")
			b.ReportMetric(float64(peak)/(1<<20), "heap-peak-MiB")
			b.ReportMetric(float64(p50(alone).Microseconds()), "alone-p50-µs")
			b.ReportMetric(float64(p50(beside).Microseconds()), "beside-p50-µs")
			b.ReportMetric(float64(p50(beside))/float64(p50(alone)), "ratio")
			b.ReportMetric(float64(len(beside))/float64(rounds), "beside-turns")
		})
	}
}

// heapPeak is the peak of the heap until over is set.
func heapPeak(over *atomic.Bool) int64 {
	var most uint64
	for !over.Load() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
		time.Sleep(20 * time.Millisecond)
	}
	return int64(most)
}

// BenchmarkFiftyThreads runs fifty turns at once on the example agent, whose
// turn takes about 5 s by its own pauses, all in one process.
func BenchmarkFiftyThreads(b *testing.B) {
	s := serveCommand(b, b.TempDir(), []string{acptest.Build(b, acptest.Example)}, func(c *acp.Config) { c.Permissions = acp.PermissionsAllow })
	var longest time.Duration
	for b.Loop() {
		var ids []string
		began := time.Now()
		for i := range 50 {
			ids = append(ids, s.start(fmt.Sprint("t", i), "hello"))
		}
		for _, id := range ids {
			if end := s.end(id); end.Method != notify.TurnCompleted {
				b.Errorf("%+v", end)
			}
		}
		longest = max(longest, time.Since(began))
	}
	b.ReportMetric(longest.Seconds(), "s-for-all-50")
}

// BenchmarkInterrupt measures the time from turn/interrupt to the turn's end in
// the log, for an agent that cancels at once, half of the time with an open
// question.
func BenchmarkInterrupt(b *testing.B) {
	s := serve(b, b.TempDir(), "")
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		turn := s.start("t", []string{"say x\nwait", "say x\nask y"}[i%2])
		s.item(turn, []items.Kind{items.KindAgentMessage, items.KindPermissionRequest}[i%2])
		began := time.Now()
		s.interrupt(turn)
		s.end(turn)
		took = append(took, time.Since(began))
	}
	b.ReportMetric(float64(p50(took).Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)-1].Microseconds()), "max-µs")
}

// commits is a store that records when each turn/started was committed, and
// reports when the end of a turn was.
type commits struct {
	agenttest.Store
	at   []int64 // of the one thread there is
	over chan struct{}
}

func (c *commits) Append(u *ledger.Unit) (ledger.Receipt, error) {
	r, err := c.Store.Append(u)
	now := acp.Monotonic()
	for _, d := range u.Drafts {
		switch d.Method {
		case notify.TurnStarted:
			c.at = append(c.at, now)
		case notify.TurnCompleted, notify.TurnFailed:
			c.over <- struct{}{}
		}
	}
	return r, err
}

// BenchmarkCommitToPrompt measures the time from the commit of turn/start until
// the agent, whose process is up, has read the prompt. Alternately in the same
// run it measures a line of the same size through a pipe to such a process plus
// a switch of goroutines.
func BenchmarkCommitToPrompt(b *testing.B) {
	dir := b.TempDir()
	clock := &commits{over: make(chan struct{}, 1)}
	s := serveStore(b, b.TempDir(), []string{os.Args[0]},
		func(st agenttest.Store) agenttest.Store { clock.Store = st; return clock },
		func(c *acp.Config) { c.Env = map[string]string{acp.ClockAgent: dir + "/prompts"} })
	send, stop := linePipe(b, dir+"/lines")
	defer stop()

	start := func() {
		s.start("t", "a prompt")
		<-clock.over
	}
	start() // the process is up from here on
	var lines []time.Duration
	for b.Loop() {
		lines = append(lines, send())
		start()
	}
	text, err := os.ReadFile(dir + "/prompts")
	if err != nil {
		b.Fatal(err)
	}
	var prompts []time.Duration
	for i, line := range strings.Fields(string(text)) {
		if i > 0 {
			prompts = append(prompts, time.Duration(number(b, line)-clock.at[i]))
		}
	}
	if len(prompts) != len(lines) {
		b.Fatalf("%d prompts, %d lines", len(prompts), len(lines))
	}
	b.ReportMetric(float64(p50(lines))/1e3, "line-p50-µs")
	b.ReportMetric(float64(p50(prompts))/1e3, "prompt-p50-µs")
	b.ReportMetric(float64(p50(prompts))/float64(p50(lines)), "ratio")
}

// linePipe is a process that reports when it has read a line, and a goroutine
// that writes it one; send measures from the message to that goroutine.
func linePipe(b *testing.B, file string) (send func() time.Duration, stop func()) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), acp.ClockAgent+"="+file)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	answers := bufio.NewReader(out)
	line := []byte(strings.Repeat("x", 150) + "\n")
	words, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for range words {
			if _, err := in.Write(line); err != nil {
				b.Error(err)
			}
		}
	}()
	send = func() time.Duration {
		began := acp.Monotonic()
		words <- struct{}{}
		text, err := answers.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		return time.Duration(number(b, text) - began)
	}
	return send, func() {
		close(words)
		<-ended
		in.Close()
		_ = cmd.Wait()
	}
}

func number(b *testing.B, s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}
