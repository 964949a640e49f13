package admission

import (
	"net/http"
	"path"
	"slices"
)

// Static passes requests for files that hold no data to next, which may serve nothing
// else: the files of the console. They need no identity, because everybody may know them.
// The rules against browsers hold with one exception: whoever follows a link on a page of
// another site, in a message say, gets the file. And no page shows them in a frame, where
// it could lead a person to press what it hides.
//
// That the page which opens so is harmless is not the gate's doing: its policy gives
// scripts of others no place, and all that it asks this server for passes [Gate.Middleware].
func (g *Gate) Static(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allowed := ""
		own, known, refusal := g.checkHost(r, false)
		if refusal == nil && isFramed(r) {
			refusal = forbidden(ReasonSecFetchDest, "a page may not show the console in a frame; open it in a tab of its own")
		}
		if refusal == nil && !followsLink(r) {
			allowed, refusal = g.checkOrigin(r, own, known)
		}
		if g.answerPage(w, r, allowed, refusal) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isFramed tells whether a browser would show the reply inside of another page. Of
// navigations only that of a tab is none of these.
func isFramed(r *http.Request) bool {
	modes, dests := r.Header["Sec-Fetch-Mode"], r.Header["Sec-Fetch-Dest"]
	navigates := slices.Contains(modes, "navigate")
	return slices.Contains(modes, "nested-navigate") || slices.ContainsFunc(dests, func(dest string) bool {
		switch dest {
		case "iframe", "frame", "embed", "object", "fencedframe":
			return true
		}
		return navigates && dest != "document"
	})
}

// followsLink tells a tab that navigates to a file from any other request (Fetch Metadata
// Request Headers, sections 2.1 to 2.3). A page cannot set these headers, nor read the
// reply to such a request. A form that is sent is none: its method is POST, or it has a
// query.
func followsLink(r *http.Request) bool {
	is := func(name string, values ...string) bool {
		got := r.Header[name]
		return len(got) == 1 && slices.Contains(values, got[0])
	}
	return r.Method == http.MethodGet && r.ContentLength == 0 && r.Header["Origin"] == nil &&
		is("Sec-Fetch-Mode", "navigate") && is("Sec-Fetch-Dest", "document") && is("Sec-Fetch-Site", "cross-site", "same-site") &&
		r.RequestURI == r.URL.Path && r.RequestURI == path.Clean(r.RequestURI) // one spelling, no query
}
