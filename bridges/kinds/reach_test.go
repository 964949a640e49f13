package kinds_test

import (
	"crypto/x509"
	"net/netip"
	"testing"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/internal/test/kindstest"
)

func TestReachConnectsWhereTheBridgeMayAndSendsNothing(t *testing.T) {
	plain := kindstest.Listen(t, kindstest.NewReceiver(t, testSecret).Handler())
	secure := kindstest.ListenTLS(t, kindstest.NewReceiver(t, testSecret).Handler())
	own := kindstest.Listen(t, kindstest.NewReceiver(t, testSecret).Handler())
	roots := x509.NewCertPool()
	roots.AddCert(secure.Server.Certificate())
	client, trusting := kinds.NewClient(kinds.ClientConfig{}), kinds.NewClient(kinds.ClientConfig{RootCAs: roots})
	client.SetOwn([]netip.AddrPort{own.Addr()})
	webhook := func(url string) kinds.Config {
		return kinds.Config{Kind: bridges.KindWebhook, Configured: true, AllowPrivate: true, URL: url}
	}
	public := webhook(secure.URL)
	public.AllowPrivate, public.URL = false, "https://localhost:443"
	for name, tc := range map[string]struct {
		client *kinds.Client
		config kinds.Config
		want   string
	}{
		"http":                   {client, webhook(plain.URL), ""},
		"https":                  {trusting, webhook(secure.URL), ""},
		"a wrong certificate":    {client, webhook(secure.URL), "certificate"},
		"TLS with plain text":    {client, webhook("https" + plain.URL[len("http"):]), "tls"},
		"nobody listens":         {client, webhook("http://127.0.0.1:1"), "connection_refused"},
		"this server":            {client, webhook(own.URL), "own_address"},
		"a private address":      {client, public, "private_address"},
		"no address":             {client, webhook(""), "bad_address"},
		"ntfy":                   {client, kinds.Config{Kind: bridges.KindNtfy, Configured: true, AllowPrivate: true, Server: plain.URL}, ""},
		"slack":                  {client, kinds.Config{Kind: bridges.KindSlack, Configured: true, AllowPrivate: true, WebhookURL: plain.URL + "/x"}, ""},
		"github":                 {client, kinds.Config{Kind: bridges.KindGitHub, Configured: true, AllowPrivate: true, APIURL: plain.URL + "/api/v3"}, ""},
		"a program":              {client, kinds.Config{Kind: bridges.KindCommand, Command: []string{"true"}}, ""},
		"no program":             {client, kinds.Config{Kind: bridges.KindCommand, Command: []string{"/nowhere/at/all"}}, "no_program"},
		"the name of no program": {client, kinds.Config{Kind: bridges.KindCommand}, "no_program"},
	} {
		got := ""
		if err := tc.client.Reach(t.Context(), tc.config); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	for _, l := range []*kindstest.Listener{plain, secure, own} {
		if n := len(l.Requests()); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	}
	if own.Accepted() != 0 {
		t.Error("the server was connected to itself")
	}
}
