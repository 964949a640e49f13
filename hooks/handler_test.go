package hooks

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

const comment = `{"action": "created", "sender": {"login": "octocat"}, "comment": {"id": %d, "body": "no %d"}, "pull_request": {"number": 135, "title": "Fix the parser"},
	"repository": {"id": 7, "full_name": "octo/parser"}}`

// A burst around a pull request, from the socket to the inbox.
func TestBurstOfGitHub(t *testing.T) {
	w := newWorld(t, []Source{gh}, sub("a", "gh", ""), sub("b", "gh", `payload.action != "created"`), sub("c", "other", ""))
	for i := range 12 {
		if status, answer := w.event("pull_request_review_comment", fmt.Sprintf(comment, i, i)); status != 202 || answer != `{"stored":1,"duplicates":0,"inboxes":1}` {
			t.Fatalf("%d %s", status, answer)
		}
	}
	closed := `{"action": "closed", "sender": {"login": "hubot"}, "pull_request": {"number": 135, "title": "Fix the parser", "merged": true}, "repository": {"id": 7, "full_name": "octo/parser"}}`
	if status, answer := w.event("pull_request", closed); status != 202 || answer != `{"stored":2,"duplicates":0,"inboxes":2}` {
		t.Fatalf("%d %s", status, answer)
	}
	if status, answer := w.event("workflow_run", recorded(t, "workflow_run.completed")); status != 202 || answer != `{"stored":2,"duplicates":0,"inboxes":2}` {
		t.Fatalf("%d %s", status, answer)
	}
	// The same body again is the same item, whatever its headers say.
	if status, answer := w.event("issues", closed); status != 202 || answer != `{"stored":0,"duplicates":2,"inboxes":2}` {
		t.Fatalf("%d %s", status, answer)
	}
	if status, answer := w.event("ping", recorded(t, "ping")); status != 202 || answer != `{"stored":0,"duplicates":0,"inboxes":0}` {
		t.Fatalf("%d %s", status, answer)
	}
	var got []string
	for _, it := range w.store.of("a") {
		got = append(got, fmt.Sprint(it.Grouping.ResourceRef, " ", it.Grouping.EventFamily, " ", it.Summary))
	}
	var want []string
	for i := range 12 {
		want = append(want, fmt.Sprintf(`pr:135 review_comments octocat commented on pr:135 "Fix the parser": no %d`, i))
	}
	want = append(want, `pr:135 lifecycle hubot merged pr:135 "Fix the parser"`, `workflow_run:289782451 ci_updates CI "test" succeeded on master (run 163)`)
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if n := len(w.store.of("b")); n != 2 || len(w.store.notes) != 12 || w.store.notes[0] != "b sub_b F" {
		t.Errorf("b has %d items, notes %v", n, w.store.notes)
	}
	if s := w.Stats()["gh"]; s.Answers[202] != 16 || s.Stored != 16 || s.Duplicates != 2 || s.Filtered != 12 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
}

// A sender's text that was cut within a character is stored; what it has signed, and what
// makes the item one, are the bytes that it has sent.
func TestABodyThatIsAlmostJSONIsMended(t *testing.T) {
	w := newWorld(t, []Source{gh}, sub("a", "gh", ""))
	for _, body := range []string{`{"title":"build of \ud83d failed","load":NaN}`, `{"title":"build of \ud83c failed","load":NaN}`, "\ufeff{\"title\":\"\xff\"}"} {
		for _, want := range []string{`{"stored":1,"duplicates":0,"inboxes":1}`, `{"stored":0,"duplicates":1,"inboxes":1}`} {
			if status, answer := w.event("issues", body); status != 202 || answer != want {
				t.Errorf("%q: %d %s, want %s", body, status, answer, want)
			}
		}
		it := w.store.of("a")
		sum := sha256.Sum256([]byte(body))
		if last := it[len(it)-1]; last.NativeID != hex.EncodeToString(sum[:]) || !last.Payload.IsValid() || !strings.Contains(string(last.Payload), "�") {
			t.Errorf("%q: %s %s", body, last.NativeID, last.Payload)
		}
	}
	if it := w.store.of("a"); len(it) != 3 || string(it[0].Payload) != `{"title":"build of � failed","load":null}` {
		t.Errorf("%d items", len(it))
	}
}

