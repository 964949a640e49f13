package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/config"
)

// turnSamples fetches the samples of turns, without buckets and without times, which
// differ each time.
func (s *server) turnSamples() (list []string) {
	s.t.Helper()
	_, page := s.fetch("/metrics")
	for line := range strings.Lines(page) {
		for _, name := range []string{"holon_turns_ended_total{", "holon_turn_seconds_count{", "holon_question_wait_seconds_count{", "holon_tokens_total{", "holon_cost_total{"} {
			if strings.HasPrefix(line, name) {
				list = append(list, strings.TrimSpace(line))
			}
		}
	}
	slices.Sort(list)
	return list
}

// spending is an agent whose first attempt fails, and whose attempts cost something.
func spending() config.Agent {
	return config.Agent{
		Kind: config.KindExec,
		Command: []string{"sh", "-c", `
			echo '{"event":"usage","input_tokens":100,"output_tokens":10,"cost":{"amount":0.5,"currency":"EUR"}}'
			[ "$HOLON_ATTEMPT" != 1 ] || { echo '{"event":"result","state":"failed","message":"not yet","transient":true}'; exit; }
			echo '{"event":"usage","input_tokens":200,"output_tokens":1,"cost":{"amount":0.25,"currency":"EUR"}}'`},
		Exec:  config.ExecAgent{Output: "events"},
		Retry: config.RetryPolicy{OnCrash: "retry", MaxAttempts: 3},
	}
}

func TestMetricsOfTurnsAreThereFromTheStartAndCountWhatHappened(t *testing.T) {
	s := &server{t: t, data: t.TempDir()}
	s.agents = map[string]config.Agent{"spender": spending()}
	s.start()
	same := func(want ...string) {
		t.Helper()
		slices.Sort(want)
		if have := s.turnSamples(); !slices.Equal(have, want) {
			t.Errorf("the metrics are\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
		}
	}
	start := []string{
		`holon_turns_ended_total{agent="echo",outcome="completed"} 0`, `holon_turns_ended_total{agent="echo",outcome="failed"} 0`,
		`holon_turns_ended_total{agent="echo",outcome="interrupted"} 0`,
		`holon_turns_ended_total{agent="spender",outcome="completed"} 0`, `holon_turns_ended_total{agent="spender",outcome="failed"} 0`,
		`holon_turns_ended_total{agent="spender",outcome="interrupted"} 0`,
		`holon_turn_seconds_count{agent="echo"} 0`, `holon_turn_seconds_count{agent="spender"} 0`,
		`holon_question_wait_seconds_count{agent="echo"} 0`, `holon_question_wait_seconds_count{agent="spender"} 0`,
		`holon_tokens_total{agent="echo",direction="input"} 0`, `holon_tokens_total{agent="echo",direction="output"} 0`,
		`holon_tokens_total{agent="spender",direction="input"} 0`, `holon_tokens_total{agent="spender",direction="output"} 0`,
		`holon_cost_total{agent="echo",currency="USD"} 0`, `holon_cost_total{agent="spender",currency="USD"} 0`,
	}
	same(start...)

	s.want("run", "hello")
	s.holon("run", "/fail it broke")
	asking := make(chan result, 1)
	go func() { asking <- s.holon("run", "/ask Go on?") }()
	eventually(t, "it waits for a person", func() bool {
		_, page := s.fetch("/metrics")
		return strings.Contains(page, "\nholon_oldest_wait_seconds{what=\"question\"} 0.") && strings.Contains(page, "\nholon_oldest_wait_seconds{what=\"review\"} 0\n")
	})
	question := oneObject(t, s.want("call", "item/list", `{"status":"pending"}`))["items"].([]any)[0].(map[string]any)["item_id"].(string)
	s.want("respond", question, "--allow")
	<-asking
	s.want("run", "--agent", "spender", "hello") // two attempts and one end
	want := []string{`holon_cost_total{agent="spender",currency="EUR"} 0.75`}
	for _, sample := range start {
		name, _, _ := strings.Cut(sample, " ")
		count := map[string]string{
			`holon_turns_ended_total{agent="echo",outcome="completed"}`: "2", `holon_turns_ended_total{agent="echo",outcome="failed"}`: "1",
			`holon_turns_ended_total{agent="spender",outcome="completed"}`: "1",
			`holon_turn_seconds_count{agent="echo"}`:                       "3", `holon_turn_seconds_count{agent="spender"}`: "1",
			`holon_question_wait_seconds_count{agent="echo"}`:       "1",
			`holon_tokens_total{agent="spender",direction="input"}`: "300", `holon_tokens_total{agent="spender",direction="output"}`: "11",
		}[name]
		if count == "" {
			count = "0"
		}
		want = append(want, name+" "+count)
	}
	same(want...)

	s.stop()
	s.start() // counters begin at 0 again
	same(start...)
}

func TestBuildInfoSaysWhatRuns(t *testing.T) {
	s := startServer(t)
	if _, page := s.fetch("/metrics"); !strings.Contains(page, `holon_build_info{commit="",go="go1.`) || !strings.Contains(page, `,version="test"} 1`+"\n") {
		t.Errorf("no holon_build_info in\n%s", page)
	}
}
