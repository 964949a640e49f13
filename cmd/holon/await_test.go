package main

import (
	"testing"

	"github.com/seed82539d15/holon/turns"
)

func TestTheExitCodeOfAwaitIsTheWorstEnd(t *testing.T) {
	completed, early := turns.Result{State: turns.Completed, StopReason: "end_turn"}, turns.Result{State: turns.Completed, StopReason: "max_tokens"}
	failed, active := turns.Result{State: turns.Failed, StopReason: "error"}, turns.Result{State: turns.Active}
	rejected := turns.Result{State: turns.Completed, Review: &turns.Review{State: turns.Rejected}}
	for _, c := range []struct {
		results  []turns.Result
		one, all int
	}{
		{nil, exitOK, exitOK},
		{[]turns.Result{completed}, exitOK, exitOK},
		{[]turns.Result{early}, exitEarly, exitEarly},
		{[]turns.Result{early, completed}, exitEarly, exitEarly},
		{[]turns.Result{early, failed}, exitFailed, exitFailed},
		{[]turns.Result{early, rejected}, exitFailed, exitFailed},
		{[]turns.Result{early, active}, exitEarly, exitFailed},
		{[]turns.Result{completed, active}, exitOK, exitFailed},
		{[]turns.Result{active}, exitFailed, exitFailed},
		{[]turns.Result{{State: turns.NotFound}}, exitFailed, exitFailed},
	} {
		answer := turns.AwaitResult{Results: c.results}
		if one, all := (awaitOptions{}).exitCode(answer), (awaitOptions{all: true}).exitCode(answer); one != c.one || all != c.all {
			t.Errorf("%+v: %d, with --all %d, want %d and %d", c.results, one, all, c.one, c.all)
		}
	}
}
