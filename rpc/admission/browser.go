package admission

import (
	"net/http"
	"strings"
)

// checkBrowser refuses web pages that use the user's browser to reach the
// server: DNS rebinding by the Host rule, other pages by Origin and
// Sec-Fetch-Site. It returns the Origin header if --allow-origin admits it, so
// that the reply can say so, or the refusal.
func (g *Gate) checkBrowser(r *http.Request, probe bool) (allowed string, _ *Refusal) {
	own, known, refusal := g.checkHost(r, probe)
	if refusal != nil {
		return "", refusal
	}
	return g.checkOrigin(r, own, known)
}

// checkHost refuses requests that do not name this server. It returns the name; known says
// that the name is valid and the only one.
func (g *Gate) checkHost(r *http.Request, probe bool) (own hostPort, known bool, _ *Refusal) {
	// Absolute-form targets are for proxies. net/http takes the host from them
	// and drops the Host header, so there would be two names, one unchecked.
	// "*" and the authority-form of CONNECT have no use here.
	if !strings.HasPrefix(r.RequestURI, "/") {
		return own, false, forbidden(ReasonTarget, "the request target must be a path such as /rpc; this server is no proxy")
	}
	own, known = parseHostPort(r.Host)
	for _, header := range r.Header["Host"] {
		// HTTP/2 can carry a Host header beside :authority.
		known = known && header == r.Host
	}
	if !probe && g.kind != Unix && (!known || !g.knowsHost(own)) {
		return own, false, forbidden(ReasonHost, "the Host header does not name this server; use localhost or 127.0.0.1, or start the server with --allow-host NAME")
	}
	return own, known, nil
}

func (g *Gate) knowsHost(h hostPort) bool {
	if h.isLoopback() {
		return true
	}
	for _, rule := range g.hosts {
		if rule.matches(h) {
			return true
		}
	}
	return false
}

// checkOrigin refuses requests of pages of another origin. For an origin that
// is allowed by name, Sec-Fetch-Site is cross-site by nature and is not
// checked. Without an Origin header it is always checked.
func (g *Gate) checkOrigin(r *http.Request, own hostPort, ownKnown bool) (allowed string, _ *Refusal) {
	if values, ok := r.Header["Origin"]; ok {
		if len(values) != 1 {
			return "", forbidden(ReasonOrigin, "more than one Origin header")
		}
		o, valid := parseOrigin(values[0])
		switch {
		case valid && g.origins[o]:
			return values[0], nil
		case valid && ownKnown && o == makeOrigin(g.scheme(r), own):
		default:
			return "", forbidden(ReasonOrigin, "pages of this origin may not use this server; if they should, start it with --allow-origin ORIGIN")
		}
	}
	for _, site := range r.Header["Sec-Fetch-Site"] {
		if site != "same-origin" && site != "none" {
			return "", forbidden(ReasonSecFetchSite, "a page of another site may not use this server")
		}
	}
	return "", nil
}

// scheme returns the scheme of the request's own origin, as its client sees it.
func (g *Gate) scheme(r *http.Request) string {
	if g.secure || r.TLS != nil {
		return "https"
	}
	return "http"
}

// isPreflight distinguishes a CORS preflight (Fetch standard, "CORS-preflight
// request") from another OPTIONS request.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// allowCrossOrigin lets pages of an allowed origin read the reply, also a
// refusal because the token is missing. There are no cookies, so credentials in
// the sense of CORS are never allowed.
func allowCrossOrigin(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "WWW-Authenticate")
}

// answerPreflight answers with what an allowed origin may send. Browsers send no
// credentials with a preflight, so it is answered before the token is checked.
func answerPreflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID")
	h.Set("Access-Control-Max-Age", "600") // ten minutes: a changed setting is noticed soon
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	w.WriteHeader(http.StatusNoContent)
}
