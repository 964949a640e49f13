package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/tokens"
)

// newToken makes a named token with the command, and returns its text.
func (s *server) newToken(args ...string) string {
	s.t.Helper()
	return strings.TrimSpace(s.want(append([]string{"token", "create"}, args...)...))
}

// as sends one request with a token, and returns status and answer.
func (s *server) as(token, method, params string) (int, string) {
	s.t.Helper()
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		s.t.Fatal(err)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, record.URLs[0]+"/rpc", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// streamAs opens a stream with a token, and returns its lines; the channel is closed
// when the server ends it.
func (s *server) streamAs(token, query string) <-chan string {
	s.t.Helper()
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		s.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, record.URLs[0]+"/rpc/stream"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	lines := make(chan string, 10_000)
	s.t.Cleanup(func() { response.Body.Close() })
	go func() {
		defer close(lines)
		for scan := bufio.NewScanner(response.Body); scan.Scan(); {
			lines <- scan.Text()
		}
	}()
	return lines
}

// until reads lines up to one that has the text, and returns them; it fails if the
// stream ends first.
func until(t *testing.T, lines <-chan string, text string) (all string) {
	t.Helper()
	for line := range lines {
		if all += line + "\n"; strings.Contains(line, text) {
			return all
		}
	}
	t.Fatalf("the stream ended without %s:\n%s", text, all)
	return ""
}

func TestARevokedTokenOpensNothingAndItsStreamsEnd(t *testing.T) {
	s := startServer(t)
	phone, desk := s.newToken("phone", "--role", "read"), s.newToken("desk", "--role", "read", "--expires", "30d")
	lines, stays := s.streamAs(phone, "?after_seq=0"), s.streamAs(desk, "?after_seq=0")
	until(t, lines, `"name":"desk"`)
	if status, answer := s.as(phone, "holon/status", `{}`); status != http.StatusOK || !strings.Contains(answer, `"result"`) {
		t.Fatalf("%d %s", status, answer)
	}
	contains(t, s.want("token", "revoke", "phone"), "phone is revoked")
	for range lines { // until the server ends it
	}
	until(t, stays, "token/revoked")
	for _, ask := range []func() (int, string){
		func() (int, string) { return s.as(phone, "holon/status", `{}`) },
		func() (int, string) { return s.fetch("/metrics", "Authorization", "Bearer "+phone) },
		func() (int, string) { return s.fetch("/rpc/stream", "Authorization", "Bearer "+phone) },
	} {
		if status, answer := ask(); status != http.StatusUnauthorized {
			t.Errorf("with a revoked token: %d %s", status, answer)
		}
	}
	s.stop()
	s.start()
	if status, _ := s.as(phone, "holon/status", `{}`); status != http.StatusUnauthorized {
		t.Errorf("a restart has brought it back: %d", status)
	}
	if status, _ := s.as(desk, "holon/status", `{}`); status != http.StatusOK {
		t.Errorf("a restart has ended the other one: %d", status)
	}
	out := s.want("token", "list")
	contains(t, out, "phone")
	contains(t, out, "revoked")
	r := s.holon("token", "create", "phone", "--role", "read")
	if r.code != exitFailed || !strings.Contains(r.err, "phone-2") {
		t.Errorf("the name again: %d %s", r.code, r.err)
	}
}

func TestEventsSayWhichTokenDidIt(t *testing.T) {
	s := startServer(t)
	ci, phone := s.newToken("ci", "--role", "work"), s.newToken("phone", "--role", "respond")
	s.as(ci, "thread/start", `{"thread_id":"a"}`)
	if _, answer := s.as(phone, "turn/start", fmt.Sprintf(`{"thread_id":"a","input":%s}`, promptJSON("hello"))); !strings.Contains(answer, `"reason":"role"`) {
		t.Fatalf("a token to answer with starts a turn: %s", answer)
	}
	s.as(ci, "turn/start", fmt.Sprintf(`{"thread_id":"a","input":%s}`, promptJSON("/ask Run it?")))
	s.as(ci, "turn/start", fmt.Sprintf(`{"thread_id":"a","input":%s}`, promptJSON("queued")))
	var item string
	eventually(t, "the agent asks", func() bool {
		var r struct {
			Result struct {
				Items []struct {
					ItemID string `json:"item_id"`
				} `json:"items"`
			} `json:"result"`
		}
		_, text := s.as(phone, "item/list", `{"status":"pending"}`)
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Result.Items) == 1 {
			item = r.Result.Items[0].ItemID
		}
		return item != ""
	})
	if _, text := s.as(phone, "item/respond", fmt.Sprintf(`{"item_id":%q,"kind":"allow_once"}`, item)); !strings.Contains(text, `"result"`) {
		t.Fatal(text)
	}
	s.want("run", "--thread", "a", "mine") // the queue is done
	s.did("inbox/send", `{"thread_id":"a","text":"for you"}`)
	if _, text := s.as(phone, "inbox/ack", fmt.Sprintf(`{"thread_id":"a","all":true,"as_of_seq":%d}`, len(s.events()))); !strings.Contains(text, `"acked_entries":1`) {
		t.Fatal(text)
	}
	text := s.post("event/list", `{"after_seq":0,"limit":1000}`)
	for _, want := range []string{`"raw_count":1,"by":"token:phone"`, `"resolved_by":"token:phone"`, `"origin":"client","requested_by":"token:ci"`, `"origin":"queue","requested_by":"token:ci"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no event has %s", want)
		}
	}
	if strings.Count(text, "requested_by") != 4 { // of the thread too, and of mine there is none
		t.Errorf("requested_by %d times in\n%s", strings.Count(text, "requested_by"), text)
	}
}

// Whoever starts, pauses or closes something with a token is in the log; the owner and
// the server themselves are not named.
func TestEventsOfThreadsAndPausesSayWhichTokenDidIt(t *testing.T) {
	s := startServer(t)
	op := s.newToken("op", "--role", "operate")
	for _, c := range []struct{ method, params string }{
		{"thread/start", `{"thread_id":%q}`}, {"thread/pause", `{"thread_id":%q}`}, {"thread/resume", `{"thread_id":%q}`},
		{"holon/pause", ``}, {"holon/resume", ``}, {"thread/close", `{"thread_id":%q}`},
	} {
		params := func(thread string) string {
			if c.params == "" {
				return `{}`
			}
			return fmt.Sprintf(c.params, thread)
		}
		if _, text := s.as(op, c.method, params("its")); !strings.Contains(text, `"result"`) {
			t.Fatal(text)
		}
		if c.method == "holon/pause" { // which changes nothing the second time
			s.did("holon/resume", `{}`)
			s.did("holon/pause", `{}`)
			continue
		}
		s.did(c.method, params("mine"))
	}
	s.as(op, "thread/start", `{"thread_id":"busy"}`)
	s.as(op, "turn/start", fmt.Sprintf(`{"thread_id":"busy","input":%s}`, promptJSON("/sleep 60000")))
	s.as(op, "thread/close", `{"thread_id":"busy"}`)
	got := map[string]string{}
	for _, e := range s.events() {
		var p struct {
			State       string `json:"state"`
			RequestedBy string `json:"requested_by"`
		}
		if err := json.Unmarshal(e.Params, &p); err != nil {
			t.Fatal(err)
		}
		got[strings.Join([]string{e.Method, e.ThreadID, p.RequestedBy, map[bool]string{true: p.State}[e.Method == "thread/updated"]}, " ")] = ""
	}
	for _, want := range []string{
		"thread/started its token:op ", "thread/paused its token:op ", "thread/resumed its token:op ", "thread/closed its token:op ",
		"thread/started mine  ", "thread/paused mine  ", "thread/resumed mine  ", "thread/closed mine  ",
		"holon/paused  token:op ", "holon/paused   ", "holon/resumed  token:op ", "holon/resumed   ", "thread/updated busy token:op closing",
	} {
		if _, ok := got[want]; !ok {
			t.Errorf("no event is %q", want)
		}
	}
	if t.Failed() {
		t.Logf("there are %q", slices.Sorted(maps.Keys(got)))
	}
}

// A worker whose token is revoked has nothing left, also not what its claim gave to it.
func TestTheAccessOfAClaimEndsWithTheTokenThatClaimed(t *testing.T) {
	s := startServerForWorkers(t)
	worker := s.newToken("worker", "--role", "operate")
	s.did("thread/start", `{"thread_id":"a","agent":"builds"}`)
	s.did("turn/start", fmt.Sprintf(`{"thread_id":"a","input":%s}`, promptJSON("go")))
	_, text := s.as(worker, "turn/claim", `{"agent":"builds","wait_seconds":30}`)
	var c struct{ Result claimed }
	if err := json.Unmarshal([]byte(text), &c); err != nil || c.Result.Access.Token == "" {
		t.Fatal(err, text)
	}
	read := func() int {
		status, _ := s.as(c.Result.Access.Token, "thread/read", `{"thread_id":"a"}`)
		return status
	}
	if status := read(); status != http.StatusOK {
		t.Fatalf("its access: %d", status)
	}
	s.want("token", "revoke", "worker")
	eventually(t, "its access ends", func() bool { return read() == http.StatusUnauthorized })
}

func TestALimitedTokenSeesItsThreadsOnly(t *testing.T) {
	s := startServer(t)
	s.did("thread/start", `{"thread_id":"mine"}`)
	s.did("thread/start", `{"thread_id":"below","parent":{"thread_id":"mine"}}`)
	s.did("thread/start", `{"thread_id":"other"}`)
	token := s.newToken("colleague", "--role", "work", "--thread", "mine")
	lines := s.streamAs(token, "?after_seq=0")
	for _, thread := range []string{"other", "below", "mine"} {
		s.did("turn/start", fmt.Sprintf(`{"thread_id":%q,"input":%s}`, thread, promptJSON("in "+thread)))
	}
	all := until(t, lines, "in mine")
	if strings.Contains(all, "other") || !strings.Contains(all, "in below") || strings.Contains(all, "token/created") {
		t.Errorf("its stream has\n%s", all)
	}
	for _, method := range []string{"thread/list", "turn/list", "item/list", "event/list"} {
		params := `{}`
		if method == "event/list" {
			params = `{"after_seq":0}`
		}
		_, text := s.as(token, method, params)
		if !strings.Contains(text, `"below"`) || strings.Contains(text, "other") {
			t.Errorf("%s: %s", method, text)
		}
	}
	_, text := s.as(token, "thread/list", `{"view":"summary"}`)
	if !strings.Contains(text, `"below"`) || strings.Contains(text, "other") {
		t.Errorf("summaries: %s", text)
	}
	if _, text := s.as(token, "thread/list", `{"view":"summary","thread_ids":["mine","other"]}`); !strings.Contains(text, `"reason":"threads"`) {
		t.Errorf("summaries by name: %s", text)
	}
	if _, text := s.as(token, "cursor/advance", `{"consumer_id":"seen:colleague","stream_name":"events","subject_id":"mine","last_sequence":3}`); !strings.Contains(text, `"result"`) {
		t.Error(text)
	}
	if _, text := s.as(token, "thread/list", `{"view":"summary","thread_ids":["mine"]}`); !strings.Contains(text, `"seen_seq":3`) {
		t.Errorf("what it has seen: %s", text)
	}
	if text := s.did("thread/list", `{"view":"summary","thread_ids":["mine"]}`); !strings.Contains(text, `"seen_seq":0`) {
		t.Errorf("what the owner has seen: %s", text)
	}
	for _, path := range []string{"/metrics", "/mcp"} {
		if status, text := s.fetch(path, "Authorization", "Bearer "+token); status != http.StatusForbidden && status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	for _, query := range []string{"thread_id=mine&thread_id=other", "within_thread_id=mine&within_thread_id=other"} {
		for _, path := range []string{"/rpc/stream?", "/events?"} {
			field := query[:strings.Index(query, "=")] + "[1]"
			status, text := s.fetch(path+query, "Authorization", "Bearer "+token)
			if status != http.StatusForbidden || !strings.Contains(text, `"message":"`+field+`: it is not of the threads`) || !strings.Contains(text, `"field":"`+field+`"`) {
				t.Errorf("%s%s: %d %s", path, query, status, text)
			}
		}
	}
	if status, _ := s.fetch("/metrics", "Authorization", "Bearer "+s.newToken("all", "--role", "read")); status != http.StatusOK {
		t.Errorf("/metrics with a token for all threads: %d", status)
	}
	_, text = s.as(token, "initialize", `{}`)
	contains(t, text, `"token":{"name":"colleague","role":"work","limited_to":["mine"]}`)
}

