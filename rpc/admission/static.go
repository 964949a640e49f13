package admission

import (
	"net/http"
	"path"
	"slices"
)

// Static passes requests for the files of the console to next, which must serve nothing
// else. The files hold no data, so they need no identity. The rules against browsers hold
// with one exception: a link on a page of another site may lead to a file. A page never gets
// a file for a frame, in which it could hide what a person presses.
//
// The gate does not make the opened page harmless: the policy of the page refuses foreign
// scripts, and the requests of the page pass [Gate.Middleware].
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

// isFramed reports whether a browser would show the reply inside of another page. Every
// navigation counts as framed, except that of a tab.
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

// followsLink reports whether a tab navigates to a file from another site (Fetch Metadata
// Request Headers, sections 2.1 to 2.3). A page cannot set these headers, nor read the reply
// to such a request. A submitted form does not count: its method is POST, or it has a query.
func followsLink(r *http.Request) bool {
	is := func(name string, values ...string) bool {
		got := r.Header[name]
		return len(got) == 1 && slices.Contains(values, got[0])
	}
	return r.Method == http.MethodGet && r.ContentLength == 0 && r.Header["Origin"] == nil &&
		is("Sec-Fetch-Mode", "navigate") && is("Sec-Fetch-Dest", "document") && is("Sec-Fetch-Site", "cross-site", "same-site") &&
		r.RequestURI == r.URL.Path && r.RequestURI == path.Clean(r.RequestURI) // one spelling, no query
}
