//go:build linux

package faults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// A trace follows all threads of a child through ptrace and counts its
// operations on the files below Dir: writes, truncations, syncs, and changes
// of names. It runs in a separate process, because it waits for every child
// there is (see traceMain).
type trace struct {
	Dir    string
	Report string // a file for the traceReport, written at the end
	PID    string // a file for the child's process id, written at the start
	KillAt int    // kill -9 as operation KillAt (from 1) begins; 0 = never
	Record string // a file for all records; "" = none
}

// traceReport is what a trace has seen.
type traceReport struct {
	Ops    []string // the operations that began, in order
	Killed string   // the one that did not happen, "" if none was cut
}

// recordKind says what a record is.
type recordKind int

const (
	recWrite    recordKind = iota + 1 // Data went to Path at Offset
	recTruncate                       // Path got the size Offset
	recSync                           // what was recorded before index Begin is durable for Path
	recRemove                         // the name Path went
	recSent                           // Data went to a socket
)

// record is one operation. Writes and what is sent are recorded as they
// begin, syncs as they return: whatever the order of threads, a record never
// promises more than was so.
type record struct {
	Kind   recordKind
	Path   string
	Offset int64
	Data   []byte
	Begin  int
}

// traceEnv marks a process of the test binary as a tracer; its value is the
// trace as JSON.
const traceEnv = "FAULTS_TRACE"

// wrap is the command line, and the variable, that run args under the trace.
func (tr trace) wrap(t testing.TB, args []string) (wrapped []string, env string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{self}, args...), traceEnv + "=" + string(raw)
}

// newTrace returns a trace of the place's data.
func newTrace(p *testbed) *trace {
	return &trace{Dir: p.data, Report: filepath.Join(p.root, "report"), PID: filepath.Join(p.root, "pid")}
}

// child waits for the traced process and returns its id.
func (tr trace) child(t testing.TB, s *server) int {
	t.Helper()
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		raw, err := os.ReadFile(tr.PID)
		if err == nil && len(raw) > 0 {
			pid, err := strconv.Atoi(string(raw))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		if s.wait(0) {
			break
		}
	}
	t.Fatalf("the tracer does not start\n%s", s.stderr.tail())
	return 0
}

// report reads what the tracer has seen, once it has ended.
func (tr trace) report(t testing.TB, s *server) (r traceReport) {
	t.Helper()
	if !s.wait(startWithin) {
		t.Fatalf("the tracer does not end\n%s", s.stderr.tail())
	}
	raw, err := os.ReadFile(tr.Report)
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil {
		t.Fatalf("trace: %v\n%s", err, s.stderr.tail())
	}
	return r
}
