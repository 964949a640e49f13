//go:build linux

package realagents

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// webhookSecret is that of the source github, which every server has.
const webhookSecret = "a secret of the tests"

// wokenByInbox lets a burst of review comments arrive for an idle agent, as GitHub
// sends them: they become one entry, which wakes it once.
func wokenByInbox(r *run) {
	threadID, _ := r.thread()
	r.says(threadID, "hello", "Hello from the mock model.")
	r.call("inbox/configure", map[string]any{"thread_id": threadID, "policy": map[string]any{"window_ms": 2000}}, nil)
	r.call("inbox/subscribe", map[string]any{"thread_id": threadID, "source": "github"}, nil)
	for i := range 12 {
		r.webhook("pull_request_review_comment", reviewComment(threadID, i))
	}
	if shown := r.command("inbox", threadID); !strings.Contains(shown, "12") || strings.Contains(shown, "12 review comments") {
		r.fail("before its window has passed, the inbox is shown as\n%s", shown)
	}
	var woken string
	for deadline := time.Now().Add(30 * time.Second); woken == ""; {
		var turns struct {
			Turns []struct {
				ID   string `json:"turn_id"`
				Wake bool   `json:"wake"`
			} `json:"turns"`
		}
		r.call("turn/list", map[string]any{"thread_id": threadID}, &turns)
		for _, t := range turns.Turns[1:] {
			if !t.Wake || woken != "" {
				r.fail("turns: %+v", turns.Turns)
			}
			woken = t.ID
		}
		if time.Now().After(deadline) {
			r.fail("new entries have not woken the agent")
		}
		time.Sleep(50 * time.Millisecond)
	}
	v := r.end(woken, "completed")
	if v.said() == "" {
		r.fail("the agent has not answered")
	}
	var read struct {
		Entries []struct {
			Count   int    `json:"count"`
			Summary string `json:"summary"`
			Told    string `json:"told_by_turn_id"`
			Acked   string `json:"acked_at"`
		} `json:"entries"`
	}
	r.call("inbox/read", map[string]any{"thread_id": threadID, "include_acked": true}, &read)
	if e := read.Entries; len(e) != 1 || e[0].Count != 12 || e[0].Told != woken || e[0].Acked == "" {
		r.fail("entries: %+v", e)
	}
	if shown := r.command("inbox", threadID); strings.Contains(shown, "review comments") {
		r.fail("after the answer, the inbox is shown as\n%s", shown)
	}
	if shown := r.command("inbox", threadID, "--acked"); !strings.Contains(shown, "12 review comments on pr:135 by 3 people") {
		r.fail("after the answer, all of the inbox is shown as\n%s", shown)
	}
}

// reviewComment has what is read of GitHub's webhook.
func reviewComment(id string, n int) any {
	person := map[string]any{"login": []string{"ann", "bob", "cem"}[n%3]}
	return map[string]any{
		"action": "created", "sender": person, "repository": map[string]any{"full_name": "ann/app"},
		"pull_request": map[string]any{"number": 135, "title": "A change"},
		"comment":      map[string]any{"id": n, "node_id": id, "user": person, "body": fmt.Sprintf("comment %d SAY woken", n)},
	}
}

// webhook sends a webhook of GitHub by curl.
func (r *run) webhook(event string, payload any) {
	r.Helper()
	body, err := json.Marshal(payload)
	if err != nil {
		r.fail("%v", err)
	}
	mac := hmac.New(sha256.New, []byte(webhookSecret))
	mac.Write(body)
	curl := exec.Command("curl", "--silent", "--show-error", "--max-time", "30", "--unix-socket", r.socket,
		"--header", "Content-Type: application/json", "--header", "X-GitHub-Event: "+event,
		"--header", fmt.Sprintf("X-Hub-Signature-256: sha256=%x", mac.Sum(nil)),
		"--data-binary", "@-", "--write-out", "%{http_code}", "--output", "/dev/null", "http://holon/hooks/github")
	curl.Stdin = bytes.NewReader(body)
	if out, err := curl.CombinedOutput(); err != nil || string(out) != "202" {
		r.fail("curl: %s, %v", out, err)
	}
}

// command runs a command of holon, and returns what it shows.
func (r *run) command(args ...string) string {
	r.Helper()
	out, err := exec.Command(binary, append(args, "--data", filepath.Join(r.root, "data"))...).CombinedOutput()
	if err != nil {
		r.fail("holon %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	r.Logf("holon %s\n%s", strings.Join(args, " "), out)
	return string(out)
}
