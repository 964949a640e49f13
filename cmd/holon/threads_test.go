package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

func TestThreadsShowStatusAndLastActivity(t *testing.T) {
	terminalIn(t) // no repository
	s := startServer(t)
	if r := s.holon("threads"); r.code != exitOK || !strings.Contains(r.err, `holon run "hello"`) {
		t.Errorf("none: %+v", r)
	}
	s.startThreads([2]string{"new", "日本語 work"})
	s.want("run", "--thread=done", "/say done")
	s.holon("run", "--thread=broken", "/fail it broke")
	s.want("run", "-d", "--thread=asks", "/ask Delete it?")
	s.want("run", "-d", "--thread=works", "/sleep 600000")
	s.want("run", "-d", "--thread=works", "and then")
	s.want("run", "-d", "--thread=stopped", "/sleep 600000")
	s.want("interrupt", "stopped")
	s.want("run", "-q", "--thread=held", "/say held")
	s.want("pause", "held")
	s.want("run", "-q", "--thread=over", "/say over")
	s.want("close", "over")
	eventually(t, "it asks", func() bool {
		return strings.Contains(s.want("threads"), "waiting") && strings.Contains(s.want("threads"), "interrupted")
	})
	want := strings.TrimSpace(`
THREAD STATUS TITLE NOW AGENT BRANCH LAST ACTIVITY
new idle TIME 日本語 work echo TIME ago
done idle TIME /say done done echo TIME ago
broken failed TIME /fail it broke it broke echo TIME ago
asks waiting TIME /ask Delete it? Delete it? echo TIME ago
works working TIME /sleep 600000 1 queued echo TIME ago
stopped idle TIME /sleep 600000 interrupted: holon interrupt echo TIME ago
held idle TIME /say held held; paused echo TIME ago
over closed TIME /say over over echo TIME ago`)
	got := regexp.MustCompile(` +`).ReplaceAllString(anonymous(s.want("threads")), " ")
	if strings.TrimSpace(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if out := s.want("threads", "--state=closed"); strings.Count(out, "\n") != 2 || !strings.Contains(out, "over") {
		t.Errorf("--state:\n%s", out)
	}
	for state, title := range map[string]string{"waiting": "/ask Delete it?", "working": "/sleep 600000", "failed": "/fail it broke", "idle": "日本語 work", "paused": "/say held"} {
		if out := s.want("threads", "--state", state); !strings.Contains(out, title) || strings.Contains(out, "over") {
			t.Errorf("--state %s:\n%s", state, out)
		}
	}
	if r := s.holon("threads", "-n", "1"); !strings.Contains(r.err, "These are the newest 1") {
		t.Errorf("-n 1: %+v", r)
	}
}

// 1,000 threads are two pages at most, and nothing is asked for each of them.
func TestThreadsAreListedWithFewRequests(t *testing.T) {
	s := startServer(t)
	const many = 1000
	for i := range many {
		s.did("thread/start", fmt.Sprintf(`{"thread_id":"t%d","title":"日本語 work %d"}`, i, i))
	}
	before := s.requests()
	list := oneObject(t, s.want("threads", "--limit=0", "-o=json"))["threads"].([]any)
	text := s.want("threads", "--limit=0")
	if asked := s.requests() - before; len(list) != many || strings.Count(text, "\n") != many+1 || asked > 4 {
		t.Errorf("%d rows and %d lines with %d requests", len(list), strings.Count(text, "\n"), asked)
	}
	if summary, ok := list[0].(map[string]any)["summary"].(map[string]any); !ok || summary["status"] != "idle" || summary["title"] != "日本語 work 0" {
		t.Errorf("%v", list[0])
	}
}

// requests is how many requests the server has executed.
func (s *server) requests() (n int) {
	s.t.Helper()
	_, page := s.fetch("/metrics")
	for _, m := range regexp.MustCompile(`(?m)^holon_requests_total\{.*\} (\S+)$`).FindAllStringSubmatch(page, -1) {
		count, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			s.t.Fatal(err)
		}
		n += int(count)
	}
	return n
}

