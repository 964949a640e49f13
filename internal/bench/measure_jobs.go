package bench

import (
	"context"
	"fmt"
	"time"
)

// measureJobs runs the program of a workflow again, which asks for its jobs one after the other,
// all of which have ended. The baseline is a look at the result of each by turn/await.
func measureJobs(ctx context.Context, r *run) ([]Row, error) {
	jobs := r.sizes.jobs
	s, err := r.serve(ctx, r.newDir("jobs"))
	if err != nil {
		return nil, err
	}
	const owner = "workflow"
	if err := s.startOwner(ctx, owner, 0, noWindow); err != nil {
		return nil, err
	}
	program := plainTurn(owner)
	program["input"] = []any{map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": "/sleep 3600000"}}}}
	var turn struct {
		TurnID string `json:"turn_id"`
	}
	if err := s.client.Call(ctx, "turn/start", program, &turn); err != nil {
		return nil, err
	}
	ids := make([]string, jobs)
	ask := func() error {
		for i := range ids {
			params := plainTurn("")
			delete(params, "thread_id")
			params["job"], params["parent"], params["wait_seconds"] = fmt.Sprintf("part/%d", i), map[string]any{"thread_id": owner, "turn_id": turn.TurnID}, 30
			var answer struct {
				TurnID  string                   `json:"turn_id"`
				Found   bool                     `json:"found"`
				Results []struct{ State string } `json:"results"`
			}
			if err := s.client.Call(ctx, "turn/start", params, &answer); err != nil {
				return err
			}
			if len(answer.Results) != 1 || answer.Results[0].State != "completed" || answer.Found != (ids[i] != "") || answer.Found && answer.TurnID != ids[i] {
				return fmt.Errorf("job %d is %+v", i, answer)
			}
			ids[i] = answer.TurnID
		}
		return nil
	}
	if err := ask(); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := ask(); err != nil {
		return nil, err
	}
	took := time.Since(began)
	began = time.Now()
	for _, id := range ids {
		if err := s.client.Call(ctx, "turn/await", map[string]any{"turn_ids": []string{id}, "timeout_seconds": 0}, nil); err != nil {
			return nil, err
		}
	}
	looks := time.Since(began)
	return []Row{
		newRow("jobs-found", fmt.Sprintf("a program that is run again goes through its %d jobs, which have ended, one after the other", jobs), "s",
			[]Pair{{took.Seconds(), looks.Seconds()}}).shown().note("once; baseline: a turn/await of each"),
	}, s.stop()
}
