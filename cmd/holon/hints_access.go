package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/profiles"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/tokens"
)

// hintOfConnection returns the hint for a request that could not be sent, "" for other
// errors.
func (g *globals) hintOfConnection(err error) string {
	var unreachable *client.UnreachableError
	var none *client.NoServerError
	var peer *client.PeerError
	var clear *client.ClearTextError
	var certificate *client.CertificateError
	var scheme *client.SchemeError
	var damaged *profiles.DamagedError
	switch {
	case errors.As(err, &unreachable):
		switch {
		case strings.HasPrefix(unreachable.Source, "--url"), strings.HasPrefix(unreachable.Source, "HOLON_URL"), unreachable.Source == sourceLogin:
			return "Check the address, or start a server there with: holon serve --listen …"
		}
		return startAgainHint(g, unreachable.Source)
	case errors.As(err, &none):
		return g.startHint(none.DataDir)
	case errors.As(err, &peer):
		return "Use a server of this user. If it is one, reach it by a unix socket (holon serve --listen unix:PATH) or by https."
	case errors.As(err, &clear):
		return "Use https, or a tunnel that begins on this machine: ssh -N -L 8081:127.0.0.1:8080 HOST, and --url http://127.0.0.1:8081"
	case errors.As(err, &certificate):
		return hintOfCertificate(certificate, g.caFile, len(g.endpoint().CA) > 0)
	case errors.As(err, &scheme):
		if client.MayGetToken(scheme.Other()) != nil {
			return "A token does not go over plain http to another machine: let the server, or a proxy in front of it, speak https there."
		}
		return "Use that address."
	case errors.As(err, &damaged):
		return "holon login URL replaces it, holon logout URL removes it."
	}
	return ""
}

// hintOfCertificate describes what to do about a certificate; ca is the file of --ca, or "",
// and kept reports whether a login has kept certificates of the server.
func hintOfCertificate(e *client.CertificateError, ca string, kept bool) string {
	switch e.Reason {
	case client.CertificateUntrusted:
		switch {
		case ca != "":
			return "The certificates in --ca " + ca + " are not those of its authority."
		case kept:
			return "Those that holon login has saved do not fit: the server has another certificate now, or somebody else answers.\nAsk whoever runs it. If it is new: holon login " + e.URL + " --ca FILE"
		}
		return "If it is your server, copy the certificate of its authority, or its own if it has signed itself,\nfrom there by a way that you trust, and name it: --ca FILE (holon login " + e.URL + " --ca FILE keeps it)."
	case client.CertificateName:
		return "Use a name that it is for, or give the server a certificate for this one (holon serve --tls-cert). On its own machine use --listen unix:PATH beside it."
	case client.CertificateTime:
		return "Renew the certificate at the server, or set the clock of this machine. --ca FILE does not help."
	}
	return "Give the server another certificate (holon serve --tls-cert), or name the authority of this one: --ca FILE."
}

// endpoint returns the server that the last request went to, if it was found.
func (g *globals) endpoint() (e client.Endpoint) {
	if g.server != nil {
		e, _ = g.server.Endpoint() // without one, nothing was sent
	}
	return e
}

// tokenName describes where the token of the last request came from.
func (g *globals) tokenName() string {
	switch from := g.endpoint().TokenFrom; from {
	case fromTokenFile, fromVariable:
		return from
	case fromProfile:
		return "the token in the profile"
	}
	return "the token"
}

// hintOfNamedToken returns the hint for a request that a named token does not allow, "" for
// other errors.
func (g *globals) hintOfNamedToken(e *client.Error) string {
	who := g.tokenName()
	switch {
	case e.Reason == "role" && e.Role == string(tokens.RoleOwner):
		if g.endpoint().TokenFrom == fromProfile {
			who += " (holon logout " + g.endpoint().URL + ")"
		}
		return "Only the owner does that: run it as the server's user, on its machine, without " + who + "."
	case e.Reason == "role":
		role := cmp.Or(timeline.OneLine(e.Role), "ROLE") // a server may not say it
		return fmt.Sprintf("That takes more than %s. Whoever runs the server makes another token: holon token create NAME --role %s", who, role)
	case e.Reason == "threads":
		return "holon threads lists the threads that " + who + " is for; holon run --parent THREAD starts work below one.\n" +
			"For others, whoever runs the server makes another token: holon token create NAME --role ROLE --thread THREAD"
	}
	return ""
}

// hintOfToken returns the hint for a server that wants a token, or another one.
func (g *globals) hintOfToken() string {
	endpoint := g.endpoint()
	login := "holon login " + cmp.Or(endpoint.URL, "URL")
	switch endpoint.TokenFrom {
	case fromTokenFile:
		return "The token in " + g.tokenFile + " (--token-file) is not valid there."
	case fromVariable:
		return "HOLON_TOKEN is not valid there. The token of an agent ends with the process or attempt that it was given to, a named one when it is revoked or expires."
	case fromProfile:
		return "The token in the profile of " + endpoint.URL + " is not valid there any more: " + login
	case client.FromData:
		return "The token of the data directory is not that of this server. Name its own data directory with --data DIR, or keep its token with: " + login
	}
	hint := "If it is yours, name its data directory: --data DIR. Else its owner gives you a token (holon token create NAME), which you keep with: " + login
	if g.env("HOLON_TOKEN") != "" && g.url != "" {
		hint += "\nHOLON_TOKEN was not sent: it is for " + cmp.Or(g.env("HOLON_URL"), "HOLON_URL") + "."
	}
	return hint
}
