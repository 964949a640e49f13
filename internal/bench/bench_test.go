package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/bench/baseline/sqlite"
	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// tinySizes suffice to check that everything is measured.
var tinySizes = sizes{
	appendItems: 5, streamItems: 5, tailEvents: 300, flushEvents: 20, replayEvents: 2000,
	paced: 10, rounds: 200, idleStreams: [2]int{10, 20}, grown: 2000, small: 200, growthItems: 3, collapsed: 1000,
	besideEvents: 2000, besideStreams: 20, besideCommands: 10,
	sleepers: 20, sleeperEvents: 100, sleeperReplays: 3,
	largeDigests: 10, largeItems: 40, inboxCalls: 5, waitingBoxes: 20, waitFor: 200 * time.Millisecond, floodCommands: 5, floodSources: 2, owners: 5, jobs: 5,
	deliveries: 3, idleSubscriptions: 20, idleBlocks: 2, idleItems: 3, hangBlocks: 2, hangTurns: 5,
}

func TestEveryRowIsMeasuredAndNothingIsLeftBehind(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	holon, err := hosttest.Build(t.TempDir(), "./cmd/holon")
	if err != nil {
		t.Fatal(err)
	}
	dir := shortDir(t)
	var progress bytes.Buffer
	report, err := Run(ctx, Options{Executable: holon, Dir: dir, Pairs: 1, Grown: 3000, Progress: &progress, sizes: &tinySizes})
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	want := []string{
		"append", "streams", "fanout", "replay", "latency-1", "latency-100", "latency-request", "roundtrip-1", "roundtrip-16",
		"memory-10", "memory-20", "attempts", "collapse", "beside-start", "beside-interrupt", "commands-p50", "commands-p99", "sleepers-memory", "sleepers-live", "sleepers-replay",
		"inbox-grouped", "inbox-ungrouped", "inbox-read", "inbox-ack", "inbox-ack-digest", "inbox-ingest", "inbox-ingest-grouped",
		"inbox-goroutines", "inbox-cpu", "inbox-flush", "inbox-flush-restart", "inbox-webhooks-p50", "inbox-webhooks-p99", "inbox-webhooks-busy",
		"inbox-sources-p50", "inbox-sources-p99", "inbox-sources-busy", "inbox-flood-p50", "inbox-flood-p99", "inbox-flood-busy",
		"children-wake", "children-wake-last", "children-wake-window", "children-taken", "children-told", "children-settled",
		"children-taken-window", "children-told-window", "children-settled-window", "jobs-found",
		"delivery-rate", "delivery-idle", "delivery-idle-cpu", "delivery-latency", "delivery-hang-start", "delivery-hang-latency", "growth-ready", "growth-append", "growth-replay",
		"growth-read", "growth-backup", "growth-backup-writes",
	}
	shown := []string{"latency-request", "inbox-ungrouped", "inbox-flush", "inbox-flush-restart",
		"inbox-webhooks-p50", "inbox-webhooks-busy", "inbox-sources-p50", "inbox-sources-p99", "inbox-sources-busy",
		"inbox-flood-p50", "inbox-flood-p99", "inbox-flood-busy", "children-taken", "children-told", "children-settled",
		"children-taken-window", "children-told-window", "children-settled-window", "jobs-found", "delivery-idle-cpu"}
	// A delivery may arrive before the event on the stream from which its time counts.
	signed := []string{"delivery-latency", "delivery-hang-latency"}
	var got []string
	for _, row := range report.Rows {
		got = append(got, row.Name)
		// The memory of ten streams is too small compared with that of the
		// process.
		measured := row.Unit == "KiB" || len(row.Pairs) == 1 && !math.IsNaN(row.Ratio) && !math.IsInf(row.Ratio, 0) &&
			(row.Ratio > 0 || row.Ratio != 0 && slices.Contains(signed, row.Name))
		if !measured || (row.Target == "") != slices.Contains(shown, row.Name) {
			t.Errorf("%s: %+v", row.Name, row)
		}
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(got)
	if !bytes.Equal(a, b) {
		t.Errorf("rows %s, want %s", b, a)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestUnknownMeasureIsRefused(t *testing.T) {
	_, err := Run(context.Background(), Options{Only: []string{"append", "nonsense"}})
	var unknown *UnknownError
	if !errors.As(err, &unknown) || unknown.Name != "nonsense" {
		t.Fatal(err)
	}
}

// A run that is interrupted must end its children and remove its files too.
func TestInterruptedRunLeavesNothingBehind(t *testing.T) {
	r := testRun(t)
	ctx, cancel := context.WithCancel(context.Background())
	p, _, err := r.listening(ctx, "fanout")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := r.cleanUp(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Running():
	default:
		t.Error("the baseline still runs")
	}
	if left, err := os.ReadDir(r.dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestFailingChildSaysWhy(t *testing.T) {
	r := testRun(t)
	_, err := resultOf[sqlite.Result](context.Background(), r, "sqlite") // without its directory
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte("--dir is missing")) {
		t.Fatal(err)
	}
}

func TestSidesAlternate(t *testing.T) {
	r := testRun(t)
	r.pairs = 3
	var order []byte
	pairs, err := r.interleave(context.Background(),
		func(_ context.Context, i int) ([]float64, error) {
			order = append(order, 'A')
			return []float64{float64(i), 10}, nil
		},
		func(_ context.Context, i int) ([]float64, error) {
			order = append(order, 'B')
			return []float64{1, 20}, nil
		})
	if err != nil || string(order) != "ABABAB" {
		t.Fatalf("%s, %v", order, err)
	}
	if len(pairs) != 2 || len(pairs[0]) != 3 || pairs[0][2] != (Pair{2, 1}) || pairs[1][0] != (Pair{10, 20}) {
		t.Fatalf("%+v", pairs)
	}
}

// testRun is a run whose baselines are this test's binary.
func testRun(t *testing.T) *run {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &run{o: Options{Executable: self}, sizes: tinySizes, pairs: 1, dir: shortDir(t), progress: new(bytes.Buffer)}
	t.Cleanup(func() {
		for _, p := range r.children {
			p.Stop()
		}
	})
	return r
}

// shortDir is a temporary directory whose path is short enough for a socket
// below it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
