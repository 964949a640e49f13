package admission

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestTokenMatrix(t *testing.T) {
	g := serveLoopback(t, Policy{Mode: RequireToken})
	with := func(name string, status int, reason Reason, lines ...string) attack {
		raw := "POST /rpc HTTP/1.1\nHost: localhost\nContent-Length: 0\n"
		for _, l := range lines {
			raw += l + "\n"
		}
		return attack{name, raw + "\n", status, reason}
	}
	const tok = testTokenText
	runAttacks(t, g, []attack{
		with("right", 200, "", "Authorization: Bearer "+tok),
		with("scheme in small letters", 200, "", "authorization: bearer "+tok),
		with("two spaces", 200, "", "Authorization: Bearer  "+tok),

		with("none", 401, ReasonTokenMissing),
		with("empty header", 401, ReasonTokenWrong, "Authorization:"),
		with("scheme alone", 401, ReasonTokenWrong, "Authorization: Bearer"),
		with("token alone", 401, ReasonTokenWrong, "Authorization: "+tok),
		with("Basic", 401, ReasonTokenWrong, "Authorization: Basic "+tok),
		with("no space", 401, ReasonTokenWrong, "Authorization: Bearer"+tok),
		with("a tab for the space", 401, ReasonTokenWrong, "Authorization: Bearer\t"+tok),
		with("prefix", 401, ReasonTokenWrong, "Authorization: Bearer "+tok[:len(tok)-1]),
		with("longer", 401, ReasonTokenWrong, "Authorization: Bearer "+tok+"x"),
		with("other case", 401, ReasonTokenWrong, "Authorization: Bearer "+strings.ToUpper(tok)),
		with("in quotes", 401, ReasonTokenWrong, `Authorization: Bearer "`+tok+`"`),
		with("two tokens in one", 401, ReasonTokenWrong, "Authorization: Bearer wrong, Bearer "+tok),
		with("two headers, right first", 401, ReasonTokenWrong, "Authorization: Bearer "+tok, "Authorization: Bearer wrong"),
		with("two headers, right last", 401, ReasonTokenWrong, "Authorization: Bearer wrong", "Authorization: Bearer "+tok),
		with("in a proxy's header", 401, ReasonTokenMissing, "Proxy-Authorization: Bearer "+tok),
		with("in a cookie", 401, ReasonTokenMissing, "Cookie: token="+tok),

		{"in the URL", "GET /rpc?token=" + tok + "&access_token=" + tok + " HTTP/1.1\nHost: localhost\n\n", 401, ReasonTokenMissing},
		{"metrics", "GET /metrics HTTP/1.1\nHost: localhost\n\n", 401, ReasonTokenMissing},
		{"stream", "GET /rpc/stream HTTP/1.1\nHost: localhost\n\n", 401, ReasonTokenMissing},
		{"events", "GET /events HTTP/1.1\nHost: localhost\n\n", 401, ReasonTokenMissing},
		{"unknown path", "GET /nothing HTTP/1.1\nHost: localhost\n\n", 401, ReasonTokenMissing},
		{"preflight without an Origin", "OPTIONS /rpc HTTP/1.1\nHost: localhost\nAccess-Control-Request-Method: POST\n\n", 401, ReasonTokenMissing},
		{"liveness", "GET /healthz HTTP/1.1\nHost: localhost\n\n", 200, ""},
		{"readiness", "GET /readyz HTTP/1.1\nHost: localhost\n\n", 200, ""},
		{"liveness with a slash", "GET /healthz/ HTTP/1.1\nHost: localhost\n\n", 401, ReasonTokenMissing},
		{"liveness below", "GET /healthz/x HTTP/1.1\nHost: localhost\n\n", 401, ReasonTokenMissing},
		{"liveness in capitals", "GET /HEALTHZ HTTP/1.1\nHost: localhost\n\n", 401, ReasonTokenMissing},
		{"liveness after two slashes", "GET //healthz HTTP/1.1\nHost: localhost\n\n", 401, ReasonTokenMissing},
	})
}

// TestForwardedRequestsNeedTheToken sends requests of the server's own user,
// who is admitted without a token if no proxy is in between.
func TestForwardedRequestsNeedTheToken(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: only Linux lets anyone in without the token")
	}
	g := serveLoopback(t, Policy{Mode: Auto})
	attacks := []attack{{"direct", "GET /rpc HTTP/1.1\nHost: localhost\n\n", 200, ""}}
	for _, line := range []string{
		"Forwarded: for=192.0.2.1", "Forwarded:", "X-Forwarded-For: 192.0.2.1", "x-forwarded-for:", "X-Forwarded-Host: localhost",
		"X-Forwarded-Proto: https", "X-Forwarded-Anything: x", "X-Forwarded: x", "X-Real-IP: 192.0.2.1", "Via: 1.1 proxy", "VIA: 1.1 proxy", "Via: 1.1 holon",
	} {
		attacks = append(attacks,
			attack{line, "GET /rpc HTTP/1.1\nHost: localhost\n" + line + "\n\n", 401, ReasonTokenMissing},
			attack{line + " and the token", "GET /rpc HTTP/1.1\nHost: localhost\n" + bearer + line + "\n\n", 200, ""})
	}
	attacks = append(attacks,
		attack{"wrong token of the own user", "GET /rpc HTTP/1.1\nHost: localhost\nAuthorization: Bearer wrong\n\n", 401, ReasonTokenWrong})
	runAttacks(t, g, attacks)
}

