package main

import (
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
