package hooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"
)

const whsec = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// What the reference library signs is accepted, and what we sign it accepts.
func TestStandardWebhooksAgreesWithItsLibrary(t *testing.T) {
	library, err := standardwebhooks.NewWebhook(whsec)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compile(Source{Name: "s", Kind: KindWebhook, Secret: whsec, Verify: VerifyStandard})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[a-zA-Z0-9_.-]{1,40}`).Draw(t, "id")
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		off := rapid.IntRange(-400, 400).Draw(t, "seconds")
		now := time.Now()
		at := now.Add(time.Duration(off) * time.Second)
		signature, err := library.Sign(id, at, body)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		h.Set("webhook-id", id)
		h.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
		h.Set("webhook-signature", "v1a,AAAA v1,bm90IHRoaXM= "+signature)
		p, ok := c.verify.verify(h, body, now)
		if in := off >= -299 && off <= 299; in && (!ok || p.id != id || p.at.Unix() != at.Unix()) || (off < -301 || off > 301) && ok {
			t.Fatalf("%d seconds: %v %v", off, ok, p)
		}
		raw := sign(c.verify.(standardVerifier).key, []byte(id+"."+fmt.Sprint(at.Unix())+"."), body)
		h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(raw))
		if err := library.VerifyIgnoringTimestamp(body, h); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			changed := h.Clone()
			changed.Set(name, h.Get(name)+"1")
			if _, ok := c.verify.verify(changed, body, at); ok {
				t.Fatalf("another %s is accepted", name)
			}
			changed.Del(name)
			if _, ok := c.verify.verify(changed, body, at); ok {
				t.Fatalf("no %s is accepted", name)
			}
		}
		if _, ok := c.verify.verify(h, append(body, 'x'), at); ok {
			t.Fatal("another body is accepted")
		}
	})
}

func TestSignatures(t *testing.T) {
	body := []byte(`{"a":1}`)
	mac := hmac.New(sha256.New, []byte("s3cret"))
	mac.Write(body)
	sum := mac.Sum(nil)
	asHex, as64 := fmt.Sprintf("%x", sum), base64.StdEncoding.EncodeToString(sum)
	github := Source{Name: "s", Kind: KindGitHub, Secret: "s3cret"}
	bearer := Source{Name: "s", Kind: KindWebhook, Secret: "s3cret", Verify: VerifyBearer}
	hexed := Source{Name: "s", Kind: KindWebhook, Secret: "s3cret", Verify: VerifyHMAC, HMACHeader: "x-sig"}
	based := Source{Name: "s", Kind: KindWebhook, Secret: "s3cret", Verify: VerifyHMAC, HMACHeader: "X-Sig", HMACPrefix: "v0=", HMACEncoding: EncodingBase64}
	for i, c := range []struct {
		source Source
		header string
		values []string
		want   bool
	}{
		{github, "X-Hub-Signature-256", []string{"sha256=" + asHex}, true},
		{github, "X-Hub-Signature-256", []string{asHex}, false},
		{github, "X-Hub-Signature-256", []string{"sha256=" + asHex[:62]}, false},
		{github, "X-Hub-Signature-256", []string{"sha256="}, false},
		{github, "X-Hub-Signature-256", []string{"sha256=zz"}, false},
		{github, "X-Hub-Signature-256", []string{"sha256=" + asHex, "sha256=" + asHex}, false},
		{github, "X-Hub-Signature", []string{"sha256=" + asHex}, false},
		{bearer, "Authorization", []string{"Bearer s3cret"}, true},
		{bearer, "Authorization", []string{"bearer s3cret"}, true},
		{bearer, "Authorization", []string{"Bearer s3cre"}, false},
		{bearer, "Authorization", []string{"Bearer s3cret "}, false},
		{bearer, "Authorization", []string{"Bearer"}, false},
		{bearer, "Authorization", []string{"Basic s3cret"}, false},
		{bearer, "Authorization", nil, false},
		{hexed, "X-Sig", []string{asHex}, true},
		{hexed, "X-Sig", []string{as64}, false},
		{based, "X-Sig", []string{"v0=" + as64}, true},
		{based, "X-Sig", []string{as64}, false},
		{based, "X-Sig", []string{""}, false},
	} {
		compiled, err := Compile(c.source)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		for _, v := range c.values {
			h.Add(c.header, v)
		}
		if _, ok := compiled.verify.verify(h, body, time.Now()); ok != c.want {
			t.Errorf("%d: %v %v: %v", i, c.header, c.values, ok)
		}
		if _, ok := compiled.verify.verify(h, []byte(`{"a":2}`), time.Now()); ok && c.source.Verify != bearer.Verify {
			t.Errorf("%d: another body is accepted", i)
		}
	}
}
