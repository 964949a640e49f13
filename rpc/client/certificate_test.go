package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/certtest"
)

// startTLS serves https with a certificate until the test ends, and counts requests.
func startTLS(t *testing.T, certificate tls.Certificate) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, requests
}

// trusting is the endpoint of a URL with further authorities, and a token.
func trusting(url string, ca []byte) Resolver {
	return func() (Endpoint, error) { return Endpoint{URL: url, Token: secret, CA: ca}, nil }
}

func TestACertificateThatIsNotTrustedIsReportedAsThat(t *testing.T) {
	ours, theirs := certtest.New(t, "Our authority"), certtest.New(t, "Another authority")
	alone, alonePEM := certtest.SelfSigned(t, "127.0.0.1")
	for name, tc := range map[string]struct {
		certificate tls.Certificate
		ca          []byte
		reason      CertificateReason // "" = it is accepted
		text        string
	}{
		"of an authority that is named":   {ours.Issue(0, "127.0.0.1"), ours.PEM, "", ""},
		"of the second one that is named": {ours.Issue(0, "127.0.0.1"), append(theirs.PEM, ours.PEM...), "", ""},
		"self-signed and named":           {alone, alonePEM, "", ""},
		"of an unknown authority":         {ours.Issue(0, "127.0.0.1"), nil, CertificateUntrusted, "does not know the authority that has signed it, CN=Our authority"},
		"of an authority beside":          {ours.Issue(0, "127.0.0.1"), theirs.PEM, CertificateUntrusted, "CN=Our authority"},
		"self-signed":                     {alone, nil, CertificateUntrusted, "it has signed itself"},
		"for another name":                {ours.Issue(0, "holon.example.com", "10.0.0.1"), ours.PEM, CertificateName, "is not for 127.0.0.1, but for holon.example.com, 10.0.0.1"},
		"for many others":                 {ours.Issue(0, "a", "b", "c", "d", "e", "f"), ours.PEM, CertificateName, "a, b, c, d, e and others"},
		"for none":                        {ours.Issue(0), ours.PEM, CertificateName, "for no host at all"},
		"expired":                         {ours.Issue(-24*time.Hour, "127.0.0.1"), ours.PEM, CertificateTime, "has expired or is not valid yet"},
		"of tomorrow":                     {ours.Issue(24*time.Hour, "127.0.0.1"), ours.PEM, CertificateTime, "has expired or is not valid yet"},
	} {
		t.Run(name, func(t *testing.T) {
			url, requests := startTLS(t, tc.certificate)
			c := New(trusting(url, tc.ca))
			defer c.Close()
			err := c.Call(t.Context(), "initialize", nil, nil)
			var refused *CertificateError
			switch {
			case tc.reason == "":
				if err != nil || requests.Load() != 1 {
					t.Errorf("%v, %d requests", err, requests.Load())
				}
			case !errors.As(err, &refused) || refused.Reason != tc.reason || !strings.Contains(err.Error(), tc.text) || !strings.Contains(err.Error(), url):
				t.Errorf("%v, want %s: %s", err, tc.reason, tc.text)
			case requests.Load() != 0 || strings.Contains(err.Error(), secret):
				t.Errorf("%d requests came, and the error is %v", requests.Load(), err)
			}
		})
	}
}

// A server that restarts may get another certificate: what Resolver says then counts.
func TestTheAuthoritiesAreThoseOfTheEndpoint(t *testing.T) {
	ours, theirs := certtest.New(t, "Our authority"), certtest.New(t, "Another authority")
	url, _ := startTLS(t, ours.Issue(0, "127.0.0.1"))
	ca := theirs.PEM
	c := New(func() (Endpoint, error) { return Endpoint{URL: url, CA: ca}, nil })
	defer c.Close()
	var refused *CertificateError
	if err := c.Ready(t.Context()); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	ca = ours.PEM
	c.refresh()
	if err := c.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	ca = []byte("no certificate")
	c.refresh()
	if err := c.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "BEGIN CERTIFICATE") {
		t.Errorf("%v", err)
	}
}

func TestTheWrongSchemeIsSaidWithTheRightOne(t *testing.T) {
	authority := certtest.New(t, "Our authority")
	secure, _ := startTLS(t, authority.Issue(0, "127.0.0.1"))
	plain := startHTTP(t, func(http.ResponseWriter, *http.Request) {})
	nginx := startHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "<html><center>The plain HTTP request was sent to HTTPS port</center></html>")
	})
	other := func(url string) string {
		if rest, ok := strings.CutPrefix(url, "http://"); ok {
			return "https://" + rest
		}
		return "http://" + strings.TrimPrefix(url, "https://")
	}
	for _, url := range []string{secure, plain, nginx} {
		wrong := url
		if url != nginx {
			wrong = other(url)
		}
		for name, resolve := range map[string]Resolver{"with a token": trusting(wrong, nil), "without": At(wrong, SourceGiven, "", false)} {
			c := New(resolve)
			for what, ask := range map[string]func() error{
				"Call": func() error { return c.Call(t.Context(), "initialize", nil, nil) },
				"Dial": func() error { _, err := c.Dial(t.Context(), SessionOptions{OpenTimeout: time.Millisecond}); return err },
				"Run":  func() error { return c.Subscribe(Options{}).Run(t.Context(), nil) },
			} {
				err := ask()
				var scheme *SchemeError
				if !errors.As(err, &scheme) || scheme.Other() != other(wrong) || !strings.Contains(err.Error(), other(wrong)) {
					t.Errorf("%s %s at %s: %v", what, name, wrong, err)
				}
			}
			c.Close()
		}
	}
	// Another refusal keeps its text.
	refusing := startHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"code":-32602,"message":"no","data":{"kind":"invalid_params"}}}`+strings.Repeat(" ", 3000))
	})
	c := New(At(refusing, SourceGiven, "", false))
	defer c.Close()
	if err := c.Call(t.Context(), "x", nil, nil); !IsKind(err, "invalid_params") {
		t.Errorf("%v", err)
	}
}

// stranger is a connection to another machine.
type stranger struct{ net.Conn }

func (stranger) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80} }

func TestANameOfThisMachineThatLeadsElsewhereGetsNoToken(t *testing.T) {
	var clear *ClearTextError
	err := Endpoint{URL: "http://localhost", Token: secret}.checkPeer(context.Background(), stranger{})
	if !errors.As(err, &clear) || !strings.Contains(err.Error(), "10.0.0.1:80") {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNoCertificateIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "no certificate in the form of PEM", "hello": "no certificate in the form of PEM",
		"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n":    "a private key is in there",
		"-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----\n":    "certificate 1 cannot be read",
		"-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END SOMETHING ELSE-----\n": "no certificate in the form of PEM",
	} {
		if _, err := Certificates([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "c2VjcmV0") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