// No piece of a token is in what the server writes, says or keeps.
func TestTokensAreNowhere(t *testing.T) {
	s := &server{t: t, data: t.TempDir(), logLevel: "debug"}
	s.start()
	seen := seen{}
	texts := []string{s.newToken("phone", "--role", "read"), s.newToken("ci", "--role", "operate", "--expires", "1h")}
	for _, text := range texts {
		_, answer := s.as(text, "holon/status", `{}`)
		seen.add("an answer", answer)
		_, answer = s.as(text+"x", "holon/status", `{}`)
		seen.add("a refusal", answer)
		_, answer = s.as(text, "token/list", `{}`)
		seen.add("a refusal", answer)
	}
	for _, params := range []string{`{}`, `{"role":"operate","name":"desk"}`} { // one is used, one is left
		code := s.newCode("", params)
		_, answer := s.as(code, "initialize", `{}`)
		seen.add("what a code makes", answer)
		_, answer = s.as(code, "thread/list", `{}`)
		seen.add("a refusal", answer)
		if texts = append(texts, code); params != `{}` {
			continue
		}
		console := s.signedIn(code)
		_, answer = s.as(code, "signin/create", `{}`)
		seen.add("a refusal", answer)
		_, answer = s.as(console, "signin/list", `{}`)
		seen.add("the list of sign-ins", answer)
		texts = append(texts, console)
	}
	s.want("token", "revoke", "ci")
	seen.add("the list", s.want("token", "list", "-o", "json"))
	seen.add("the log of events", s.post("event/list", `{"after_seq":0,"limit":1000}`))
	_, page := s.fetch("/metrics")
	seen.add("metrics", page)
	backup := filepath.Join(t.TempDir(), "backup.db")
	s.want("backup", backup)
	kept, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	seen.add("a backup", string(kept))
	for _, args := range [][]string{{"export"}, {"config"}, {"doctor", "--skip-agents"}, {"schema", "openrpc"}} {
		r := s.holon(args...)
		seen.add("holon "+args[0], r.out+r.err)
	}
	s.stop()
	seen.add("the server's log", s.log.String())
	if err := filepath.WalkDir(s.data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		seen.add(filepath.Base(path), string(b))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if where := seen.found(strings.TrimPrefix(strings.TrimPrefix(text, tokens.Prefix), tokens.CodePrefix)); len(where) > 0 {
			t.Errorf("a token is in %s", where)
		}
	}
}

