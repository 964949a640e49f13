package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/seed82539d15/holon/internal/nearest"
)

// Options say what to measure and how. Only Executable is required.
type Options struct {
	// Executable is the holon binary. Its serve subcommand is measured, its
	// bench-child subcommand calls Child.
	Executable string
	// Dir is where Run makes a directory for all its files, which it removes at
	// the end. It must be on the disk to measure. Empty is the system's
	// temporary directory.
	Dir string
	// Pairs is how often each side is measured; 0 is 5, and 3 if Quick.
	Pairs int
	// Quick measures with less data: fast, but not precise.
	Quick bool
	// Grown is how many events the large log of growth has; 0 is a million,
	// and 200,000 if Quick. Ten million take some 25 GB of disk.
	Grown int
	// Only names the measures; empty is all of them.
	Only []string
	// Progress receives lines about the progress. Nil: none.
	Progress io.Writer
	// Profiles is a directory for CPU profiles of the measured server; empty
	// takes none. Profiling makes the server slower.
	Profiles string

	sizes *sizes // for tests: nil is by Quick
}

// sizes are the amounts of data.
type sizes struct {
	appendItems  int // on each of 64 threads
	streamItems  int // the same, while streams read
	tailEvents   int // in the tail; all must fit its 16 MiB
	flushEvents  int // of these, for the column that flushes each
	replayEvents int
	paced        int // events at 200 a second
	rounds       int // one in flight; four times as many with 16
	idleStreams  [2]int
	grown        int // events stored, the large log
	small        int // and the small one
	growthItems  int // on each of 64 threads
	collapsed    int // events on one thread, half of them superseded

	besideEvents   int // stored, which streams replay
	besideStreams  int
	besideCommands int // of each kind

	sleepers       int // streams that do not read
	sleeperEvents  int // usual events in their log
	sleeperReplays int // of these, one after the other

	largeDigests  int // of twenty items each, in the large inbox
	largeItems    int // that are not grouped, besides these
	inboxCalls    int // of each kind, on each inbox
	waitingBoxes  int // inboxes with a pending flush
	waitFor       time.Duration
	floodCommands int // beside the flood, and as many alone
	floodSources  int // of webhooks, in the flood that keeps the processors busy
	owners        int // with ten child turns each
	jobs          int // of one turn, one after the other

	deliveries        int // of each of 64 subscriptions
	idleSubscriptions int
	idleBlocks        int // loads of each side in a pair
	idleItems         int // on each of 64 threads, in a block
	hangBlocks        int // of each side in a pair
	hangTurns         int // in a block
}

var (
	fullSizes = sizes{
		appendItems: 2000, streamItems: 1000, tailEvents: 20_000, flushEvents: 1000, replayEvents: 200_000,
		paced: 500, rounds: 20_000, idleStreams: [2]int{1000, 5000}, grown: 1_000_000, small: 10_000, growthItems: 500, collapsed: 100_000,
		besideEvents: 20_000, besideStreams: 512, besideCommands: 300,
		sleepers: 4000, sleeperEvents: 5000, sleeperReplays: 200,
		largeDigests: 5000, largeItems: 2000, inboxCalls: 200, waitingBoxes: 10_000, waitFor: 30 * time.Second, floodCommands: 300, floodSources: 64, owners: 1000, jobs: 1000,
		deliveries: 300, idleSubscriptions: 10_000, idleBlocks: 12, idleItems: 200, hangBlocks: 8, hangTurns: 75,
	}
	quickSizes = sizes{
		appendItems: 500, streamItems: 250, tailEvents: 10_000, flushEvents: 300, replayEvents: 50_000,
		paced: 150, rounds: 5000, idleStreams: [2]int{500, 1500}, grown: 200_000, small: 10_000, growthItems: 250, collapsed: 50_000,
		besideEvents: 20_000, besideStreams: 512, besideCommands: 100,
		sleepers: 1000, sleeperEvents: 5000, sleeperReplays: 100,
		largeDigests: 5000, largeItems: 2000, inboxCalls: 100, waitingBoxes: 2000, waitFor: 10 * time.Second, floodCommands: 150, floodSources: 64, owners: 200, jobs: 200,
		deliveries: 100, idleSubscriptions: 10_000, idleBlocks: 8, idleItems: 200, hangBlocks: 4, hangTurns: 50,
	}
)

