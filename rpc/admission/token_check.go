package admission

import (
	"net/http"
	"strings"
)

// authorize checks the requester: nil admits. It checks a credential even where
// none is needed, so that a client with a stale token or the token of another
// server learns it at once. Only --auth none checks nothing.
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

// forwarded tells whether the headers of a proxy say that it forwards the
// request. Then the connection belongs to the proxy's user, not the sender's,
// and admits no one.
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
