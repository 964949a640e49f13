package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/tokens"
)

// answered decodes the result of an answer.
func answered[R any](t *testing.T, answer string) (r R) {
	t.Helper()
	var got struct {
		Result *R `json:"result"`
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Result == nil {
		t.Fatalf("no result: %s", answer)
	}
	return *got.Result
}

// newCode makes a code with a token, "" = as the owner, and returns its text.
func (s *server) newCode(token, params string) string {
	s.t.Helper()
	answer := ""
	if token == "" {
		answer = s.post("signin/code", params)
	} else {
		_, answer = s.as(token, "signin/code", params)
	}
	return answered[struct {
		Code string `json:"code"`
	}](s.t, answer).Code
}

// signedIn trades a code or a token for a console token, and returns its text.
func (s *server) signedIn(credential string) string {
	s.t.Helper()
	_, answer := s.as(credential, "signin/create", `{}`)
	return answered[struct {
		Secret string `json:"secret"`
	}](s.t, answer).Secret
}

func TestACodeOpensASignInAndNothingElse(t *testing.T) {
	s := startServer(t)
	s.did("thread/start", `{"thread_id":"mine"}`)
	code := s.newCode("", `{"role":"work","limited_to":["mine"]}`)
	for range 2 { // which does not use it up
		_, answer := s.as(code, "initialize", `{}`)
		contains(t, answer, `"parent":"owner","code":true,"role":"work","limited_to":["mine"]`)
	}
	if status, answer := s.as(code, "thread/read", `{"thread_id":"mine"}`); status != http.StatusOK || !strings.Contains(answer, `"reason":"code"`) {
		t.Errorf("%d %s", status, answer)
	}
	for _, path := range []string{"/rpc/stream", "/events", "/metrics", "/mcp"} {
		if status, answer := s.fetch(path, "Authorization", "Bearer "+code); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var texts []string
	for range 8 {
		all.Go(func() {
			status, answer := s.as(code, "signin/create", `{"idempotency_key":"same"}`)
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(answer, `"secret"`) {
				texts = append(texts, answered[tokens.Result](t, answer).Secret)
			} else if status != http.StatusUnauthorized && !strings.Contains(answer, `"reason":"token_ended"`) {
				t.Errorf("%d %s", status, answer)
			}
		})
	}
	if all.Wait(); len(texts) != 1 {
		t.Fatalf("%d tokens of one code", len(texts))
	}
	if status, answer := s.as(code, "initialize", `{}`); status != http.StatusUnauthorized || strings.Contains(answer, code) {
		t.Errorf("a code that was used: %d %s", status, answer)
	}

	console := texts[0]
	until(t, s.streamAs(console, "?after_seq=0"), `"thread_id":"mine"`)
	for _, c := range []struct{ method, params, want string }{
		{"thread/list", `{}`, `"thread_id":"mine"`}, {"thread/read", `{"thread_id":"mine"}`, `"result"`},
		{"thread/pause", `{"thread_id":"mine"}`, `"reason":"role"`}, {"holon/status", `{}`, `"reason":"threads"`},
		{"signin/code", `{}`, `"reason":"console"`}, {"signin/create", `{}`, `"reason":"console"`}, {"token/list", `{}`, `"reason":"role"`},
	} {
		_, answer := s.as(console, c.method, c.params)
		contains(t, answer, c.want)
	}
	status, answer := s.as(console, "turn/start", fmt.Sprintf(`{"thread_id":"mine","input":%s}`, promptJSON("hello")))
	if status != http.StatusOK || !strings.Contains(answer, `"result"`) {
		t.Fatalf("%d %s", status, answer)
	}
	contains(t, s.post("event/list", `{"after_seq":0,"limit":1000}`), `"requested_by":"token:owner.console-`)
}

// What a person has looked at in a browser is what they have looked at.
func TestAConsoleTokenSeesWhatItsParentHasSeen(t *testing.T) {
	s := startServer(t)
	s.did("thread/start", `{"thread_id":"mine"}`)
	phone := s.newToken("phone", "--role", "read")
	console, owners := s.signedIn(phone), s.signedIn(s.newCode("", `{}`))
	for consumer, token := range map[string]string{"phone": console, "owner": owners} {
		s.as(token, "cursor/advance", fmt.Sprintf(`{"consumer_id":"seen:%s","stream_name":"events","subject_id":"mine","last_sequence":1}`, consumer))
	}
	_, own := s.as(phone, "thread/list", `{"view":"summary"}`)
	for who, text := range map[string]string{"phone": own, "owner": s.did("thread/list", `{"view":"summary"}`)} {
		if !strings.Contains(text, `"seen_seq":1`) {
			t.Errorf("%s: %s", who, text)
		}
	}
}

func TestConsoleTokensEndWithTheirParentAndByASignOut(t *testing.T) {
	s := startServer(t)
	phone := s.newToken("phone", "--role", "read")
	left := s.newCode(phone, `{}`)
	of := []string{s.signedIn(phone), s.signedIn(s.newCode(phone, `{}`)), s.signedIn(s.newCode("", `{}`)), s.signedIn(s.newCode("", `{}`))}
	const one, second, owners, stays = 0, 1, 2, 3
	streams := make([]<-chan string, len(of))
	for i, token := range of {
		streams[i] = s.streamAs(token, "?after_seq=0")
		until(t, streams[i], "token/created")
	}
	wait := func(i int) {
		for range streams[i] { // until the server ends it
		}
	}
	list := answered[struct {
		SignIns []struct {
			Name    string `json:"name"`
			Current bool   `json:"current"`
		} `json:"signins"`
	}](t, func() string { _, answer := s.as(of[one], "signin/list", `{}`); return answer }()).SignIns
	if len(list) != 2 || !list[0].Current || list[1].Current || !strings.HasPrefix(list[1].Name, "phone.console-") {
		t.Fatalf("the sign-ins of phone: %+v", list)
	}

	// It ends itself, and still gets the answer.
	if status, answer := s.as(of[one], "signin/delete", fmt.Sprintf(`{"name":%q}`, list[0].Name)); status != http.StatusOK || !strings.Contains(answer, `"state":"revoked"`) {
		t.Errorf("its own sign-out: %d %s", status, answer)
	}
	wait(one)
	until(t, streams[second], `"name":"`+list[0].Name+`","parent":"phone","by":"token:`+list[0].Name+`"`)
	s.stop()
	s.start()
	for i, want := range []int{http.StatusUnauthorized, http.StatusOK, http.StatusOK, http.StatusOK} {
		if status, answer := s.as(of[i], "thread/list", `{}`); status != want {
			t.Errorf("after a restart: %d: %d %s", i, status, answer)
		}
	}
	if status, _ := s.as(left, "initialize", `{}`); status != http.StatusUnauthorized {
		t.Errorf("a code is live after a restart: %d", status)
	}

	streams[second], streams[owners], streams[stays] = s.streamAs(of[second], ""), s.streamAs(of[owners], ""), s.streamAs(of[stays], "?after_seq=0")
	for _, i := range []int{second, owners} {
		until(t, streams[i], "stream/opened")
	}
	s.want("token", "revoke", "phone")
	wait(second)
	if status, _ := s.as(of[second], "thread/list", `{}`); status != http.StatusUnauthorized {
		t.Errorf("it outlives its parent: %d", status)
	}
	until(t, streams[stays], `"name":"phone","by":"owner"`)
	s.did("signin/delete", `{"all":true}`)
	wait(owners)
	wait(stays)
	if text := s.want("token", "list"); strings.Contains(text, "console") {
		t.Errorf("the list of named tokens has\n%s", text)
	}
}

// A code is for one page. Where a token belongs, the command says so.
func TestACodeIsNoTokenOfTheCommand(t *testing.T) {
	s := startServer(t)
	at := s.address()
	code := s.newCode("", `{}`)
	p := s.person()
	if r := p.types(code+"\n", "login", at); r.code != exitFailed || !strings.Contains(r.err, "this is a code for a browser, so nothing was saved") {
		t.Errorf("login: exit %d, %q", r.code, r.err)
	}
	if out := p.must("", "profiles", "-o", "json").out; strings.Contains(out, at) {
		t.Errorf("it is kept: %s", out)
	}
	console := s.signedIn(s.newCode("", `{}`))
	for token, hint := range map[string]string{code: "A code is for a browser", console: "This token is that of one browser"} {
		r := s.person("HOLON_TOKEN="+token).holon("open", "--print")
		if r.code != exitFailed || !strings.Contains(r.err, "[forbidden]") || !strings.Contains(r.err, hint) || r.out != "" {
			t.Errorf("open: exit %d, %q, %q", r.code, r.out, r.err)
		}
	}
}
