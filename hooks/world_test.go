package hooks

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/time/rate"

	"github.com/seed82539d15/holon/inbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ghSecret = "It's a Secret to Everybody"

// store is a Deliverer in memory.
type store struct {
	mu    sync.Mutex
	subs  []inbox.Subscription
	items map[string][]inbox.Item // by thread
	fails map[string]error        // by thread
	sent  []string                // of each Ingest: the thread and the subscriptions
	notes []string
	err   error // of Subscribed
}

func (s *store) Subscribed(_ context.Context, source string) (list []inbox.Subscription, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		if sub.Source == source {
			list = append(list, sub)
		}
	}
	return list, s.err
}

func (s *store) Ingest(_ context.Context, threadID string, subscriptionIDs []string, items []inbox.Item) ([]inbox.Ingested, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, threadID+" "+strings.Join(subscriptionIDs, " "))
	if err := s.fails[threadID]; err != nil {
		return nil, err
	}
	results := make([]inbox.Ingested, len(items))
	for i, it := range items {
		for _, old := range s.items[threadID] {
			results[i].Duplicate = results[i].Duplicate || old.Source == it.Source && old.NativeID == it.NativeID
		}
		if !results[i].Duplicate {
			s.items[threadID] = append(s.items[threadID], it)
		}
	}
	return results, nil
}

func (s *store) Note(threadID, subscriptionID string, filtered, failed int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.notes = append(s.notes, strings.Join(strings.Fields(threadID+" "+subscriptionID+" "+strings.Repeat("F", filtered)+" "+strings.Repeat("X", failed)+" "+text), " "))
}

func (s *store) of(threadID string) []inbox.Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[threadID]
}

// world is a handler behind a real server, with its store and its log.
type world struct {
	t *testing.T
	*Handler
	store *store
	url   string
	log   *strings.Builder
}

func newWorld(t *testing.T, sources []Source, subs ...inbox.Subscription) *world {
	t.Helper()
	w := &world{t: t, store: &store{subs: subs, items: map[string][]inbox.Item{}, fails: map[string]error{}}, log: &strings.Builder{}}
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(zapcore.AddSync(w.log)), zap.DebugLevel)
	h, err := New(Config{Sources: sources, Deliver: w.store, Log: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	w.Handler, w.url = h, server.URL
	return w
}

// unlimited takes the rate limit away, for tests that send many webhooks.
func (w *world) unlimited() {
	for _, d := range w.sources {
		d.limit = rate.NewLimiter(rate.Inf, 0)
	}
}

// send sends a webhook and returns the status and the answer.
func (w *world) send(source, body string, header ...string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequest(http.MethodPost, w.url+Path+source, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return w.do(r)
}

func (w *world) do(r *http.Request) (int, string) {
	w.t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if retry := resp.Header.Get("Retry-After") != ""; retry != (resp.StatusCode == 503 || resp.StatusCode == 429) {
		w.t.Errorf("%d: Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	return resp.StatusCode, string(raw)
}

// event sends an event of GitHub to the source gh.
func (w *world) event(event, body string) (int, string) {
	w.t.Helper()
	return w.send("gh", body, "X-GitHub-Event", event, "X-Hub-Signature-256", "sha256="+hexHMAC(ghSecret, body))
}

func hexHMAC(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

var gh = Source{Name: "gh", Kind: KindGitHub, Secret: ghSecret}

func sub(thread, source, filter string) inbox.Subscription {
	return inbox.Subscription{ThreadID: thread, SubscriptionID: "sub_" + thread, Source: source, Filter: filter}
}

// eventually waits for a condition that other goroutines make true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}
