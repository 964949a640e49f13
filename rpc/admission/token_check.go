package admission

import (
	"net/http"
	"strings"
)

// authorize checks the requester. It returns the refusal, or the request; the request has
// the context of its token if that is not the server's own. A token is checked even
// where none is needed, so that a client with a stale token or the token of another server
// gets the error at once. --auth none does not check the server's own token.
func (g *Gate) authorize(r *http.Request) (*http.Request, *Refusal) {
	values, presented := r.Header["Authorization"]
	if presented && g.tokens != nil {
		if of, mine, refusal := g.checkOther(r, values); mine {
			return of, refusal
		}
	}
	if g.mode == None {
		return r, nil
	}
	if presented {
		return r, g.checkToken(values)
	}
	if g.peers && !forwarded(r.Header) {
		if p, ok := r.Context().Value(peerKey{}).(*peer); ok {
			own, err := p.isServerUser()
			switch {
			case err != nil:
				return r, overloaded(ReasonPeerUnknown, "the server has no file descriptor or memory left to see whose connection this is: try again, or send the token")
			case own:
				return r, nil
			}
		}
	}
	return r, unauthorized(ReasonTokenMissing, "this request needs the token: send Authorization: Bearer with what is in the file token of the server's data directory (curl -H @DATA/curl-header)")
}

// checkOther looks for a token other than the server's own. mine says that a header has one,
// or what looks like one: it alone then decides.
func (g *Gate) checkOther(r *http.Request, values []string) (of *http.Request, mine bool, _ *Refusal) {
	for _, v := range values {
		if g.checkToken([]string{v}) == nil && len(values) == 1 {
			return r, false, nil // the server's own token may look like anything
		}
		text := v
		if scheme, rest, ok := strings.Cut(v, " "); ok && strings.EqualFold(scheme, "Bearer") {
			text = strings.Trim(rest, " ")
		}
		ctx, looks, ok := g.tokens(r.Context(), text)
		switch {
		case !looks:
		case ok && len(values) == 1 && text != v:
			return r.WithContext(ctx), true, nil
		default:
			return r, true, unauthorized(ReasonTokenWrong, "the token in the Authorization header is not valid, or not valid any more")
		}
	}
	return r, false, nil
}

func (g *Gate) checkToken(values []string) *Refusal {
	if len(values) == 1 {
		scheme, text, _ := strings.Cut(values[0], " ")
		if strings.EqualFold(scheme, "Bearer") && g.token.Matches(strings.Trim(text, " ")) {
			return nil
		}
	}
	return unauthorized(ReasonTokenWrong, "the Authorization header does not hold this server's token; compare with the file token of its data directory")
}

// forwarded reports whether the headers of a proxy say that it forwards the
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
