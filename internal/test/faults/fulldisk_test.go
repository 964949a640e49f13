//go:build linux

package faults

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// smallDisk starts a server whose data are on a separate disk, of this
// size, that no other process sees.
func (p *testbed) smallDisk(t testing.TB, size string, args ...string) *server {
	t.Helper()
	need(t, "mount")
	if err := os.MkdirAll(p.data, 0o700); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`mount -t tmpfs -o mode=0700,size=%s tmpfs %s && exec "$@"`, size, p.data)
	s := p.launch(t, launch{args: args, wrap: []string{"unshare", "-m", "sh", "-c", script, "sh"}})
	if err := s.ready(startWithin); err != nil {
		t.Fatalf("the server does not get ready on a small disk: %v\n%s", err, s.stderr.tail())
	}
	return s
}

// inside runs a command where the server's disk is seen.
func (s *server) inside(t testing.TB, args ...string) {
	t.Helper()
	args = append([]string{"-t", fmt.Sprint(s.pid), "-m"}, args...)
	if out, err := exec.Command("nsenter", args...).CombinedOutput(); err != nil {
		t.Fatalf("nsenter %q: %v\n%s", args, err, out)
	}
}

// A disk that is really full: what does not fit is refused with its kind,
// readers notice nothing, a running turn is held back and continues when
// there is space, without a restart (I1, I6).
func TestFullDiskHoldsTurnsBackAndLosesNothing(t *testing.T) {
	t.Parallel()
	p := newTestbed(t)
	// Large enough that the write-ahead log was written back before: until then a
	// change that fits into what is left of it is taken although a larger one is not.
	s := p.smallDisk(t, "12m", "--heartbeat-seconds", "1")
	views := []*view{newView(0), newView(0)}
	for _, v := range views {
		go func() { _ = v.follow(s) }() // ends with the server
	}
	s.must(t, "thread/start", object{"thread_id": "a"})
	s.must(t, "thread/start", object{"thread_id": "b"})

	// A turn that streams more than fits, paced, so that it meets the end of
	// the disk in its middle.
	const deltas, size = 5000, 4000
	running := s.must(t, "turn/start", turn("a", fmt.Sprintf("/deltas %d %d 1", deltas, size)))
	acked := fillUp(t, s)
	// What is left between two blocks, and in the write-ahead log, would still
	// take a small change.
	s.inside(t, "sh", "-c", "cat /dev/zero >"+filepath.Join(p.data, "ballast")+" 2>/dev/null; true")
	for range 5 {
		acked = append(acked, fillUp(t, s)...)
	}
	small := fillGap(t, s)

	full := s.latest(t)
	for _, c := range []struct {
		method string
		params object
	}{
		{"thread/start", object{"thread_id": "refused"}},
		{"turn/start", turn("b", "refused")},
		{"turn/steer", object{"turn_id": running.TurnID, "input": turn("", "refused")["input"]}},
		{small, object{}},
	} {
		if _, err := s.call(c.method, c.params); kindOf(err) != "storage_full" {
			t.Errorf("%s on a full disk: got %v, want storage_full", c.method, err)
		}
	}
	// The server tries each second with a change that is still smaller. Each that
	// fits makes it ready until the held turn is tried again, and leaves less.
	eventually(t, "not ready on a full disk", func() bool {
		code, _ := s.readyz()
		return code == http.StatusServiceUnavailable && s.metric(t, "holon_storage_ok") == 0
	})
	var state struct{ Turn struct{ State string } }
	s.must(t, "turn/read", object{"turn_id": running.TurnID}).decode(t, &state)
	if state.Turn.State != "active" {
		t.Errorf("the running turn is %q on a full disk, it must be held", state.Turn.State)
	}
	log := s.log(t)
	for i, v := range views {
		if err := v.waitFor(full, startWithin); err != nil {
			t.Errorf("stream %d stops on a full disk: %v", i, err)
		}
		if err := v.within(s.log(t)); err != nil {
			t.Errorf("stream %d: %v", i, err)
		}
	}
	held := s.latest(t)
	time.Sleep(700 * time.Millisecond) // longer than one retry
	if now := s.latest(t); now != held {
		t.Errorf("the log grows on a full disk: from %d to %d", held, now)
	}

	s.inside(t, "mount", "-o", "remount,size=512m", p.data)
	if err := s.ready(startWithin); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if s.metric(t, "holon_storage_ok") != 1 {
		t.Error("holon_storage_ok is not 1 with space again")
	}
	if small == "holon/resume" {
		s.must(t, small, object{})
	}
	if _, err := views[0].waitLine(60*time.Second, int64(len(log))-1, `"turn/completed"`, running.TurnID); err != nil {
		t.Errorf("the held turn does not continue: %v\n%s", err, s.stderr.tail())
	}
	s.must(t, "turn/start", turn("b", "after"))
	if err := s.idle(startWithin); err != nil {
		t.Error(err)
	}
	after := s.log(t)
	for _, line := range after {
		if strings.Contains(line, "refused") {
			t.Errorf("what was refused has happened: %s", line)
		}
	}
	if err := checkLog(after, true); err != nil {
		t.Error(err)
	}
	text := 0
	for _, line := range after {
		if methodOf(line) == "item/delta" && strings.Contains(line, running.TurnID) {
			_, rest, _ := strings.Cut(line, `"text":"`)
			text += strings.IndexByte(rest, '"')
		}
	}
	if want := deltas * size; text < want*9/10 && !truncated(after) {
		t.Errorf("the held turn streamed %d bytes of %d", text, want)
	}
	for _, seq := range acked {
		if seq > int64(len(after)) {
			t.Errorf("seq %d was acknowledged, the log ends at %d", seq, len(after))
		}
	}
	for i, v := range views {
		if err := v.waitFor(int64(len(after)), startWithin); err != nil {
			t.Error(err)
		}
		if err := v.exactly(after); err != nil {
			t.Errorf("stream %d: %v", i, err)
		}
	}
	s.inside(t, binary, "doctor", "--refold", "--data", p.data)
	s.stop(t)
}

// fillGap makes the smallest changes until the disk is full for them too: in the
// write-ahead log there may be space that is too little for others. It returns the
// method that was refused.
func fillGap(t *testing.T, s *server) string {
	t.Helper()
	for {
		for _, method := range []string{"holon/pause", "holon/resume"} {
			switch _, err := s.call(method, object{}); kindOf(err) {
			case "":
			case "storage_full":
				return method
			default:
				t.Fatalf("%s on a disk that fills up: %v\n%s", method, err, s.stderr.tail())
			}
		}
	}
}

// truncated reports whether an item reached max_item_bytes, where its deltas
// stop.
func truncated(log []string) bool {
	for _, line := range log {
		if strings.Contains(line, `"truncated":true`) {
			return true
		}
	}
	return false
}

// fillUp makes small changes until the disk is full, and returns the seqs
// that were acknowledged.
func fillUp(t *testing.T, s *server) (acked []int64) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		r, err := s.call("thread/start", object{"metadata": object{"ballast": strings.Repeat("x", 4000)}})
		switch kindOf(err) {
		case "":
			acked = append(acked, r.Seq)
			time.Sleep(2 * time.Millisecond)
		case "storage_full":
			return acked
		default:
			t.Fatalf("a change on a disk that fills up: %v\n%s", err, s.stderr.tail())
		}
	}
	t.Fatal("the disk does not get full")
	return nil
}
