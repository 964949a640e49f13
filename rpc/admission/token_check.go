package admission

import (
	"net/http"
	"strings"
)

// authorize answers who is asking: nil admits. A credential that is offered is
// checked, even where none is needed, so that a client with a stale token or
// the token of another server learns it at once; only --auth none looks at
// nothing.
func (g *Gate) authorize(r *http.Request) *Refusal {
	if g.mode == None {
		return nil
	}
	if values, ok := r.Header["Authorization"]; ok {
		return g.checkToken(values)
	}
	if g.peers && !forwarded(r.Header) {
		if p, ok := r.Context().Value(peerKey{}).(*peer); ok && p.isServerUser() {
			return nil
		}
	}
	return unauthorized(ReasonTokenMissing, "this request needs the token: send Authorization: Bearer with what is in the file token of the server's data directory (curl -H @DATA/curl-header)")
}

func (g *Gate) checkToken(values []string) *Refusal {
	if len(values) == 1 {
		scheme, credential, _ := strings.Cut(values[0], " ")
		if strings.EqualFold(scheme, "Bearer") && g.token.Matches(strings.Trim(credential, " ")) {
			return nil
		}
	}
	return unauthorized(ReasonTokenWrong, "the Authorization header does not hold this server's token; compare with the file token of its data directory")
}

// forwarded tells whether a proxy says that it passes the request on. Then the
// connection's user is the proxy's, not the sender's, and admits nobody.
func forwarded(h http.Header) bool {
	for name := range h {
		switch {
		case name == "Forwarded", name == "Via", name == "X-Real-Ip",
			strings.HasPrefix(name, "X-Forwarded"):
			return true
		}
	}
	return false
}
