package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestThreadsShowStatusAndLastActivity(t *testing.T) {
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
	s.want("run", "-q", "--thread=held", "/say held")
	s.want("pause", "held")
	s.want("run", "-q", "--thread=over", "/say over")
	s.want("close", "over")
	eventually(t, "it asks", func() bool { return strings.Contains(s.want("threads"), "asks    waiting") })
	want := strings.TrimSpace(`
THREAD STATUS TITLE DOING AGENT BRANCH LAST ACTIVITY
new idle TIME 日本語 work echo TIME ago
done idle TIME /say done echo TIME ago
broken failed TIME /fail it broke it broke echo TIME ago
asks waiting TIME /ask Delete it? Delete it? echo TIME ago
works working TIME /sleep 600000 1 queued echo TIME ago
held idle TIME /say held paused echo TIME ago
over closed TIME /say over echo TIME ago`)
	got := regexp.MustCompile(` +`).ReplaceAllString(anonymous(s.want("threads")), " ")
	if strings.TrimSpace(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if out := s.want("threads", "--state=closed"); strings.Count(out, "\n") != 2 || !strings.Contains(out, "over") {
		t.Errorf("--state:\n%s", out)
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
	const ask = `{"title":"Delete \u001b[31mit?"}`
	for _, c := range []struct{ row, want string }{
		{`{"state":"running","summary":{"status":"waiting","waiting":[` + ask + `],"waiting_count":1,"doing":{"title":"x"}}}`, "waiting||Delete it?||"},
		{`{"state":"running","summary":{"status":"waiting","waiting":[` + ask + `,` + ask + `],"waiting_count":12}}`, "waiting||Delete it? (and 11 questions)||"},
		{`{"state":"paused","summary":{"status":"waiting","reviews":2,"queued":3}}`, "waiting||2 ends wait for a review; paused; 3 queued||"},
		{`{"state":"running","summary":{"status":"working","title":"a","queued":1}}`, "working|a|1 queued||"},
		{`{"state":"running","summary":{"status":"working","doing":{"title":"Run the tests","target":"go test ./..."}}}`, "working||Run the tests: go test ./...||"},
		{`{"state":"running","summary":{"status":"working","doing":{"title":"Read a.go","target":"a.go"}}}`, "working||Read a.go||"},
		{`{"state":"running","summary":{"status":"working","doing":{"title":"make","target":"make all"}}}`, "working||make all||"},
		{`{"state":"running","summary":{"status":"failed","error":{"kind":"agent_failed","message":"it broke"}}}`, "failed||it broke||"},
		{`{"state":"running","summary":{"status":"idle","git":{"branch":"main","added":12,"removed":3}}}`, "idle|||main +12 -3|"},
		{`{"state":"running","summary":{"status":"idle","git":{"branch":"main","added":0,"removed":0}}}`, "idle|||main|"},
		{`{"state":"closing","summary":{"status":"closed","queued":1,"doing":{"title":"make"}}}`, "closing||make||"},
		{`{"state":"closed","summary":{"status":"closed","error":{"kind":"agent_failed","message":"it broke"}}}`, "closed||||"},
		{`{"state":"running"}`, "||||"}, // of a server that knows no summaries
	} {
		cells, err := summaryListing.row([]byte(c.row))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join([]string{cells[1], cells[2], cells[3], cells[5], cells[6]}, "|"); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.row, got, c.want)
		}
	}
}
