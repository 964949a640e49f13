package turns_test

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/turns"
)

func TestNow(t *testing.T) {
	run := &turns.Doing{Title: "Run", Target: "go test ./..."}
	all := turns.Recent{Active: true, Saying: "I look at", Newest: "Read: a.go", Woken: 2, Retry: true, Last: "It is done."}
	only := func(keep func(r *turns.Recent)) turns.Recent {
		r := turns.Recent{Active: true}
		keep(&r)
		return r
	}
	for name, c := range map[string]struct {
		s    turns.Summary
		r    turns.Recent
		want string
	}{
		"a question":            {turns.Summary{Status: turns.SummaryWaiting, Waiting: []turns.WaitingItem{{Title: "Push?"}, {Title: "Which?"}}, Reviews: 1}, all, "Push?"},
		"a review":              {turns.Summary{Status: turns.SummaryWaiting, Reviews: 1}, all, "1 result waits for a review"},
		"reviews":               {turns.Summary{Status: turns.SummaryWaiting, Reviews: 2}, all, "2 results wait for a review"},
		"failed":                {turns.Summary{Status: turns.SummaryFailed, Error: &turns.Failure{Kind: "agent_failed", Message: "no way"}}, all, "no way"},
		"failed, no message":    {turns.Summary{Status: turns.SummaryFailed, Error: &turns.Failure{Kind: "agent_failed"}}, all, "agent_failed"},
		"failed, no error":      {turns.Summary{Status: turns.SummaryFailed}, all, "It is done."},
		"a message":             {turns.Summary{Status: turns.SummaryWorking, Doing: run, Progress: "half"}, all, "I look at"},
		"a tool":                {turns.Summary{Status: turns.SummaryWorking, Doing: run, Progress: "half"}, only(func(r *turns.Recent) { r.Newest = "x" }), "Run: go test ./..."},
		"newer than progress":   {turns.Summary{Status: turns.SummaryWorking, Progress: "half"}, only(func(r *turns.Recent) { r.Newest = "Read: a.go" }), "Read: a.go"},
		"progress":              {turns.Summary{Status: turns.SummaryWorking, Progress: "half"}, only(func(r *turns.Recent) { r.Retry, r.Woken = true, 2 }), "half"},
		"a retry":               {turns.Summary{Status: turns.SummaryWorking}, only(func(r *turns.Recent) { r.Retry, r.Woken = true, 2 }), "waits for its next attempt"},
		"woken":                 {turns.Summary{Status: turns.SummaryWorking}, only(func(r *turns.Recent) { r.Woken = 2 }), "woken by 2 entries"},
		"woken by one":          {turns.Summary{Status: turns.SummaryWorking}, only(func(r *turns.Recent) { r.Woken = 1 }), "woken by 1 entry"},
		"begun":                 {turns.Summary{Status: turns.SummaryWorking, Queued: 2}, only(func(r *turns.Recent) { r.Last = "old" }), ""},
		"queued":                {turns.Summary{Status: turns.SummaryWorking, Queued: 1, TurnID: "turn_a"}, turns.Recent{Last: "old"}, "1 turn waits in the queue"},
		"idle":                  {turns.Summary{Status: turns.SummaryIdle, Progress: "half"}, turns.Recent{Last: "It is done."}, "It is done."},
		"interrupted":           {turns.Summary{Status: turns.SummaryIdle, Interrupted: true}, turns.Recent{}, "interrupted"},
		"interrupted by a stop": {turns.Summary{Status: turns.SummaryIdle, Interrupted: true, Reason: "server stopped"}, turns.Recent{Last: "Now I"}, "interrupted: server stopped; last: Now I"},
		"early":                 {turns.Summary{Status: turns.SummaryIdle, StopReason: "refusal"}, turns.Recent{Last: "Now I"}, "stopped early (refusal); last: Now I"},
		"closed":                {turns.Summary{Status: turns.SummaryClosed, Interrupted: true, Reason: "closed"}, turns.Recent{Last: "Bye."}, "Bye."},
		"nothing":               {turns.Summary{Status: turns.SummaryIdle}, turns.Recent{}, ""},
		"too long": {turns.Summary{Status: turns.SummaryIdle, Interrupted: true, Reason: strings.Repeat("r", 150)}, turns.Recent{Last: strings.Repeat("l", 150)},
			"interrupted: " + strings.Repeat("r", 150) + "; last: " + strings.Repeat("l", 28) + "…"},
	} {
		if got := c.s.Now(c.r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestLastLine(t *testing.T) {
	x := strings.Repeat("x", 300)
	for text, want := range map[string]string{
		"":                               "",
		"\n \n":                          "",
		"one":                            "one",
		"one\ntwo\n\n":                   "two",
		"one\r\ntwo\r\n":                 "two",
		"a\nHere it is:\n```\n}\n```\n":  "Here it is:",
		"a\n\x1b[31mred\x1b[0m\talert\n": "red alert",
		"a\n7":                           "7",
		"a\n日本語":                         "日本語",
		"a\n" + x + "end":                "…" + x[:196] + "end",
	} {
		got, whole := turns.LastLine(text)
		if got != want || whole != (want != "" && strings.Contains(text, "\n")) {
			t.Errorf("%q: %q %v, want %q", text, got, whole, want)
		}
	}
}

func TestAToolIsSaidOnce(t *testing.T) {
	for want, d := range map[string]*turns.Doing{
		"":             nil,
		"Edit: a.go":   {Title: "Edit", Target: "a.go"},
		"Read a.go":    {Title: "Read a.go", Target: "a.go"},
		"make test":    {Title: "make", Target: "make test"},
		"Think":        {Title: "Think"},
		"go vet ./...": {Target: "go vet ./..."},
	} {
		if got := d.Line(); got != want {
			t.Errorf("%+v: %q, want %q", d, got, want)
		}
	}
}