func TestWrongCommandsAboutTokensSayWhatToDo(t *testing.T) {
	s := startServer(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"create", "phone"}, exitUsage, "--role read, respond, work or operate"},
		{[]string{"create", "phone", "--role", "owner"}, exitUsage, `"owner" is not one of read, respond, work, operate`},
		{[]string{"create", "owner", "--role", "read"}, exitFailed, "is the name of the server's own user"},
		{[]string{"create", "a b", "--role", "read"}, exitFailed, "a name has 1 to 64"},
		{[]string{"create", "phone", "--role", "read", "--expires", "soon"}, exitUsage, "90m, 12h, 30d or 4w"},
		{[]string{"create", "phone", "--role", "read", "--thread", "none"}, exitFailed, "no such thread"},
		{[]string{"revoke", "none"}, exitFailed, "holon token list"},
	} {
		r := s.holon(append([]string{"token"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.err, c.want) || r.out != "" {
			t.Errorf("%q: exit %d, %q, %q; want %d and %q", c.args, r.code, r.out, r.err, c.code, c.want)
		}
	}
	contains(t, s.holon("token", "list").err, "There is no named token")
	s.want("run", "--thread=mine", "--title=Fix it", "/say one")
	r := s.holon("token", "create", "fixer", "--role", "read", "--thread", "Fix it")
	contains(t, r.err, "it may only read, but everything, also what agents print, in mine and")
	contains(t, s.want("token", "list"), "fixer  read  live")
	if list := oneObject(t, s.want("token", "list", "-o", "json"))["tokens"].([]any); fmt.Sprint(list[0].(map[string]any)["limited_to"]) != "[mine]" {
		t.Errorf("%v", list)
	}
}
