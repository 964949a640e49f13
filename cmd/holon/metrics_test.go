package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/rpc/client"
)

// fetch asks the server for a path and returns status and body.
func (s *server) fetch(path string, headers ...string) (int, string) {
	s.t.Helper()
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		s.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, record.URLs[0]+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestRequestsThatAreNotLetInAreCounted(t *testing.T) {
	s := startServer(t)
	if code, _ := s.fetch("/metrics", "Authorization", "Bearer wrong"); code != http.StatusUnauthorized {
		t.Fatalf("status %d with a wrong token", code)
	}
	if code, _ := s.fetch("/metrics", "Origin", "https://elsewhere.example"); code != http.StatusForbidden {
		t.Fatalf("status %d from a foreign origin", code)
	}
	_, page := s.fetch("/metrics")
	for _, line := range []string{`holon_errors_total{kind="unauthorized"} 1`, `holon_errors_total{kind="forbidden"} 1`} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("no %s in the metrics", line)
		}
	}
}

// Metrics say what inboxes have done, and why entries were posted.
func TestInboxesAreCounted(t *testing.T) {
	s := startMailbox(t)
	comment := func(id, flush string) string {
		return fmt.Sprintf(`{"native_id":%q,"grouping":{"resource_ref":"pr:1","event_family":"comments","flush":%q}}`+"\n", id, flush)
	}
	ingest := func(lines ...string) {
		t.Helper()
		if r := holon(t, s.data, strings.Join(lines, ""), "ingest", "me", "--source=ci"); r.code != exitOK {
			t.Fatalf("%+v", r)
		}
	}
	ingest(comment("1", "normal"), comment("2", "normal"), comment("2", "normal"), comment("3", "immediate"))
	s.want("inbox", "show", strings.Fields(strings.Split(s.want("inbox"), "\n")[1])[0])
	s.want("inbox", "ack", "--all")
	ingest(comment("4", "normal"))
	s.want("inbox", "flush", "me")
	s.want("inbox", "send", "me", "hello")
	ingest(comment("5", "normal"))
	_, page := s.fetch("/metrics")
	for _, line := range []string{
		`holon_inbox_received_total 6`, `holon_inbox_duplicates_total 1`, `holon_inbox_merged_total 3`,
		`holon_inbox_digests_opened_total 2`, `holon_inbox_digests_closed_total{reason="acked"} 1`,
		`holon_inbox_entries_total{reason="immediate"} 1`, `holon_inbox_entries_total{reason="manual"} 1`, `holon_inbox_entries_total{reason="item"} 1`,
		`holon_inbox_snapshot_items_sum 4`, `holon_inbox_snapshot_items_count 2`, `holon_inbox_wait_seconds_count 2`,
		`holon_inbox_pending_items 1`, `holon_inbox_unacked_items 3`, `holon_inbox_wakes_total 0`, `holon_requests_total{method="inbox/expand"} 1`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("no %s in the metrics", line)
		}
	}
	s.want("run", "--thread=work", "hello")
	s.want("inbox", "policy", "work", "--wake=idle")
	s.want("inbox", "send", "work", "look")
	eventually(t, "the wake is counted", func() bool {
		_, page := s.fetch("/metrics")
		return strings.Contains(page, "holon_inbox_wakes_total 1\n")
	})
}
