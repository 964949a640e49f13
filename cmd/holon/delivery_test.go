package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/internal/test/kindstest"
	"github.com/seed82539d15/holon/rpc/client"
)

// sendSecret is the secret of the bridges that send webhooks here.
const sendSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw9QZ0aGVyZQ=="

// hook is a bridge of the configuration that sends webhooks to a receiver on loopback.
func hook(url string) map[string]config.Bridge {
	return map[string]config.Bridge{"hook": {
		Kind: "webhook", OnPause: "wait", AllowPrivate: true, URL: url, Secret: config.SecretAt{Value: sendSecret},
	}}
}

// startDelivering starts a server with bridges.
func startDelivering(t *testing.T, bridges map[string]config.Bridge) *server {
	t.Helper()
	s := &server{t: t, data: t.TempDir(), bridges: bridges}
	s.start()
	return s
}

// post sends one request and returns the text of its answer.
func (s *server) post(method, params string) string {
	s.t.Helper()
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		s.t.Fatal(err)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	response, err := http.Post(record.URLs[0]+"/rpc", "application/json", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// did is post for what must succeed.
func (s *server) did(method, params string) string {
	s.t.Helper()
	text := s.post(method, params)
	if !strings.Contains(text, `"result":`) {
		s.t.Fatalf("%s %s: %s", method, params, text)
	}
	return text
}

// echo starts a turn in the thread a, which is made.
func (s *server) echo(text string) {
	s.t.Helper()
	s.did("thread/start", `{"thread_id":"a"}`)
	s.did("turn/start", fmt.Sprintf(`{"thread_id":"a","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}]}`, text))
}

// deliverySamples fetches the samples of deliveries, without buckets and sums.
func (s *server) deliverySamples() (list []string) {
	s.t.Helper()
	_, page := s.fetch("/metrics")
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "holon_delivery_") && !strings.Contains(line, "_bucket{") && !strings.Contains(line, "_seconds_sum") && !strings.Contains(line, "_lag_") {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}

func TestMetricsOfDeliveriesCountWhatHappened(t *testing.T) {
	target := kindstest.NewReceiver(t, sendSecret)
	s := startDelivering(t, hook(target.URL+"/x"))
	s.did("subscription/create", `{"subscription_id":"s","bridge_id":"hook"}`)
	s.echo("/say one")
	eventually(t, "it arrives", func() bool { return len(target.IDs()) == 1 })
	eventually(t, "it is settled", func() bool {
		return slices.Contains(s.deliverySamples(), `holon_delivery_settled_total{bridge="hook",state="delivered"} 1`)
	})
	busy := target.Fail(kindstest.Hangs)
	s.echo("/say two")
	<-busy
	have := s.deliverySamples()
	for _, want := range []string{
		`holon_delivery_attempt_seconds_count{bridge="hook",outcome="delivered"} 1`, `holon_delivery_bridge_active{bridge="hook"} 1`,
		`holon_delivery_in_flight{bridge="hook"} 1`, `holon_delivery_mismatches{bridge="hook"} 0`, `holon_delivery_pending{bridge="hook"} 1`,
		`holon_delivery_subscriptions{bridge="hook"} 1`, `holon_delivery_subscriptions_held{bridge="hook"} 0`,
	} {
		if !slices.Contains(have, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(have, "\n"))
		}
	}
	if slices.Contains(have, `holon_delivery_oldest_pending_seconds{bridge="hook"} 0`) {
		t.Error("what waits has no age")
	}
	s.did("bridge/pause", `{"bridge_id":"hook"}`)
	if have := s.deliverySamples(); !slices.Contains(have, `holon_delivery_bridge_active{bridge="hook"} 0`) {
		t.Errorf("after a pause:\n%s", strings.Join(have, "\n"))
	}
}

// A bridge of one server must not act on another as its user.
func TestABridgeIsNoWayIntoAServer(t *testing.T) {
	other := startServer(t)
	record, err := client.ReadServerFile(other.data)
	if err != nil {
		t.Fatal(err)
	}
	own := freeAddress(t)
	bridges := hook(record.URLs[0] + "/rpc")
	itself := bridges["hook"]
	itself.URL = "http://" + own + "/rpc"
	bridges["itself"] = itself
	s := &server{t: t, data: t.TempDir(), bridges: bridges, listen: []string{own}}
	s.start()
	if answer := s.did("bridge/test", `{"bridge_id":"hook"}`); !strings.Contains(answer, `"delivered":false,"status":401`) {
		t.Errorf("another server: %s", answer)
	}
	if answer := s.did("bridge/test", `{"bridge_id":"itself"}`); !strings.Contains(answer, `"delivered":false,"error":"own_address"`) {
		t.Errorf("the same server: %s", answer)
	}
}

// late is a receiver whose answers wait.
func late(t *testing.T) (target *kindstest.Listener, came <-chan struct{}, answer func()) {
	t.Helper()
	arrived, release := make(chan struct{}, 16), make(chan struct{})
	l := kindstest.Listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-release:
			w.WriteHeader(http.StatusNoContent)
		case <-r.Context().Done():
		}
	}))
	return l, arrived, func() { close(release) }
}

