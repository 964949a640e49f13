package kinds

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed82539d15/holon/bridges"
)

// secretPrefix is how a secret of Standard Webhooks begins.
const secretPrefix = "whsec_"

// webhook sends the envelope to a URL, signed as
// https://github.com/standard-webhooks/standard-webhooks says.
type webhook struct {
	sender
	url           *url.URL
	key, previous *signer // previous is nil if there is none
	previousUntil time.Time
}

// signer makes signatures with one key. It keeps hashes that have taken the key in,
// which costs as much as a small body.
type signer struct{ hashes sync.Pool }

func newSigner(secret string) *signer {
	key, _ := webhookKey(secret) // Check has decoded it
	if len(key) == 0 {
		return nil
	}
	return &signer{sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// sign returns the signature of a message: its id, when it is sent, and its body.
func (s *signer) sign(id string, stamp int64, body []byte) string {
	mac := s.hashes.Get().(hash.Hash)
	defer s.hashes.Put(mac)
	mac.Reset()
	mac.Write([]byte(id + "." + strconv.FormatInt(stamp, 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func newWebhook(c Config, client *Client) *webhook {
	w := &webhook{url: mustURL(c.URL), previousUntil: c.PreviousUntil}
	w.key, w.previous = newSigner(c.Secret), newSigner(c.Previous)
	known := []string{c.Secret, c.Previous, strings.TrimPrefix(c.Secret, secretPrefix), strings.TrimPrefix(c.Previous, secretPrefix), c.URL}
	for name, values := range w.url.Query() { // receivers have tokens there
		for _, v := range values {
			known = append(known, v, name+"="+v)
		}
	}
	known = append(known, w.url.RawQuery)
	w.sender = sender{client: client, allowPrivate: c.AllowPrivate, secrets: forms(known...)}
	return w
}

// webhookKey decodes a secret.
func webhookKey(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return nil, errors.New("no secret of Standard Webhooks")
	}
	return base64.StdEncoding.DecodeString(encoded)
}

// Edits returns false: what was sent cannot be changed.
func (*webhook) Edits() bool { return false }

// Send posts the body as it is.
func (w *webhook) Send(ctx context.Context, o *bridges.Outgoing) bridges.Result {
	a, end := w.begin(ctx)
	defer end()
	id, stamp := headerValue(o.ID), time.Now().Unix()
	_, result := a.change(request{method: http.MethodPost, url: w.url, body: o.Body, header: http.Header{
		"Content-Type":      {"application/json"},
		"Webhook-Id":        {id},
		"Webhook-Timestamp": {strconv.FormatInt(stamp, 10)},
		"Webhook-Signature": {w.sign(id, stamp, o.Body)},
	}})
	return result
}

// sign makes the signatures of an attempt: two in the time after a rotation, so
// that the receiver may change its secret at any moment of it.
func (w *webhook) sign(id string, stamp int64, body []byte) string {
	signature := w.key.sign(id, stamp, body)
	if w.previous == nil || stamp >= w.previousUntil.Unix() {
		return signature
	}
	return signature + " " + w.previous.sign(id, stamp, body)
}

// headerValue makes a value of a header of any text: what is not visible ASCII is
// escaped.
func headerValue(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c > ' ' && c < 0x7f {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)|0x100, 16)[1:]))
		}
	}
	return b.String()
}
