package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
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

// What libraries say with the logger of Go would go to stderr beside the log.
func TestWhatLibrariesSayIsInTheLog(t *testing.T) {
	s := startServer(t)
	log.Print("a library says this")
	s.stop()
	if line := `"logger":"go","message":"a library says this"}`; !strings.Contains(s.log.String(), line) {
		t.Errorf("no %s in %s", line, s.log.String())
	}
}

// inboxSamples fetches the samples of inboxes, without buckets and without times,
// which differ each time.
func (s *server) inboxSamples() (list []string) {
	s.t.Helper()
	_, page := s.fetch("/metrics")
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "holon_inbox_") && !strings.Contains(line, "_bucket{") && !strings.Contains(line, "_seconds_sum ") {
			list = append(list, strings.TrimSpace(line))
		}
	}
	slices.Sort(list)
	return list
}

func TestMetricsOfInboxesCountWhatHappened(t *testing.T) {
	s := startMailbox(t)
	call := func(method, format string, args ...any) map[string]any {
		t.Helper()
		return oneObject(t, s.want("call", method, fmt.Sprintf(format, args...)))
	}
	// ingest stores items of one digest, or of none, and returns the entry that the
	// last of them made.
	ingest := func(grouping string, ids ...string) any {
		t.Helper()
		var list []string
		for _, id := range ids {
			list = append(list, fmt.Sprintf(`{"source":"ci","native_id":%q%s}`, id, grouping))
		}
		results := call("inbox/ingest", `{"thread_id":"me","items":[%s]}`, strings.Join(list, ","))["results"].([]any)
		return results[len(results)-1].(map[string]any)["entry_id"]
	}
	pr := func(more string) string {
		return fmt.Sprintf(`,"grouping":{"resource_ref":"pr:1","event_family":"comments"%s}`, more)
	}
	call("inbox/configure", `{"thread_id":"me","policy":{"window_ms":3600000,"max_delay_ms":3600000,"max_items":5}}`)
	ingest("", "a", "b", "a")
	ingest(pr(""), "1", "2", "3")
	first := call("inbox/flush", `{"thread_id":"me"}`)["entry_ids"].([]any)[0]
	ingest(pr(`,"flush":"immediate"`), "4")
	ingest(pr(""), "5", "6", "7", "8", "9")
	call("inbox/ack", `{"thread_id":"me","entry_ids":[%q]}`, first) // 4 to 9 remain
	ingest(pr(`,"breaks":"after"`), "10")
	ingest(pr(""), "11")
	ingest(pr(`,"breaks":"before"`), "12")
	call("inbox/configure", `{"thread_id":"me","policy":{"enabled":false}}`)
	list := call("inbox/read", `{"thread_id":"me"}`)["entries"].([]any)
	call("inbox/ack", `{"thread_id":"me","entry_ids":[%q]}`, list[len(list)-1].(map[string]any)["entry_id"]) // 12
	call("inbox/configure", `{"thread_id":"me","reset":["enabled"]}`)
	ingest(pr(""), "13")
	for _, id := range []any{first, first, "ent_999999"} {
		s.holon("call", "inbox/expand", fmt.Sprintf(`{"thread_id":"me","entry_id":%q}`, id))
	}
	// The agent is told the message, and its turn acknowledges it.
	call("thread/start", `{"thread_id":"woken","agent":"echo"}`)
	call("inbox/configure", `{"thread_id":"woken","policy":{"wake":"idle","wake_window_ms":0}}`)
	call("inbox/send", `{"thread_id":"woken","text":"hello"}`)

	eventually(t, "the message is acknowledged", func() bool { return slices.Contains(s.inboxSamples(), "holon_inbox_unacked_items 11") })
	want := []string{
		`holon_inbox_received_total 16`,                          // a, b, 1 to 13, and the message
		`holon_inbox_duplicates_total 1`,                         // a
		`holon_inbox_digests_opened_total 4`,                     // by 1, 11, 12 and 13
		`holon_inbox_grouped_total 9`,                            // 2 to 10
		`holon_inbox_merged_total 7`,                             // 4 to 10
		`holon_inbox_digests_closed_total{reason="immediate"} 1`, // after 10
		`holon_inbox_digests_closed_total{reason="rollover"} 1`,  // before 12
		`holon_inbox_digests_closed_total{reason="acked"} 1`,     // that of 12
		`holon_inbox_entries_total{reason="item"} 3`,             // a, b, and the message
		`holon_inbox_entries_total{reason="manual"} 1`,           // 1 to 3
		`holon_inbox_entries_total{reason="immediate"} 2`,        // with 4, and with 10
		`holon_inbox_entries_total{reason="size"} 1`,             // with 9
		`holon_inbox_entries_total{reason="remainder"} 1`,        // 4 to 9
		`holon_inbox_entries_total{reason="rollover"} 1`,         // 11
		`holon_inbox_entries_total{reason="lifecycle"} 1`,        // 12
		`holon_inbox_snapshot_items_count 7`,                     // all but those of reason item
		`holon_inbox_snapshot_items_sum 31`,                      // 3, 4, 9, 6, 7, 1 and 1
		`holon_inbox_wait_seconds_count 15`,                      // all but 13
		`holon_inbox_expansions_total 2`,                         // not of the unknown entry
		`holon_inbox_wakes_total 1`,                              // by the message
		`holon_inbox_pending_items 1`,                            // 13
		`holon_inbox_unacked_items 11`,                           // a, b, 4 to 11, and 13
		`holon_inbox_stalled{reason="silent"} 0`, `holon_inbox_stalled{reason="rate"} 0`,
		`holon_inbox_stalled{reason="chain"} 0`, `holon_inbox_stalled{reason="held"} 0`,
	}
	slices.Sort(want)
	if have := s.inboxSamples(); !slices.Equal(have, want) {
		t.Errorf("the metrics are\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}