// Two identities that differ only in what was lost of them are two items, in no group.
func TestAnIdentityThatWasMendedIsNone(t *testing.T) {
	w := newWorld(t, []Source{{
		Name: "ci", Kind: KindWebhook, Secret: "t0ken", Verify: VerifyBearer,
		NativeID: `payload.id`, ResourceRef: `payload.id`, EventFamily: `"builds"`, Summary: `payload.id`,
	}}, sub("a", "ci", ""))
	for _, id := range []string{`n\ud83d`, `n\ud83c`, "n\xff"} {
		if status, answer := w.send("ci", `{"id":"`+id+`"}`, "Authorization", "Bearer t0ken"); status != 202 || answer != `{"stored":1,"duplicates":0,"inboxes":1}` {
			t.Errorf("%q: %d %s", id, status, answer)
		}
	}
	for _, it := range w.store.of("a") {
		if it.Grouping != nil || !strings.HasPrefix(it.Summary, "n\ufffd") {
			t.Errorf("%+v", it)
		}
	}
}

func TestWebhookByExpressions(t *testing.T) {
	ci := Source{
		Name: "ci", Kind: KindWebhook, Secret: "t0ken", Verify: VerifyBearer,
		NativeID: `string(payload.id)`, Summary: `"build " + payload.job + " " + payload.state`, ResourceRef: `"job:" + payload.job`,
		EventFamily: `headers["x-event"]`, Immediate: `payload.state != "running"`, Breaks: `payload.state == "gone" ? "after" : "none"`,
		Filter: `payload.state != "queued"`,
	}
	w := newWorld(t, []Source{ci}, sub("a", "ci", ""), sub("b", "ci", `payload.team.name == "core"`), sub("c", "ci", `now()`))
	auth := []string{"Authorization", "Bearer t0ken", "X-Event", "builds"}
	for i, c := range []struct{ body, answer, item string }{
		{`{"id": 1, "job": "x", "state": "running", "team": {"name": "core"}}`, `{"stored":3,"duplicates":0,"inboxes":3}`, `1 job:x builds normal none | build x running`},
		{`{"id": 2, "job": "x", "state": "failed", "team": {"name": "web"}}`, `{"stored":2,"duplicates":0,"inboxes":2}`, `2 job:x builds immediate none | build x failed`},
		{`{"id": 2, "job": "y", "state": "failed", "team": {"name": "web"}}`, `{"stored":0,"duplicates":2,"inboxes":2}`, ``},
		{`{"id": 3, "job": "x", "state": "gone", "team": {"name": "web"}}`, `{"stored":2,"duplicates":0,"inboxes":2}`, `3 job:x builds immediate after | build x gone`},
		{`{"id": 4, "job": "x", "state": "queued"}`, `{"stored":0,"duplicates":0,"inboxes":0}`, ``},
		// Expressions that fail leave the item ungrouped, with what there is.
		{`{"id": {}, "state": "failed", "team": {"name": "web"}}`, `{"stored":2,"duplicates":0,"inboxes":2}`, `map[] - | `},
		{`{"id": "a\nb", "job": 5, "state": "failed"}`, `{"stored":3,"duplicates":0,"inboxes":3}`, `SHA - | `},
	} {
		before := len(w.store.of("a"))
		status, answer := w.send("ci", c.body, auth...)
		if status != 202 || answer != c.answer {
			t.Errorf("%d: %d %s, want %s", i, status, answer, c.answer)
		}
		got := ""
		if items := w.store.of("a"); len(items) > before {
			it := items[len(items)-1]
			id, group := it.NativeID, "-"
			if len(id) == 64 {
				id = "SHA"
			}
			if g := it.Grouping; g != nil {
				group = fmt.Sprint(g.ResourceRef, " ", g.EventFamily, " ", cmp.Or(string(g.Flush), "normal"), " ", g.Breaks)
			}
			got = id + " " + group + " | " + it.Summary
		}
		if got != c.item {
			t.Errorf("%d: %s, want %s", i, got, c.item)
		}
	}
	// The last webhook is in b: its filter failed. c's filter never compiles.
	if n := len(w.store.of("b")); n != 2 {
		t.Errorf("b has %d items", n)
	}
	for _, it := range w.store.of("c") {
		if it.Grouping != nil {
			t.Errorf("a filter failed and the item is grouped: %+v", it)
		}
	}
	if s := w.Stats()["ci"]; s.Filtered != 5 || s.Failed == 0 {
		t.Errorf("%+v", s)
	}
	if last := w.store.notes[len(w.store.notes)-1]; !strings.HasPrefix(last, "c sub_c") || !strings.Contains(last, "the expression filter failed at 1:1: it does not compile") {
		t.Error(last)
	}
}

