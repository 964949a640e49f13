package conformance

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// playAgainstFake plays lines as a separate check.
func playAgainstFake(t *testing.T, lines string, patience time.Duration) Result {
	t.Helper()
	s := &scripts{lines: map[string][]line{}, sections: map[string][]line{}}
	for name, text := range map[string]string{
		"started": `> thread/start {"thread_id":"<text>"}`, "a.b": "It is so.\nprotocol.md §3 Methods\n" + lines,
	} {
		if err := s.add(name, text); err != nil {
			t.Fatal(err)
		}
	}
	srv := httptest.NewServer(newFake(""))
	defer srv.Close()
	end, err := Target{URL: srv.URL}.open()
	if err != nil {
		t.Fatal(err)
	}
	defer end.close()
	results := make([]Result, 1)
	run := &session{end: end, opts: Options{Patience: patience, Timeout: 30 * time.Second}, seen: newObserver()}
	run.runAll(t.Context(), s.checks, results)
	return results[0]
}

// TestEveryLineOfAScriptIsJudged plays lines that succeed, and for each a line
// that differs in one thing and must fail with these words.
func TestEveryLineOfAScriptIsJudged(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"> thread/start {} < {\"state\":\"running\"}":                                                  "",
		"> thread/start {} < {\"state\":\"gone\"}":                                                     `state is "running", want "gone"`,
		"> thread/start {}\n> thread/start {\"title\":\"x\"}\n< {\"thread_id\":\"<id>\"}":              `thread_id is "thread_2"`,
		"> thread/start {}\n> thread/read {\"thread_id\":\"none\"}":                                    "it was refused",
		"> thread/read {\"thread_id\":\"none\"} <":                                                     "it was refused",
		"> thread/read {\"thread_id\":\"none\"} ! thread_not_found":                                    "",
		"> thread/read {\"thread_id\":\"none\"} ! thread_closed":                                       `got error -32002 "thread_not_found"`,
		"> thread/start {} ! thread_closed":                                                            "succeeded, want error -32004",
		"> thread/list {\"nope\":1} ! invalid_params {\"field\":\"nope\"}":                             "",
		"> thread/list {\"nope\":1} ! invalid_params {\"field\":\"limit\"}":                            `field is "nope"`,
		"> thread/list {\"nope\":1}\n> thread/list {}\n! invalid_params":                               "succeeded",
		">> {\n< 400\n! parse_error":                                                                   "",
		">> {\n< 200":                                                                                  "got status 400, want 200",
		">> {\n! 413 parse_error":                                                                      "got status 400, want 413",
		">> {\n< 400\n! invalid_request":                                                               "parse_error",
		">> [{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"holon/status\"}]\n<< [{\"id\":1}]":             "",
		">> [{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"holon/status\"}]\n<< [{\"id\":2}]":             "[0].id is 1, want 2",
		">> {\"jsonrpc\":\"2.0\",\"method\":\"holon/status\"}\n<< nothing":                             "",
		">> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"holon/status\"}\n<< nothing":                    "it was answered",
		"> GET /rpc < 405 {\"Allow\":\"POST\"}":                                                        "",
		"> GET /rpc < 405 {\"Allow\":\"GET\"}":                                                         `Allow is "POST"`,
		"> GET /rpc [Accept: */*] < 405 {\"Allow\":\"GET\"}":                                           `Allow is "POST"`,
		"= started <new-id>\n~ thread/started thread_id=<new-id> {\"thread_seq\":1}":                   "",
		"= started <new-id>\n~ thread/started thread_id=<new-id> {\"thread_seq\":2}":                   "thread_seq is 1, want 2",
		"= started <new-id>\n~ thread/closed thread_id=<new-id>":                                       "waited in vain",
		"= started <new-id>\n~ thread/started thread_id=other":                                         "waited in vain",
		"= started <new-id>\n- thread/closed thread_id=<new-id>":                                       "",
		"= started <new-id>\n~ thread/started thread_id=<new-id>\n- thread/started thread_id=<new-id>": "it came",
		"> thread/read {\"thread_id\":\"<never>\"}":                                                    "<never> has not been seen yet",
		"= nowhere": `there is no section "nowhere"`,
	} {
		var res Result
		judged := false
		// A busy machine can be slower than the patience: a patient run decides.
		for _, patience := range []time.Duration{200 * time.Millisecond, 5 * time.Second} {
			res = playAgainstFake(t, lines, patience)
			if judged = want == "" && res.Outcome == Pass || want != "" && res.Outcome != Pass && strings.Contains(res.Message, want); judged {
				break
			}
		}
		if !judged {
			t.Errorf("%s\nended %s %q, want %q", lines, res.Outcome, res.Message, want)
		}
	}
}