func TestWhatAThreadIsDoingIsSaidInALine(t *testing.T) {
	for _, c := range []struct{ row, want string }{
		{`{"state":"running","summary":{"status":"waiting","text":"Delete \u001b[31mit?","waiting_count":1,"doing":{"title":"x"}}}`, "waiting||Delete it?||"},
		{`{"state":"running","summary":{"status":"waiting","text":"Delete it?","waiting_count":2}}`, "waiting||Delete it? (and 1 other)||"},
		{`{"state":"running","summary":{"status":"waiting","text":"Delete it?","waiting_count":12}}`, "waiting||Delete it? (and 11 others)||"},
		{`{"state":"running","summary":{"status":"waiting","text":"","waiting_count":12}}`, "waiting||||"},
		{`{"state":"paused","summary":{"status":"waiting","reviews":2,"text":"2 results wait for a review","queued":3}}`, "waiting||2 results wait for a review; paused; 3 queued||"},
		{`{"state":"running","summary":{"status":"working","title":"a","text":"","queued":1}}`, "working|a|1 queued||"},
		{`{"state":"running","summary":{"status":"working","text":"1 turn waits in the queue","queued":1}}`, "working||1 turn waits in the queue||"},
		{`{"state":"running","summary":{"status":"working","text":"","updated_at":"` + time.Now().Add(-150*time.Minute).Format(time.RFC3339) + `"}}`, "working||silent for 2h: holon doctor checks its agent||2h ago"},
		{`{"state":"running","summary":{"status":"working","text":"","children":{"working":1},"updated_at":"` + time.Now().Add(-150*time.Minute).Format(time.RFC3339) + `"}}`, "working||||2h ago"},
		{`{"state":"paused","summary":{"status":"working","text":"12 turns wait in the queue","queued":12}}`, "working||12 turns wait in the queue; paused||"},
		{`{"state":"running","summary":{"status":"working","text":"Read a.go","doing":{"title":"Read a.go","target":"a.go"}}}`, "working||Read a.go||"},
		{`{"state":"running","summary":{"status":"working","text":"thinking","progress":"thinking","stop_reason":"max_tokens","interrupted":true}}`, "working||thinking||"},
		{`{"state":"running","summary":{"status":"failed","text":"it broke","error":{"kind":"agent_failed","message":"it broke"}}}`, "failed||it broke||"},
		{`{"state":"running","summary":{"status":"idle","text":"interrupted: requested by a client; last: Half of it","interrupted":true,"reason":"requested by a client"}}`, "idle||interrupted: requested by a client; last: Half of it||"},
		{`{"state":"running","summary":{"status":"idle","text":"stopped early (max_tokens); last: Half","stop_reason":"max_tokens"}}`, "idle||stopped early (max_tokens); last: Half||"},
		{`{"state":"running","summary":{"status":"idle","text":"All tests pass."}}`, "idle||All tests pass.||"},
		{`{"state":"closed","summary":{"status":"closed","text":"All tests pass.","queued":2}}`, "closed||All tests pass.||"},
		{`{"state":"running","summary":{"status":"idle","git":{"branch":"main","added":12,"removed":3}}}`, "idle|||main (+12 -3)|"},
		{`{"state":"running","summary":{"status":"idle","git":{"branch":"main","added":1,"removed":0,"new":2}}}`, "idle|||main (+1, 2 new)|"},
		{`{"state":"running","summary":{"status":"failed","review":"blocked","reason":"bad","text":"blocked: bad; last: Half"}}`, "blocked||bad; last: Half||"},
		{`{"state":"closed","summary":{"status":"closed","review":"blocked","text":"blocked: I"}}`, "closed||blocked: I||"},
		{`{"state":"running","summary":{"status":"idle","git":{"branch":"main","added":0,"removed":0}}}`, "idle|||main|"},
		{`{"state":"closing","summary":{"status":"closed","queued":1,"text":"bye"}}`, "closing||bye||"},
		{`{"state":"running"}`, "||||"}, // of a server that knows no summaries
	} {
		cells, err := summaryListing.begin()([]byte(c.row))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join([]string{cells[1], cells[2], cells[3], cells[5], cells[6]}, "|"); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.row, got, c.want)
		}
	}
}

var update = flag.Bool("update", false, "write the golden files")

// Columns stay straight, whatever characters are in them and however a terminal draws
// those that are joined.
func TestThreadsFitEveryTerminal(t *testing.T) {
	var rows []json.RawMessage
	row := func(id, state, agent, updated, summary string) {
		rows = append(rows, json.RawMessage(fmt.Sprintf(`{"thread_id":"thread_00000000-0000-7000-8000-0000%s","state":%q,"agent":%q,"summary":{"updated_at":"1999-12-31T%sZ","since":"1999-12-31T%[4]sZ",%s}}`, id, state, agent, updated, summary)))
	}
	row("8c1d04fe", "running", "claude", "23:54:00", `"status":"waiting","title":"漢字のテストを直す","text":"Delete 👩\u200d👩\u200d👧 build/漢字 and all that is in it?","waiting_count":2,"git":{"branch":"fix/漢字","added":120,"removed":7}`)
	row("11111111", "running", "codex", "23:59:20", `"status":"working","title":"Deploy 👩\u200d👩\u200d👧 site ❤️","text":"Run: go test ./... 🇩🇪 👍🏽","git":{"branch":"main"}`)
	row("22222222", "running", "echo", "20:00:00", `"status":"idle","title":"e\u0301clair \u1112\u1161\u11ab ｱＡ","text":"interrupted: requested by a client; last: The 漢字 are read"`)
	row("33333333", "paused", "mine", "12:00:00", `"status":"failed","title":"short","text":"\u001b[2Jit\nbroke","queued":3`)
	row("44444444", "closed", "echo", "00:00:00", `"status":"closed","title":"","text":"All tests pass."`)
	for _, columns := range []int{40, 80, 200} {
		synctest.Test(t, func(t *testing.T) { // it is midnight
			table, err := summaryListing.table(&console{}, rows)
			if err != nil {
				t.Fatal(err)
			}
			got := table.layout(columns-1, summaryListing.flexible()...)
			golden(t, fmt.Sprintf("testdata/threads-%d.golden", columns), got)
			for line := range strings.Lines(got) {
				line = strings.TrimSuffix(line, "\n")
				if drawn, counted := ansi.StringWidth(line), timeline.Width(line); drawn != counted || counted >= columns {
					t.Errorf("%d columns: a terminal draws %d or %d: %q", columns, drawn, counted, line)
				}
			}
		})
	}
}

// golden compares a text with a file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has\n%s\nbut it is\n%s", path, want, got)
	}
}
