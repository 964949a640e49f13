package admission

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// Gate applies one policy to the connections and requests of one listener. It
// is immutable and safe for use from many goroutines.
type Gate struct {
	mode     Mode
	kind     Kind
	secure   bool // the client sees https: TLS here or at the proxy in front
	peers    bool // the server's own user needs no token
	token    Token
	origins  map[origin]bool
	hosts    []hostRule
	tokens   func(context.Context, string) (_ context.Context, mine, ok bool)
	observer func(Refusal)
}

// New makes the gate of one listener. It repeats [Policy.Check]. Every mode but
// None needs a token.
func New(p Policy) (*Gate, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if p.Mode != None && p.Token.IsZero() {
		return nil, fmt.Errorf("--auth %s needs a token, and none was loaded", p.Mode)
	}
	origins, errOrigins := parseAllowedOrigins(p.AllowOrigins)
	hosts, errHosts := parseAllowedHosts(p.AllowHosts)
	if err := errors.Join(errOrigins, errHosts); err != nil {
		return nil, err
	}
	return &Gate{
		mode:    p.Mode,
		kind:    p.Kind,
		secure:  p.TLS && p.Kind != Unix || p.BehindProxy,
		peers:   p.Mode == Auto && p.Kind != OtherTCP && !p.BehindProxy,
		token:   p.Token,
		tokens:  p.Tokens,
		origins: origins,
		hosts:   hosts,
	}, nil
}

// Observe returns a copy of the gate that calls f for each refused request, for
// a metric or the log. f runs before the answer is written, from many
// goroutines, and must not block. The refusal holds nothing secret.
func (g *Gate) Observe(f func(Refusal)) *Gate {
	c := *g
	c.observer = f
	return &c
}

type peerKey struct{}

// ConnContext returns the http.Server hook that remembers the connection. The first
// request on it without a token looks up which user owns the other end of the
// socket. Nothing is looked up before that. A connection whose server lacks the
// hook needs the token.
func (g *Gate) ConnContext(ctx context.Context, c net.Conn) context.Context {
	if !g.peers {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, &peer{conn: c})
}

// Middleware passes admitted requests to next and answers the others itself. It
// checks in this order: the rules against browsers (403), the CORS preflight of
// an allowed origin (204), then the requester (401). /healthz and /readyz need
// neither a known Host nor the token.
func (g *Gate) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		probe := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
		allowed, refusal := g.checkBrowser(r, probe)
		if g.answerPage(w, r, allowed, refusal) {
			return
		}
		if !probe {
			r, refusal = g.authorize(r)
		}
		if refusal != nil {
			g.refuse(w, r, refusal)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// answerPage sets the headers of every reply. It answers what is refused because of the
// page that sent it, and the preflight of a page that is allowed; it reports whether it
// has answered.
func (g *Gate) answerPage(w http.ResponseWriter, r *http.Request, allowed string, refusal *Refusal) bool {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if len(g.origins) > 0 {
		h.Add("Vary", "Origin")
	}
	if refusal != nil {
		g.refuse(w, r, refusal)
		return true
	}
	if allowed == "" {
		return false
	}
	allowCrossOrigin(h, allowed)
	if isPreflight(r) {
		answerPreflight(w, r)
		return true
	}
	return false
}

func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, refusal *Refusal) {
	if g.observer != nil {
		g.observer(*refusal)
	}
	refusal.write(w, r)
}
