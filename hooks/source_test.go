package hooks

import (
	"errors"
	"testing"
)

func TestSourceIsChecked(t *testing.T) {
	ok := Source{Name: "ci", Kind: KindWebhook, Secret: "s", Verify: VerifyBearer}
	for want, change := range map[string]func(*Source){
		"": func(*Source) {},
		`name: a source cannot be called "events"`:                                                     func(s *Source) { s.Name = "events" },
		`name: a source cannot be called "a b"`:                                                        func(s *Source) { s.Name = "a b" },
		`secret: it is empty; without a secret nobody can tell who sent a webhook`:                     func(s *Source) { s.Secret = "" },
		`kind: it must be github or webhook`:                                                           func(s *Source) { s.Kind = "gitlab" },
		`kind: a source of kind github has a name and a secret only`:                                   func(s *Source) { s.Kind = KindGitHub },
		`verify: give standard, bearer or hmac`:                                                        func(s *Source) { s.Verify = "" },
		`verify: it must be standard, bearer or hmac`:                                                  func(s *Source) { s.Verify = "none" },
		`verify: hmac_header, hmac_prefix and hmac_encoding belong to verify = "hmac"`:                 func(s *Source) { s.HMACHeader = "X" },
		`secret: a secret of Standard Webhooks is whsec_ and base64`:                                   func(s *Source) { s.Verify, s.Secret = VerifyStandard, "whsec_?" },
		`hmac_header: give the name of the header with the signature, such as X-Signature`:             func(s *Source) { s.Verify, s.HMACHeader = VerifyHMAC, "a b" },
		`hmac_encoding: it must be hex or base64`:                                                      func(s *Source) { s.Verify, s.HMACHeader, s.HMACEncoding = VerifyHMAC, "X", "b64" },
		`native_id: the expression does not compile: unknown name id (1:1)`:                            func(s *Source) { s.NativeID = "id" },
		`immediate: the expression does not compile: expected bool, but got string`:                    func(s *Source) { s.Immediate = `"yes"` },
		`resource_ref: resource_ref and event_family go together: give both or neither`:                func(s *Source) { s.ResourceRef = "payload.a" },
		`immediate: immediate and breaks are about groups: give resource_ref and event_family as well`: func(s *Source) { s.Breaks = `"after"` },
	} {
		s, got := ok, ""
		change(&s)
		if _, err := Compile(s); err != nil {
			if _, is := errors.AsType[*KeyError](err); !is {
				t.Errorf("%T", err)
			}
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if _, err := New(Config{Sources: []Source{ok, ok}}); err == nil || err.Error() != "source ci: name: it is there twice" {
		t.Error(err)
	}
	if err := CheckExpression("summary", "payload.a"); err != nil {
		t.Error(err)
	}
	if err := CheckExpression("sumary", "payload.a"); err == nil {
		t.Error("an unknown key is accepted")
	}
}
