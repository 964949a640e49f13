// Command people measures what a person feels of the dashboard: how soon a key is
// answered, what it costs while nothing happens, and how often it draws while agents
// flood the log. It starts a server and the dashboard of one binary, the dashboard on a
// pseudo terminal, and ends both.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.holon, "holon", "bin/holon", "the binary")
	flag.IntVar(&o.threads, "threads", 1000, "how many threads there are")
	flag.DurationVar(&o.idle, "idle", 20*time.Second, "how long idleness is measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	figures, err := measure(ctx, o)
	fmt.Printf("%s, %d processors, %s\n", processor(), runtime.NumCPU(), runtime.Version())
	for _, f := range figures {
		verdict := "yes"
		if f.value > f.most {
			verdict = "NO"
		}
		fmt.Printf("%-58s %9.1f %-8s ≤ %-5g %s\n", f.name, f.value, f.unit, f.most, verdict)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "people:", err)
		os.Exit(1)
	}
}

// figure is one measured value and the most that it may be.
type figure struct {
	name, unit  string
	value, most float64
}

// percentile returns the value that p of all durations do not exceed.
func percentile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(p*float64(len(all))))]
}

// processor returns the model of the machine's processor.
func processor() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