func TestStandardWebhookHasItsIDAndTime(t *testing.T) {
	s := Source{Name: "s", Kind: KindWebhook, Secret: whsec, Verify: VerifyStandard}
	w := newWorld(t, []Source{s}, sub("a", "s", ""))
	c, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for range 2 {
		stamp := fmt.Sprint(now.Unix())
		sum := sign(c.verify.(standardVerifier).key, []byte("msg_1."+stamp+"."), []byte(`{}`))
		if status, answer := w.send("s", `{}`, "webhook-id", "msg_1", "webhook-timestamp", stamp, "webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(sum)); status != 202 {
			t.Fatal(status, answer)
		}
	}
	items := w.store.of("a")
	if len(items) != 1 || items[0].NativeID != "msg_1" || items[0].Daily || items[0].OccurredAt != notify.TimeOf(time.Unix(now.Unix(), 0)) {
		t.Errorf("%+v", items)
	}
}

// An identity is remembered for a day if it is only the hash of what a sender has sent, for
// it may send the same on another day. GitHub never does.
func TestOnlyTheHashOfAGenericBodyIsDaily(t *testing.T) {
	plain := Source{Name: "plain", Kind: KindWebhook, Secret: "t0ken", Verify: VerifyBearer}
	named := plain
	named.Name, named.NativeID = "named", `payload?.id ?? ""`
	w := newWorld(t, []Source{plain, named, gh}, sub("plain", "plain", ""), sub("named", "named", ""), sub("gh", "gh", ""))
	for _, source := range []string{"plain", "named"} {
		for _, body := range []string{`{"id":"7"}`, `{}`} {
			if status, answer := w.send(source, body, "Authorization", "Bearer t0ken"); status != 202 {
				t.Fatal(status, answer)
			}
		}
	}
	if status, answer := w.event("issues", `{}`); status != 202 {
		t.Fatal(status, answer)
	}
	for thread, want := range map[string][]bool{"plain": {true, true}, "named": {false, true}, "gh": {false}} {
		var daily []bool
		for _, it := range w.store.of(thread) {
			daily = append(daily, it.Daily)
		}
		if !slices.Equal(daily, want) {
			t.Errorf("%s: %v, want %v", thread, daily, want)
		}
	}
}