func TestATestOfABridgeDelaysNoOtherRequest(t *testing.T) {
	target, came, answer := late(t)
	s := startDelivering(t, hook(target.URL+"/x"))
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		t.Fatal(err)
	}
	body, in := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, record.URLs[0]+"/rpc/stream", body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	defer in.Close()
	answers := bufio.NewScanner(response.Body)
	answers.Buffer(nil, 1<<20)
	next := func(part string) {
		t.Helper()
		for answers.Scan() {
			if strings.Contains(answers.Text(), `"id":`) {
				if !strings.Contains(answers.Text(), part) {
					t.Fatalf("%s; want %s", answers.Text(), part)
				}
				return
			}
		}
		t.Fatal("the stream has ended")
	}
	for _, line := range []string{`{"jsonrpc":"2.0","id":1,"method":"bridge/test","params":{"bridge_id":"hook"}}`, `{"jsonrpc":"2.0","id":2,"method":"holon/status"}`} {
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-came
	next(`"id":2`)
	answer()
	next(`"delivered":true,"status":204`)
}

func TestAStopGivesAttemptsTheTimeOfTheDrain(t *testing.T) {
	target, came, answer := late(t)
	s := &server{t: t, data: t.TempDir(), bridges: hook(target.URL + "/x"), drain: 20 * time.Second}
	s.start()
	s.did("subscription/create", `{"subscription_id":"s","bridge_id":"hook"}`)
	s.echo("/say one")
	<-came
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.stop()
	}()
	eventually(t, "the server is stopping", func() bool { return strings.Contains(s.log.String(), "stopped") })
	select {
	case <-stopped:
		t.Fatal("the server has not waited for the attempt")
	default:
	}
	answer()
	<-stopped
	s.start()
	read := s.did("delivery/list", `{"subscription_id":"s"}`)
	if !strings.Contains(read, `"state":"delivered"`) || len(target.Requests()) != 1 {
		t.Errorf("%d requests; %s", len(target.Requests()), read)
	}
}

func TestAStopCutsAttemptsThatTakeLongerThanTheDrain(t *testing.T) {
	target, came, answer := late(t)
	s := startDelivering(t, hook(target.URL+"/x")) // it drains for 100 ms
	s.did("subscription/create", `{"subscription_id":"s","bridge_id":"hook"}`)
	s.echo("/say one")
	<-came
	s.stop()
	answer()
	s.start()
	eventually(t, "it is sent again", func() bool {
		return strings.Contains(s.did("delivery/list", `{"subscription_id":"s"}`), `"state":"delivered"`)
	})
	requests := target.Requests()
	if len(requests) != 2 || string(requests[0].Body) != string(requests[1].Body) || requests[0].Header.Get("Webhook-Id") != requests[1].Header.Get("Webhook-Id") {
		t.Errorf("%d requests, of %v", len(requests), requests)
	}
}

// TestMessagesOfAServerLinkToItsConsole, if it knows its address.
func TestMessagesOfAServerLinkToItsConsole(t *testing.T) {
	for public, link := range map[string]string{
		"https://Holon.example.com/": `"url":"https://holon.example.com/#/thread/a"`,
		"":                           "",
	} {
		target := kindstest.NewReceiver(t, sendSecret)
		s := &server{t: t, data: t.TempDir(), bridges: hook(target.URL + "/x"), change: func(c *config.Config) { c.PublicURL = public }}
		s.start()
		s.did("subscription/create", `{"subscription_id":"s","bridge_id":"hook"}`)
		s.echo("/say see https://evil.example/#/thread/b")
		eventually(t, "it arrives", func() bool { return len(target.IDs()) == 1 })
		body := string(target.Requests()[0].Body)
		if !strings.Contains(body, link) || strings.Contains(body, `"url"`) != (link != "") {
			t.Errorf("with %q: %s", public, body)
		}
		server, err := os.ReadFile(client.ServerFile(s.data))
		if err != nil || strings.Contains(string(server), "public_url") != (public != "") {
			t.Errorf("with %q: %s, %v", public, server, err)
		}
	}
}
