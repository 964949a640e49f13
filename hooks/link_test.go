package hooks

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestLinksOfRecordedEventsOfGitHub(t *testing.T) {
	for name, want := range map[string]string{
		"pull_request_review_comment.created": "https://github.com/Codertocat/Hello-World/pull/2#discussion_r284312630",
		"pull_request_review.submitted":       "https://github.com/Codertocat/Hello-World/pull/2#pullrequestreview-237895671",
		"pull_request.closed":                 "https://github.com/Codertocat/Hello-World/pull/2",
		"issue_comment.created":               "https://github.com/Codertocat/Hello-World/issues/1#issuecomment-492700400",
		"workflow_run.completed":              "https://github.com/octo-org/octo-repo/actions/runs/289782451",
		"workflow_job.completed":              "https://github.com/octo-org/octo-repo/runs/1291536064",
		"check_run.completed":                 "https://github.com/Codertocat/Hello-World/runs/128620228",
		"push":                                "",
	} {
		event, _, _ := strings.Cut(name, ".")
		if it, _ := github(t, ghSource(t), event, recorded(t, name)); it.Link != want {
			t.Errorf("%s: %q, want %q", name, it.Link, want)
		}
	}
}

// What is about the same thing in several ways has the page of the nearest one.
func TestLinkOfAnEventOfGitHubIsThePageOfWhatItIsAbout(t *testing.T) {
	const (
		repository = `"repository": {"html_url": "https://github.com/o/r"}, `
		pull       = `"pull_request": {"number": 1, "html_url": "https://github.com/o/r/pull/1"}, `
		comment    = `"comment": {"id": 5, "html_url": "https://github.com/o/r/pull/1#c5"}, `
		review     = `"review": {"id": 6, "html_url": "https://github.com/o/r/pull/1#r6"}, `
		job        = `"workflow_job": {"run_id": 7, "html_url": "https://github.com/o/r/actions/runs/7/job/8"}, `
	)
	for _, c := range []struct{ event, body, want string }{
		{"pull_request", repository + pull, "https://github.com/o/r/pull/1"},
		{"pull_request_review_comment", repository + pull + comment, "https://github.com/o/r/pull/1#c5"},
		{"pull_request_review_comment", `"action": "deleted", ` + repository + pull + comment, "https://github.com/o/r/pull/1"},
		{"pull_request_review", repository + pull + review, "https://github.com/o/r/pull/1#r6"},
		{"workflow_job", repository + job, "https://github.com/o/r/actions/runs/7/job/8"},
		{"pull_request", pull, ""}, // nobody says which host is its own
		{"pull_request", strings.Replace(repository, "github.com", "ghe.example:8443", 1) + strings.Replace(pull, "github.com", "ghe.example:8443", 1), "https://ghe.example:8443/o/r/pull/1"},
		{"pull_request", strings.Replace(repository, "https", "http", 1) + pull, ""},
		{"pull_request", repository + strings.Replace(pull, "github.com", "www.github.com", 1), ""},
		{"pull_request_review_comment", repository + pull + strings.Replace(comment, "https://github.com", "https://evil.example", 1), ""},
		{"pull_request_review_comment", repository + pull + strings.Replace(comment, `"https`, `["https"], "x": "`, 1), ""},
	} {
		it, _ := github(t, ghSource(t), c.event, "{"+strings.TrimSuffix(strings.TrimSpace(c.body), ",")+"}")
		if it.Link != c.want {
			t.Errorf("%s of %s: %q, want %q", c.event, c.body, it.Link, c.want)
		}
		if it.Grouping == nil && c.event != "pull_request" {
			t.Errorf("%s of %s has lost its group", c.event, c.body)
		}
	}
}

