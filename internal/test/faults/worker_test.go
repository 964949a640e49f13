//go:build linux

package faults

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed82539d15/holon/notify/fold"
)

// request is one of a worker.
type request struct {
	method string
	params object
}

// worker does one attempt of a turn: a nested step that it tries again, then
// the step above it, then the rest. What it has sent counts its requests.
type worker struct {
	name  string
	agent string
	call  func(key, method string, params object) (reply, error)
	wait  float64 // seconds for a turn; 0 is 15
	lease object
	sent  int
}

var errNoTurn = errors.New("no turn came")

// work claims a turn and does it.
func (w *worker) work() error {
	if err := w.claim(); err != nil {
		return err
	}
	for _, r := range w.job() {
		if _, err := w.send(r.method, r.params.with("lease", w.lease)); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) claim() error {
	r, err := w.send("turn/claim", object{"agent": w.agent, "worker": w.name, "wait_seconds": cmp.Or(w.wait, 15)})
	if err != nil {
		return err
	}
	var got struct {
		Lease *struct {
			TurnID  string `json:"turn_id"`
			Attempt int    `json:"attempt"`
			Token   string `json:"token"`
		} `json:"lease"`
	}
	if err := r.into(&got); err != nil {
		return err
	}
	if got.Lease == nil {
		return errNoTurn
	}
	w.lease = object{"turn_id": got.Lease.TurnID, "attempt": got.Lease.Attempt, "token": got.Lease.Token}
	return nil
}

// send sends a request; its place is its key.
func (w *worker) send(method string, params object) (reply, error) {
	w.sent++
	r, err := w.call(fmt.Sprintf("%s-%d", w.name, w.sent), method, params)
	if err != nil {
		err = fmt.Errorf("%s: request %d, %s: %w", w.name, w.sent, method, err)
	}
	return r, err
}

// jobRequests is how many requests an attempt takes, with the claim.
var jobRequests = 1 + len((&worker{}).job())

// itemID is unique in the whole log: a turn's other attempts have others.
func (w *worker) itemID(n int) string {
	return fmt.Sprintf("item_%v_%v_%d", w.lease["turn_id"], w.lease["attempt"], n)
}

// job is what an attempt asks for after its claim. Of what it says, "second"
// and "said" must be live in the end.
func (w *worker) job() []request {
	message := func(text string) object {
		return object{"type": "agent_message", "content": []object{{"type": "output_text", "text": text}}}
	}
	create := func(n int, step, status, text string) object {
		return object{"item_id": w.itemID(n), "step": step, "status": status, "content": message(text)}
	}
	op := func(name string, o object) object { return o.with("op", name) }
	return []request{
		{"step/start", object{"step": "setup"}},
		{"step/start", object{"step": "setup/clone"}},
		{"item/create", create(1, "setup/clone", "in_progress", "")},
		{"item/append", object{"item_id": w.itemID(1), "text": "half a "}},
		{"step/start", object{"step": "setup/clone", "reason": "the network"}},
		{"item/create", create(2, "setup/clone", "in_progress", "")},
		{"item/append", object{"item_id": w.itemID(2), "text": "a whole one"}},
		{"turn/renew", object{}},
		{"item/batch", object{"ops": []object{
			op("append", object{"item_id": w.itemID(2), "text": ", and more"}),
			op("update", object{"item_id": w.itemID(2), "status": "completed"}),
			op("create", create(3, "setup", "completed", "in between")),
		}}},
		{"step/end", object{"step": "setup/clone", "status": "failed"}},
		{"step/start", object{"step": "setup"}},
		{"step/start", object{"step": "setup/clone"}},
		{"item/create", create(4, "setup/clone", "completed", "second")},
		{"step/end", object{"step": "setup"}},
		{"item/create", create(5, "", "in_progress", "")},
		{"item/append", object{"item_id": w.itemID(5), "text": "said"}},
		{"item/update", object{"item_id": w.itemID(5), "status": "completed"}},
		{"item/create", create(6, "", "in_progress", "never mind")},
		{"item/delete", object{"item_id": w.itemID(6)}},
		{"turn/complete", object{"message": "done"}},
	}
}

// done checks that the live view of a turn is one whole attempt of the job.
func done(turn *fold.Turn) error {
	want := []string{"second", "said"}
	if got := saidBy(turn); turn.State != "completed" || turn.Message != "done" || !slices.Equal(got, want) {
		return fmt.Errorf("turn %s ended %s %q with %q, want %q", turn.TurnID, turn.State, turn.Message, got, want)
	}
	for _, step := range turn.Steps {
		if step.Status != "completed" {
			return fmt.Errorf("turn %s: step %+v", turn.TurnID, step)
		}
	}
	if len(turn.Steps) != 2 {
		return fmt.Errorf("turn %s: steps %v", turn.TurnID, turn.Steps)
	}
	return nil
}

// farAgents configures n agents whose turns workers claim: far0, far1, … with
// short leases, each turn retried. It returns the flags.
func (p *testbed) farAgents(t testing.TB, n int, lease float64) []string {
	t.Helper()
	var text string
	for i := range n {
		text += fmt.Sprintf("[agents.far%d]\nkind = \"worker\"\nlease_seconds = %v\non_crash = \"retry\"\nmax_attempts = 5\nbackoff_seconds = 0.05\n", i, lease)
	}
	file := filepath.Join(p.root, "c.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--config", file}
}

// late says whether the server refused because the try was given up.
func late(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.Code == -32009
}

// lateSeq is where the server keeps what it refused.
func lateSeq(err error) int64 {
	var r *refusal
	if errors.As(err, &r) {
		return r.Data.LateSeq
	}
	return 0
}