// measure is one line, or a few, of the report.
type measure struct {
	name string
	help string
	run  func(context.Context, *run) ([]Row, error)
}

// measures lists all, in the order of the report.
var measures = []measure{
	{"append", "durable events through the whole path, against bare SQLite", measureAppend},
	{"streams", "appends while 100 streams read everything, against no streams", measureStreams},
	{"fanout", "a filled tail to 100 streams, against bytes in memory", measureFanOut},
	{"replay", "a stream from disk, against rows spliced to a socket", measureReplay},
	{"latency", "append to receipt, against fsync and delivery", measureLatency},
	{"roundtrip", "holon/status on a two-way stream, against the bare library", measureRoundTrips},
	{"memory", "resident memory of idle streams, against net/http", measureMemory},
	{"attempts", "appends in nested steps that are retried, against a plain turn's", measureAttempts},
	{"collapse", "a stream without superseded events, against the whole, in events scanned", measureCollapse},
	{"beside", "turn/start and turn/interrupt beside 512 streams that replay, against alone", measureBeside},
	{"commands", "events on a connection with 64 commands in flight, against one without", measureCommands},
	{"sleepers", "streams that do not read events of 1 MB: their memory, and others beside them", measureSleepers},
	{"inbox", "inboxes: ingest, a large one, many that wait, a flood beside commands", measureInbox},
	{"children", "background work: its end to the owner's wake, against a commit; many owners", measureChildren},
	{"delivery", "deliveries to a receiver, idle subscriptions, a target that hangs, against plain posts and without", measureDelivery},
	{"growth", "a large log, against a small one", measureGrowth},
}

// Names lists the measures for Only, each with a line of help.
func Names() (names, help []string) {
	for _, m := range measures {
		names, help = append(names, m.name), append(help, m.help)
	}
	return names, help
}

// UnknownError is an unknown name in Options.Only.
type UnknownError struct{ Name string }

// Error implements error.
func (e *UnknownError) Error() string {
	names, _ := Names()
	return "the measure " + nearest.NoneOf(e.Name, names)
}

// Run measures. It leaves neither files nor processes behind. The error is an
// *UnknownError, ctx's, or the failure of a measure; rows measured before are
// in the report. A missed target is no error.
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	for _, name := range o.Only {
		if !slices.ContainsFunc(measures, func(m measure) bool { return m.name == name }) {
			return nil, &UnknownError{Name: name}
		}
	}
	r := &run{o: o, sizes: fullSizes, pairs: 5, progress: o.Progress}
	if o.Quick {
		r.sizes, r.pairs = quickSizes, 3
	}
	if o.sizes != nil {
		r.sizes = *o.sizes
	}
	if o.Pairs > 0 {
		r.pairs = o.Pairs
	}
	if r.progress == nil {
		r.progress = io.Discard
	}
	if r.dir, err = os.MkdirTemp(o.Dir, "holon-bench-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	report := &Report{StartedAt: time.Now().UTC(), Machine: machine(), Quick: o.Quick, Pairs: r.pairs}
	defer func() { report.Seconds = time.Since(report.StartedAt).Seconds() }()
	for _, m := range measures {
		if len(o.Only) > 0 && !slices.Contains(o.Only, m.name) {
			continue
		}
		r.name = m.name
		rows, err := m.run(ctx, r)
		report.Rows = append(report.Rows, rows...)
		if err = errors.Join(err, r.cleanUp()); err != nil {
			return report, fmt.Errorf("measure %s: %w", m.name, err)
		}
	}
	return report, nil
}