// hostileLinks are addresses that must not become links, though a person or a program could take
// them for github.com or ci.example.com.
var hostileLinks = []string{
	"javascript:alert(1)", "javascript://HOST/%0aalert(1)", "data:text/html,<script>", "//HOST/x", "/x", "http://HOST/x", "HTTPS://HOST/x", "ftp://HOST/x",
	"https://user@HOST/x", "https://user:pw@HOST/x", "https://HOST@evil.example/x", "https://HOST:x@evil.example/x", "https://HOST%40evil.example/x",
	"https://HOST.evil.example/x", "https://evil.example/HOST", "https://evil.example#HOST", "https://evil.example?HOST", `https://evil.example\.HOST/x`, `https://HOST\@evil.example/x`,
	"https://HOST./x", "https://HOST:8443/x", "https://HOST:443/x", "https://HOST:/x", "https://.HOST/x", "https://xn--HOST/x",
	"https://gіthub.com/x", "https://xn--gthub-i9d.com/x", "https://ｇithub.com/x", "https://github。com/x", "https://HOST/\u202e", "https://HOST/ä",
	"https://HOST/\tx", "\thttps://HOST/x", "https://HO\tST/x", "https://HOST/x\n", " https://HOST/x", "https://HOST/x y", "https://HOST/\x00", "https://HOST/\x1b[31m", `https://HOST/"><script>`,
	"https://HOST/%zz", "https://HOST/" + strings.Repeat("a", 2048),
}

func TestHostileLinksOfGitHubAreNone(t *testing.T) {
	for _, address := range hostileLinks {
		address = strings.ReplaceAll(address, "HOST", "github.com")
		quoted, err := json.Marshal(address)
		if err != nil {
			t.Fatal(err)
		}
		it, _ := github(t, ghSource(t), "issues", `{"repository": {"html_url": "https://github.com/o/r"}, "action": "opened", "issue": {"number": 1, "html_url": `+string(quoted)+`}}`)
		if it.Link != "" || it.Grouping == nil {
			t.Errorf("%q became the link %q, group %v", address, it.Link, it.Grouping)
		}
	}
}

func TestALinkOfAWebhookLeadsToAConfiguredHostAndNeverCostsItsGroup(t *testing.T) {
	c, err := Compile(Source{
		Name: "ci", Kind: KindWebhook, Secret: "s", Verify: VerifyBearer, ResourceRef: `"build:1"`, EventFamily: `"ci"`, Immediate: "payload.now ?? false",
		Link: "payload.build.url", LinkHosts: []string{"ci.example.com", "builds.example.com:8443"},
	})
	if err != nil {
		t.Fatal(err)
	}
	item := func(body string) (*made, error) { return c.item(http.Header{}, []byte(body), proof{}) }
	for address, want := range map[string]string{
		"https://ci.example.com/1":           "https://ci.example.com/1",
		"https://CI.Example.com/A":           "https://ci.example.com/A",
		"https://builds.example.com:8443/?x": "https://builds.example.com:8443/?x",
	} {
		m, err := item(`{"build": {"url": "` + address + `"}}`)
		if err != nil || m.item.Link != want || len(m.failed) > 0 || m.item.Grouping == nil {
			t.Errorf("%s: %q, want %q; %v %v", address, m.item.Link, want, m.failed, err)
		}
	}
	for _, body := range []string{`{"build": {}}`, `{"build": {"url": null}}`, `{"build": {"url": ""}}`} { // there is none
		if m, err := item(body); err != nil || m.item.Link != "" || len(m.failed) > 0 || m.item.Grouping == nil {
			t.Errorf("%s: %+v %v", body, m, err)
		}
	}
	bad := []string{`{}`, `{"build": {"url": 5}}`, `{"build": {"url": ["https://ci.example.com/"]}}`, `{"build": {"url": "https://builds.example.com/"}}`, `{"build": {"url": "https://ci.example.com\ud800/"}}`}
	for _, address := range hostileLinks {
		quoted, err := json.Marshal(strings.ReplaceAll(address, "HOST", "ci.example.com"))
		if err != nil {
			t.Fatal(err)
		}
		bad = append(bad, `{"build": {"url": `+string(quoted)+`}}`)
	}
	for _, body := range bad {
		m, err := item(body)
		if err != nil || m.item.Link != "" || m.item.Grouping == nil || len(m.failed) != 1 {
			t.Errorf("%s: link %q, group %v, failed %v, %v", body, m.item.Link, m.item.Grouping, m.failed, err)
			continue
		}
		if text := m.failed[0].Error(); !strings.Contains(text, "the expression link") || strings.Contains(text, "evil") {
			t.Errorf("%s: %s", body, text)
		}
	}
}
