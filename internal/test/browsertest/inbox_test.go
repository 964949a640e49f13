package browsertest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// Items come into an inbox: one is posted at once, others wait in a digest, which one
// posts, opens and acknowledges.
func TestAnInbox(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		thread := s.thread("echo", object{"title": "The one with an inbox"})
		p := open(t, s, f, "#/inbox/"+thread)
		p.sees("main", "The inbox is empty.")
		for _, id := range []string{"one", "two", "three"} {
			s.call("inbox/ingest", object{"thread_id": thread, "items": []object{{
				"source": "tickets", "native_id": id, "grouping": object{"event_family": "comment", "resource_ref": "ticket 7"}, "summary": "a comment " + id, "payload": object{"comment": id},
			}}})
		}
		p.press("button", "Post 3 items now")
		p.sees("li.entry", "3 items")
		p.press("li.entry summary", "Contents")
		p.sees("li.entry .raw", "a comment two")
		p.sees("li.entry pre", "\"comment\": \"three\"")
		p.goTo("#/inbox")
		p.sees("li.card", "1 entry")
		p.press("li.card a", "The one with an inbox")
		p.press("li.entry button", "Acknowledge")
		p.seesNot("li.entry", "")
		p.press("label.check", "acknowledged")
		p.sees("li.entry", "acknowledged")
		if rest := s.call("inbox/read", object{"thread_id": thread})["unacked_entries"]; rest != 0.0 {
			t.Errorf("%v entries are not acknowledged", rest)
		}
		p.noWiderThanTheScreen()
	})
}

// An entry of a webhook leads to what it is about. What is shown is the host, and nothing is read
// from there before somebody presses it. A link that the source may not give is none.
func TestAnEntryLeadsToWhatItIsAboutByTheNameOfTheHost(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, `[sources.ci]
kind = "webhook"
secret = "s3cret"
verify = "bearer"
native_id = "payload.id"
summary = "payload.says"
resource_ref = '"build:7"'
event_family = '"ci_updates"'
immediate = "true"
link = "payload.url"
link_hosts = ["ci.example.com", "xn--bcher-kva.example:8443"]
`)
		thread := s.thread("mailbox", object{"title": "builds"})
		s.call("inbox/subscribe", object{"thread_id": thread, "source": "ci"})
		hook := func(id, says, url string) {
			body, err := json.Marshal(object{"id": id, "says": says, "url": url})
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequest(http.MethodPost, s.url+"/hooks/ci", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer s3cret")
			req.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusAccepted {
				t.Fatalf("the webhook got %s", res.Status)
			}
		}
		long := "https://ci.example.com/job/lint?" + strings.Repeat("q=abcdefgh&", 100)
		hook("1", "build 7 runs", "https://xn--bcher-kva.example:8443/build/7")
		hook("2", "build 7 failed", long)
		hook("3", "see https://evil.example", "https://ci.example.com@evil.example/")
		hook("4", "lint failed", long)
		p := open(t, s, f, "#/inbox/"+thread)
		p.sees("li.entry .facts a", "ci.example.com ↗")
		p.press("li.entry summary", "Contents")
		p.sees("li.entry .raw", "build 7 runs")
		links := read[[]string](p, `[...document.querySelectorAll('li.entry a')].map(a => [a.textContent, a.href, a.target, a.rel].join(' | '))`)
		rest := " | _blank | noreferrer noopener"
		want := []string{
			"ci.example.com ↗ | " + long + rest,
			"xn--bcher-kva.example:8443 ↗ | https://xn--bcher-kva.example:8443/build/7" + rest, "ci.example.com ↗ | " + long + rest, "ci.example.com ↗ | " + long + rest,
		}
		if strings.Join(links, "\n") != strings.Join(want, "\n") {
			t.Errorf("the links are\n%s", strings.Join(links, "\n"))
		}
		if asked := read[[]string](p, `performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith(location.origin))`); len(asked) > 0 {
			t.Errorf("the page has asked %v", asked)
		}
		p.noWiderThanTheScreen()
	})
}