func TestProxyInFrontLendsItsUserToNobody(t *testing.T) {
	g := serveLoopback(t, Policy{Mode: Auto, BehindProxy: true})
	runAttacks(t, g, []attack{
		{"a proxy that adds no header", "GET /rpc HTTP/1.1\nHost: localhost\n\n", 401, ReasonTokenMissing},
		{"with the token", get("Host: localhost"), 200, ""},
	})
}

func TestEachConnectionIsLookedUpOnce(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: only Linux looks peers up")
	}
	l := loopbackListener(t, "tcp", "127.0.0.1:0")
	defer func() { _ = l.Close() }()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	p := &peer{conn: server}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if own, err := p.isServerUser(); !own {
				t.Errorf("the own user is not let in: %v", err)
			}
		})
	}
	wg.Wait()
	// The result is valid for the connection, so a client may half-close and
	// still be served.
	_ = client.Close()
	if own, err := p.isServerUser(); !own {
		t.Errorf("asked again: %v", err)
	}
}

func TestIdleConnectionCostsNoLookup(t *testing.T) {
	g, err := New(Policy{Mode: Auto, Kind: LoopbackTCP, Token: testToken(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := g.ConnContext(context.Background(), nil)
	if p, ok := ctx.Value(peerKey{}).(*peer); !ok || p.own {
		t.Errorf("%+v", p)
	}
	for _, p := range []Policy{{Mode: RequireToken, Kind: LoopbackTCP}, {Mode: None, Kind: LoopbackTCP}, {Mode: Auto, Kind: Unix, BehindProxy: true}} {
		p.Token = testToken(t)
		if g, err = New(p); err != nil {
			t.Fatal(err)
		}
		if ctx := g.ConnContext(context.Background(), nil); ctx.Value(peerKey{}) != nil {
			t.Errorf("%+v remembers a peer it must not ask", p)
		}
	}
}

// TestTokenIsInNoOutput sends right and wrong tokens in every way that fails.
// It searches all output: replies, what the observer receives, and our values
// when printed.
func TestTokenIsInNoOutput(t *testing.T) {
	const wrong = "another-secret-of-somebody-0123456789"
	tok := testToken(t)
	var told strings.Builder
	p := Policy{Mode: RequireToken, Kind: LoopbackTCP, Token: tok, AllowOrigins: []string{"https://ui.example.org"}}
	gate, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	gate = gate.Observe(func(f Refusal) { fmt.Fprintf(&told, "%+v %#v %s\n", f, f, f.Body()) })
	h := gate.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") }))

	var out strings.Builder
	requests := 0
	for _, method := range []string{"GET", "POST", "OPTIONS", "PUT"} {
		for _, path := range []string{"/rpc", "/healthz", "/rpc?token=" + testTokenText, "/" + testTokenText} {
			for _, host := range []string{"localhost", testTokenText + ".example"} {
				for _, origin := range []string{"", "https://ui.example.org", "https://" + testTokenText, testTokenText} {
					for _, auth := range []string{"", "Bearer " + testTokenText, "Bearer " + wrong, "Basic " + testTokenText, testTokenText, "Bearer " + testTokenText + " " + wrong} {
						r := httptest.NewRequest(method, path, nil)
						r.Host = host
						for name, value := range map[string]string{"Origin": origin, "Authorization": auth} {
							if value != "" {
								r.Header.Set(name, value)
							}
						}
						rec := httptest.NewRecorder()
						h.ServeHTTP(rec, r)
						fmt.Fprintln(&out, rec.Code, rec.Header(), rec.Body)
						requests++
					}
				}
			}
		}
	}
	holder := struct {
		Shown  Token
		hidden Token
		policy Policy
		gate   *Gate
	}{tok, tok, p, gate}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		fmt.Fprintf(&out, verb+verb+verb+verb+verb+"\n", tok, &tok, p, holder, *gate)
	}
	if told.Len() == 0 || requests != 4*4*2*4*6 {
		t.Fatalf("%d requests, observer was told %d bytes", requests, told.Len())
	}
	for _, secret := range []string{testTokenText, wrong, hex.EncodeToString([]byte(testTokenText))} {
		if i := strings.Index(strings.ToLower(out.String()+told.String()), secret); i >= 0 {
			t.Errorf("%q is in the output: …%s", secret, (out.String() + told.String())[max(0, i-100):i+20])
		}
	}
}
