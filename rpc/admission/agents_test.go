package admission

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type agentOfRequest struct{}

// liveAgent knows one live token, agent-live.
func liveAgent(ctx context.Context, text string) (_ context.Context, mine, ok bool) {
	if !strings.Contains(text, "agent-") {
		return ctx, false, false
	}
	if text != "agent-live" {
		return ctx, true, false
	}
	return context.WithValue(ctx, agentOfRequest{}, "live"), true, true
}

// The token of an agent narrows every client that presents it, in every mode, and also the
// server's own user. One that is not live is refused, never ignored.
func TestTheTokenOfAnAgentAlwaysNarrows(t *testing.T) {
	token, err := ParseToken(testTokenText)
	if err != nil {
		t.Fatal(err)
	}
	const own = "Bearer " + testTokenText
	for _, mode := range []Mode{Auto, RequireToken, None} {
		gate, err := New(Policy{Mode: mode, Kind: LoopbackTCP, Token: token, Tokens: liveAgent})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			headers []string
			status  int
			agent   any
		}{
			{[]string{"Bearer agent-live"}, 200, "live"},
			{[]string{"bearer  agent-live "}, 200, "live"},
			{[]string{"Bearer agent-ended"}, 401, nil},
			{[]string{"agent-live"}, 401, nil},
			{[]string{"Basic agent-live"}, 401, nil},
			{[]string{"Bearer agent-live,"}, 401, nil},
			{[]string{"Bearer agent-live", "Bearer agent-live"}, 401, nil},
			{[]string{"Bearer agent-live", own}, 401, nil},
			{[]string{own, "Bearer agent-ended"}, 401, nil},
			{[]string{own}, 200, nil},
		} {
			reached := false
			h := gate.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				reached = true
				if got := r.Context().Value(agentOfRequest{}); got != c.agent {
					t.Errorf("%s %q: the agent is %v, want %v", mode, c.headers, got, c.agent)
				}
			}))
			r := httptest.NewRequest("POST", "/rpc", nil)
			r.Host, r.RequestURI = "localhost", "/rpc"
			r = r.WithContext(context.WithValue(r.Context(), peerKey{}, ownPeer()))
			r.Header["Authorization"] = c.headers
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.status || reached != (c.status == 200) {
				t.Errorf("%s %q: status %d, reached %v, want %d", mode, c.headers, w.Code, reached, c.status)
			}
			if strings.Contains(w.Body.String(), "agent-") {
				t.Errorf("%s %q: the refusal repeats the token", mode, c.headers)
			}
		}
	}
}

// A token that the user has chosen may look like that of an agent.
func TestTheServersOwnTokenComesFirst(t *testing.T) {
	const chosen = "agent-0123456789-0123456789-0123456789"
	token, err := ParseToken(chosen)
	if err != nil {
		t.Fatal(err)
	}
	gate, err := New(Policy{Mode: RequireToken, Kind: LoopbackTCP, Token: token, Tokens: liveAgent})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/rpc", nil)
	r.Host, r.RequestURI = "localhost", "/rpc"
	r.Header.Set("Authorization", "Bearer "+chosen)
	w := httptest.NewRecorder()
	gate.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	if w.Code != 200 {
		t.Errorf("status %d", w.Code)
	}
}

// ownPeer is a connection of the server's own user.
func ownPeer() *peer { return &peer{own: true} }