// One inbox that cannot store an item does not keep it from the others, and the
// repetition completes it.
func TestRepetitionCompletesSeveralInboxes(t *testing.T) {
	for err, want := range map[error]struct {
		status int
		answer string
	}{
		inbox.ErrFull:             {503, "unavailable"},
		turns.ErrOverloaded:       {503, "unavailable"},
		turns.ErrDraining:         {503, "unavailable"},
		ledger.ErrStorageFull:     {503, "unavailable"},
		ledger.ErrStorageFailed:   {503, "unavailable"},
		errors.New("hunter2 err"): {500, "internal"},
		threads.ErrClosed:         {202, `{"stored":2,"duplicates":0,"inboxes":2}`},
		threads.ErrNotFound:       {202, `{"stored":2,"duplicates":0,"inboxes":2}`},
	} {
		w := newWorld(t, []Source{gh}, sub("a", "gh", ""), sub("b", "gh", ""), sub("c", "gh", ""), inbox.Subscription{ThreadID: "a", SubscriptionID: "second", Source: "gh"})
		w.store.fails["b"] = fmt.Errorf("commit: %w", err)
		body := fmt.Sprintf(comment, 1, 1)
		status, answer := w.event("issues", body)
		if status != want.status || !strings.Contains(answer, want.answer) || strings.Contains(answer, "hunter2") {
			t.Errorf("%v: %d %s", err, status, answer)
		}
		if len(w.store.of("a")) != 1 || len(w.store.of("b")) != 0 || len(w.store.of("c")) != 1 {
			t.Errorf("%v: not exactly a and c have the item", err)
		}
		if len(w.store.notes) != 1 || !strings.HasPrefix(w.store.notes[0], "b sub_b X commit: ") {
			t.Errorf("%v", w.store.notes)
		}
		delete(w.store.fails, "b")
		if status, answer := w.event("issues", body); status != 202 || answer != `{"stored":1,"duplicates":2,"inboxes":3}` {
			t.Errorf("%v: again: %d %s", err, status, answer)
		}
	}
	w := newWorld(t, []Source{gh})
	if status, answer := w.event("issues", `{}`); status != 202 || answer != `{"stored":0,"duplicates":0,"inboxes":0}` {
		t.Errorf("without a subscription: %d %s", status, answer)
	}
	w.store.err = errors.New("broken")
	if status, _ := w.event("issues", `{}`); status != 500 {
		t.Errorf("%d", status)
	}
	w.store.err = ledger.ErrStorageFailed
	if status, _ := w.event("issues", `{}`); status != 503 {
		t.Errorf("%d", status)
	}
}

// Subscriptions of one thread get one item, and each counts it.
func TestEverySubscriptionCountsWhatItMatches(t *testing.T) {
	second := func(id, filter string) inbox.Subscription {
		return inbox.Subscription{ThreadID: "a", SubscriptionID: id, Source: "gh", Filter: filter}
	}
	w := newWorld(t, []Source{gh}, sub("a", "gh", `payload.action == "created"`), sub("b", "gh", ""), second("second", ""), second("third", `payload.action == "deleted"`))
	body := fmt.Sprintf(comment, 1, 1)
	if status, answer := w.event("issue_comment", body); status != 202 || answer != `{"stored":2,"duplicates":0,"inboxes":2}` {
		t.Errorf("%d %s", status, answer)
	}
	if want := []string{"a sub_a second", "b sub_b"}; !slices.Equal(w.store.sent, want) {
		t.Errorf("sent %q, want %q", w.store.sent, want)
	}
	w.store.notes = nil
	w.store.fails["a"] = inbox.ErrFull
	if status, _ := w.event("issue_comment", body); status != 503 {
		t.Error(status)
	}
	full := inbox.ErrFull.Error()
	if want := []string{"a third F", "a sub_a X " + full, "a second X " + full}; !slices.Equal(w.store.notes, want) {
		t.Errorf("notes %q, want %q", w.store.notes, want)
	}
}

func TestLargePayloadIsCut(t *testing.T) {
	w := newWorld(t, []Source{gh}, sub("a", "gh", ""))
	body := `{"action": "x", "text": "` + strings.Repeat("a", 70<<10) + `"}`
	if status, answer := w.event("issues", body); status != 202 {
		t.Fatal(status, answer)
	}
	it := w.store.of("a")[0]
	if !it.Truncated || it.TotalBytes != int64(len(body)) || len(it.Payload) > inbox.MaxPayloadBytes || it.Summary != "github: issues x" {
		t.Errorf("%v %d %d %s", it.Truncated, it.TotalBytes, len(it.Payload), it.Summary)
	}
}

func TestFiltersAreCompiledOnceAndBounded(t *testing.T) {
	var f filters
	in := in(t, `{"a": 5}`)
	for i := range 3 * maxFilters {
		yes, err := f.run(fmt.Sprintf("payload.a == %d", i%(2*maxFilters)), in)
		if err != nil || yes != (i%(2*maxFilters) == 5) {
			t.Fatal(i, yes, err)
		}
	}
	if len(f.all) > maxFilters {
		t.Errorf("%d filters are kept", len(f.all))
	}
	if first, second := f.get("payload.a == 1"), f.get("payload.a == 1"); first != second {
		t.Error("a filter is compiled twice")
	}
}
