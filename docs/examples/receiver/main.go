// Command receiver receives webhooks of Holon: it verifies each one, takes it once,
// and forgets what no longer holds. GET / shows what holds now. Its argument is the
// address to listen on; HOLON_WEBHOOK_SECRET has the secret of the bridge.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type envelope struct {
	DeliveryID string   `json:"delivery_id"`
	EventType  string   `json:"event_type"`
	Supersedes []string `json:"supersedes"`
	Data       struct {
		Title   string `json:"title"`
		State   string `json:"state"`
		Attempt int    `json:"attempt"`
	} `json:"data"`
}

// In a program that may crash, seen and news are in a database, and are stored
// before the answer: what was answered with 2xx is not sent again.
var (
	mu       sync.Mutex
	seen     = map[string]bool{}     // by webhook-id
	news     = map[string]envelope{} // what holds, by delivery_id
	repeated int
)

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	id := r.Header.Get("webhook-id")
	if err != nil || !verified(r.Header, body) {
		http.Error(w, "the signature is wrong", http.StatusUnauthorized)
		return
	}
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		http.Error(w, "this is no envelope", http.StatusBadRequest)
		return
	}
	mu.Lock()
	defer mu.Unlock()
	if seen[id] {
		repeated++
	} else {
		seen[id] = true
		for _, old := range e.Supersedes {
			delete(news, old)
		}
		if e.EventType != "superseded" && e.EventType != "test" {
			news[e.DeliveryID] = e
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// verified reports whether a webhook comes from the bridge, and not from long ago.
func verified(h http.Header, body []byte) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("HOLON_WEBHOOK_SECRET"), "whsec_"))
	sent, failed := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	if err != nil || len(key) == 0 || failed != nil || math.Abs(float64(time.Now().Unix()-sent)) > 300 {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(h.Get("webhook-id") + "." + h.Get("webhook-timestamp") + "."))
	mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, signature := range strings.Fields(h.Get("webhook-signature")) { // two for a day after a rotation
		if hmac.Equal([]byte(signature), []byte(want)) {
			return true
		}
	}
	return false
}

func show(w http.ResponseWriter, _ *http.Request) {
	mu.Lock()
	defer mu.Unlock()
	if err := json.NewEncoder(w).Encode(map[string]any{"news": news, "received": len(seen), "repeated": repeated}); err != nil {
		log.Print(err)
	}
}

func main() {
	http.HandleFunc("POST /", receive)
	http.HandleFunc("GET /", show)
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
