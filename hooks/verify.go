package hooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// proof is what a signature covers besides the body. Its members are empty if it
// covers the body alone.
type proof struct {
	id string    // of the message
	at time.Time // when it was signed
}

// verifier decides whether a body comes from who knows the secret. It compares in
// constant time and never parses the body.
type verifier interface {
	// verify returns what else is proven; ok is false if the proof is wrong or
	// absent. about names what was looked at, for the sender.
	verify(h http.Header, body []byte, now time.Time) (p proof, ok bool)
	about() string
}

// single returns the value of a header that is there exactly once. Of two signatures
// it would be unclear which one counts.
func single(h http.Header, name string) (string, bool) {
	values := h.Values(name)
	if len(values) != 1 {
		return "", false
	}
	return values[0], true
}

// hmacVerifier checks an HMAC-SHA256 of the body in a header.
type hmacVerifier struct {
	key    []byte
	header string
	prefix string
	decode func(string) ([]byte, error)
}

func (v hmacVerifier) verify(h http.Header, body []byte, _ time.Time) (proof, bool) {
	given, ok := single(h, v.header)
	if !ok {
		return proof{}, false
	}
	encoded, ok := strings.CutPrefix(given, v.prefix)
	if !ok {
		return proof{}, false
	}
	sum, err := v.decode(encoded)
	if err != nil {
		return proof{}, false
	}
	return proof{}, hmac.Equal(sum, sign(v.key, body))
}

func (v hmacVerifier) about() string { return "the header " + v.header }

// bearerVerifier checks a token. It compares hashes, because a comparison in
// constant time shows the length.
type bearerVerifier struct{ token [sha256.Size]byte }

func (v bearerVerifier) verify(h http.Header, _ []byte, _ time.Time) (proof, bool) {
	given, ok := single(h, "Authorization")
	scheme, token, found := strings.Cut(given, " ")
	if !ok || !found || !strings.EqualFold(scheme, "Bearer") {
		return proof{}, false
	}
	sum := sha256.Sum256([]byte(token))
	return proof{}, subtle.ConstantTimeCompare(sum[:], v.token[:]) == 1
}

func (bearerVerifier) about() string { return "the token in the header Authorization" }

// tolerance is how far the clock of a sender may be away, as Standard Webhooks
// recommends. It also bounds how long a recorded webhook can be sent again.
const tolerance = 5 * time.Minute

// standardVerifier checks https://www.standardwebhooks.com: the signature covers
// the id, the time and the body.
type standardVerifier struct{ key []byte }

func (v standardVerifier) verify(h http.Header, body []byte, now time.Time) (proof, bool) {
	id, ok1 := single(h, "Webhook-Id")
	stamp, ok2 := single(h, "Webhook-Timestamp")
	signatures, ok3 := single(h, "Webhook-Signature")
	if !ok1 || !ok2 || !ok3 || id == "" {
		return proof{}, false
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || now.Unix()-seconds > int64(tolerance/time.Second) || seconds-now.Unix() > int64(tolerance/time.Second) {
		return proof{}, false
	}
	want := sign(v.key, []byte(id+"."+stamp+"."), body)
	good := 0
	for i, s := range strings.Fields(signatures) {
		if i == maxSignatures {
			break
		}
		version, encoded, _ := strings.Cut(s, ",")
		sum, err := base64.StdEncoding.DecodeString(encoded)
		if version == "v1" && err == nil {
			good |= subtle.ConstantTimeCompare(sum, want)
		}
	}
	return proof{id: id, at: time.Unix(seconds, 0)}, good == 1
}

func (standardVerifier) about() string {
	return "the headers webhook-id, webhook-timestamp (5 minutes of tolerance) and webhook-signature"
}

// maxSignatures of one webhook: more than one is there while a secret changes.
const maxSignatures = 10

func sign(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, p := range parts {
		mac.Write(p)
	}
	return mac.Sum(nil)
}
