package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/rpc/client"
)

// merged sends the webhook of GitHub that a pull request was merged.
func (s *server) merged(source, secret string, repository, number int) {
	s.t.Helper()
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		s.t.Fatal(err)
	}
	body := fmt.Sprintf(`{"action": "closed", "sender": {"login": "ada"}, "repository": {"id": %d, "full_name": "octo/%d", "html_url": "https://github.com/octo/%d"},
		"pull_request": {"number": %d, "title": "Fix", "merged": true, "html_url": "https://github.com/octo/%d/pull/%d"}}`, repository, repository, repository, number, repository, number)
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, record.URLs[0]+"/hooks/"+source, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write([]byte(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-GitHub-Event", "pull_request")
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(sum.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusAccepted {
		s.t.Fatalf("status %d", response.StatusCode)
	}
}

// Which repository of a source has no name in front is the same after a restart.
func TestRestartedServerKnowsTheFirstRepositoryOfASource(t *testing.T) {
	s := &server{t: t, data: t.TempDir(), sources: map[string]config.WebhookSource{"gh": {Kind: "github", Secret: "s"}}}
	s.start()
	s.want("call", "thread/start", `{"thread_id":"me","agent":"mailbox"}`)
	s.want("inbox", "subscribe", "me", "gh")
	s.merged("gh", "s", 1, 135)
	s.stop()
	s.start()
	s.merged("gh", "s", 2, 136)
	s.merged("gh", "s", 1, 137)
	out := s.want("inbox", "me")
	contains(t, out, "ada merged pr:135 ")
	contains(t, out, "ada merged octo/2#pr:136 ")
	contains(t, out, "ada merged pr:137 ")
}

// A person and a program find what an entry is about, also after a restart, and the log gives the
// same rows.
func TestAnEntryOfAWebhookHasItsLink(t *testing.T) {
	s := &server{t: t, data: t.TempDir(), sources: map[string]config.WebhookSource{"gh": {Kind: "github", Secret: "s"}}}
	s.start()
	s.want("call", "thread/start", `{"thread_id":"me","agent":"mailbox"}`)
	s.want("inbox", "subscribe", "me", "gh")
	s.merged("gh", "s", 1, 135)
	s.stop()
	s.start()
	contains(t, s.want("inbox", "show", "latest", "--thread", "me"), "link     https://github.com/octo/1/pull/135\n", "\n  https://github.com/octo/1/pull/135\n")
	contains(t, s.want("inbox", "me", "-o", "json"), `"link": "https://github.com/octo/1/pull/135"`)
	contains(t, s.want("call", "event/list", `{"after_seq":0,"thread_id":"me"}`), `"link": "https://github.com/octo/1/pull/135"`)
	s.stop()
	if err := os.Chmod(s.data, 0o700); err != nil { // the directory of a test is open to others
		t.Fatal(err)
	}
	contains(t, s.want("doctor", "--refold"), "0 differences")
}
