package kindstest

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Receiver receives webhooks as https://www.standardwebhooks.com says: it verifies
// signatures with the reference library, and takes each webhook-id once.
type Receiver struct {
	*Listener

	mu       sync.Mutex
	secrets  []string
	received map[string][]byte
	order    []string
}

// NewReceiver starts a receiver that accepts signatures of any of these secrets.
func NewReceiver(t testing.TB, secrets ...string) *Receiver {
	r := &Receiver{secrets: secrets, received: map[string][]byte{}}
	r.Listener = Listen(t, r.Handler())
	return r
}

// SetSecrets changes the secrets.
func (r *Receiver) SetSecrets(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = secrets
}

// Handler serves the receiver.
func (r *Receiver) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body := readAll(req)
		r.mu.Lock()
		defer r.mu.Unlock()
		good := slices.ContainsFunc(r.secrets, func(secret string) bool {
			wh, err := standardwebhooks.NewWebhook(secret)
			return err == nil && wh.Verify(body, req.Header) == nil
		})
		if !good || req.Method != http.MethodPost {
			http.Error(w, "the signature is wrong", http.StatusUnauthorized)
			return
		}
		id := req.Header.Get("webhook-id")
		if _, again := r.received[id]; !again {
			r.received[id] = body
			r.order = append(r.order, id)
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// IDs returns the ids of what was received, in order, each once.
func (r *Receiver) IDs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.order)
}

// Body returns the body received under an id.
func (r *Receiver) Body(id string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.received[id]
}

// Shown returns the bodies in order.
func (r *Receiver) Shown() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.order {
		all = append(all, string(r.received[id]))
	}
	return all
}
