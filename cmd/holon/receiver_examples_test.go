package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// holding is what a receiver of the documentation answers to GET.
type holding struct {
	News map[string]struct {
		EventType string `json:"event_type"`
		Data      struct {
			State   string `json:"state"`
			Attempt int    `json:"attempt"`
		} `json:"data"`
	} `json:"news"`
	Received int `json:"received"`
	Repeated int `json:"repeated"`
}

// The receivers of docs/delivery.md do what it says.
func TestReceiversOfTheDocumentation(t *testing.T) {
	programs := map[string]func(t *testing.T) []string{
		"go": func(t *testing.T) []string {
			return []string{build(t, t.TempDir(), "./docs/examples/receiver")}
		},
		"python":     func(t *testing.T) []string { return interpreted(t, "python3", "receiver.py") },
		"javascript": func(t *testing.T) []string { return interpreted(t, "node", "receiver.js") },
	}
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receive(t, program(t))
		})
	}
}

func interpreted(t *testing.T, interpreter, file string) []string {
	path, err := osexec.LookPath(interpreter)
	if err != nil {
		t.Skipf("NOT TESTED: docs/examples/receiver/%s needs %s: %v", file, interpreter, err)
	}
	return []string{path, filepath.Join("../../docs/examples/receiver", file)}
}

func receive(t *testing.T, program []string) {
	address := freeAddress(t)
	startProcess(t, []string{"HOLON_WEBHOOK_SECRET=" + sendSecret}, program[0], append(program[1:], address)...)
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func() (h holding, ok bool) {
		response, err := direct.Get("http://" + address + "/")
		if err != nil {
			return h, false
		}
		defer response.Body.Close()
		return h, json.NewDecoder(response.Body).Decode(&h) == nil
	}
	holds := func(what string, is func(h holding) bool) (h holding) {
		t.Helper()
		eventually(t, what, func() bool {
			var ok bool
			h, ok = ask()
			return ok && is(h)
		})
		return h
	}
	holds("the receiver listens", func(holding) bool { return true })

	s := startDelivering(t, hook("http://"+address+"/"))
	contains(t, s.want("bridge", "test", "hook"), "Delivered")
	s.want("notify", "--all", "--bridge=hook")
	s.holon("run", "--thread=a", "/fail oh no")
	first := holds("the end of the first attempt arrives", func(h holding) bool { return len(h.News) == 1 })
	for id, news := range first.News {
		if news.EventType != "final" || news.Data.State != "failed" || news.Data.Attempt != 1 {
			t.Errorf("%s: %+v", id, news)
		}
	}

	// A retry takes it back. What replaces it comes as news of its own.
	turn := strings.Fields(s.want("turns", "--long"))
	var id string
	for _, word := range turn {
		if strings.HasPrefix(word, "turn_") {
			id = word
		}
	}
	s.did("turn/retry", `{"turn_id":"`+id+`"}`)
	second := holds("the end of the second attempt arrives", func(h holding) bool { return h.Received == 4 })
	if len(second.News) != 1 {
		t.Errorf("after the retry: %+v", second)
	}
	var delivery string
	for id, news := range second.News {
		if delivery = id; news.Data.Attempt != 2 || first.News[id].EventType != "" {
			t.Errorf("%s: %+v", id, news)
		}
	}

	// The same delivery once more changes nothing. One whose receipt is not yet stored is
	// under way, and is not sent twice.
	eventually(t, "the receipt is stored", func() bool {
		return strings.Contains(s.did("delivery/read", fmt.Sprintf(`{"delivery_id":%q}`, delivery)), `"state":"delivered"`)
	})
	s.want("redeliver", delivery)
	again := holds("the repetition arrives", func(h holding) bool { return h.Repeated == 1 })
	if again.Received != 4 || len(again.News) != 1 {
		t.Errorf("after a repetition: %+v", again)
	}

	// What is not signed is refused, and what is old.
	now, long := time.Now(), time.Now().Add(-time.Hour)
	body := `{"delivery_id":"x","event_type":"superseded","supersedes":["` + delivery + `"]}`
	test := `{"delivery_id":"y","event_type":"test","supersedes":[]}`
	for _, tc := range []struct {
		what, body, signature string
		at                    time.Time
		refused               bool
	}{
		{"no signature", body, "", now, true},
		{"another secret", body, signed(t, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", now, body), now, true},
		{"another body", body, signed(t, sendSecret, now, test), now, true},
		{"an old one", body, signed(t, sendSecret, long, body), long, true},
		{"another time", body, signed(t, sendSecret, long, body), now, true},
		{"the second of two signatures", test, "v1,AAAA " + signed(t, sendSecret, now, test), now, false},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/", strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("webhook-id", "id")
		request.Header.Set("webhook-timestamp", fmt.Sprint(tc.at.Unix()))
		request.Header.Set("webhook-signature", tc.signature)
		response, err := direct.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if refused := response.StatusCode == http.StatusUnauthorized; refused != tc.refused {
			t.Errorf("%s: status %d", tc.what, response.StatusCode)
		}
	}
	if last, ok := ask(); !ok || len(last.News) != 1 || last.Received != 5 {
		t.Errorf("what was refused has changed something: %+v", last)
	}
}

// signed is the signature of a body by the reference library.
func signed(t *testing.T, secret string, at time.Time, body string) string {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := hook.Sign("id", at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return signature
}
