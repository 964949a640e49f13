package kinds_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/internal/test/kindstest"
)

// The secrets of the bridges under test.
const (
	testSecret   = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw9QZ0aGVyZQ=="
	earlier      = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDd4B5a2V5MQ=="
	testToken    = "very-secret-token-0123456789"
	testTopic    = "topic_with_128_random_bits"
	slackChannel = "#general"
)

func newClient(t testing.TB, config kinds.ClientConfig) *kinds.Client {
	c := kinds.NewClient(config)
	t.Cleanup(c.Close)
	return c
}

// open makes a channel of a bridge in the configuration that may connect to
// loopback.
func open(t testing.TB, c kinds.Config) bridges.Channel {
	t.Helper()
	return openWith(t, c, newClient(t, kinds.ClientConfig{}))
}

func openWith(t testing.TB, c kinds.Config, client *kinds.Client) bridges.Channel {
	t.Helper()
	c.Configured, c.AllowPrivate = true, c.Kind != bridges.KindCommand
	ch, err := kinds.New(c, kinds.Shared{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// at makes a subject of a target. Two faults are of the connection itself.
func at(t *testing.T, l *kindstest.Listener, f kindstest.Fault, config func(base string) kinds.Config) kindstest.Subject {
	s := kindstest.Subject{}
	base := l.URL
	switch f {
	case "":
	case kindstest.WrongCertificate:
		base = kindstest.ListenTLS(t, l.Server.Config.Handler).URL
	case kindstest.NobodyListens:
		l.Server.Close()
	default:
		s.Busy = l.Fail(f)
	}
	s.Channel = open(t, config(base))
	return s
}

var cards = []bridges.Card{{Key: "slot-1", Post: true}}

func TestWebhookPassesTheSuite(t *testing.T) {
	kindstest.Exercise(t, kindstest.Rig{
		Faults: kindstest.HTTPFaults(false),
		Start: func(t *testing.T, f kindstest.Fault) kindstest.Subject {
			r := kindstest.NewReceiver(t, testSecret)
			s := at(t, r.Listener, f, func(base string) kinds.Config {
				return kinds.Config{Kind: bridges.KindWebhook, URL: base + "/hook?key=" + testToken, Secret: testSecret}
			})
			s.Shown, s.Secrets = r.Shown, []string{testSecret, testToken, strings.TrimPrefix(testSecret, "whsec_")}
			return s
		},
	})
}

func TestNtfyPassesTheSuite(t *testing.T) {
	kindstest.Exercise(t, kindstest.Rig{
		Faults: kindstest.HTTPFaults(false),
		Start: func(t *testing.T, f kindstest.Fault) kindstest.Subject {
			n := kindstest.NewNtfy(t)
			n.Token = testToken
			s := at(t, n.Listener, f, func(base string) kinds.Config {
				return kinds.Config{Kind: bridges.KindNtfy, Server: base, Topic: testTopic, Secret: testToken}
			})
			s.Shown, s.Secrets, s.Cards = n.Shown, []string{testToken, testTopic}, cards
			return s
		},
	})
}

func TestSlackPassesTheSuite(t *testing.T) {
	faults := kindstest.HTTPFaults(true)
	faults[kindstest.NotOK] = kindstest.Want{Outcome: bridges.Refused, Status: 200, Error: "slack: unknown error"}
	kindstest.Exercise(t, kindstest.Rig{
		Faults: faults,
		Start: func(t *testing.T, f kindstest.Fault) kindstest.Subject {
			sl := kindstest.NewSlack(t, testToken)
			s := at(t, sl.Listener, f, func(base string) kinds.Config {
				return kinds.Config{Kind: bridges.KindSlack, APIURL: base + "/api", Secret: testToken}
			})
			s.Target.Channel = "C0GENERAL"
			s.Shown, s.Secrets, s.Cards = sl.Shown, []string{testToken}, cards
			return s
		},
	})
}

func TestSlackWebhookPassesTheSuite(t *testing.T) {
	kindstest.Exercise(t, kindstest.Rig{
		Faults: kindstest.HTTPFaults(false),
		Start: func(t *testing.T, f kindstest.Fault) kindstest.Subject {
			sl := kindstest.NewSlack(t, testToken)
			s := at(t, sl.Listener, f, func(base string) kinds.Config {
				return kinds.Config{Kind: bridges.KindSlack, WebhookURL: base + kindstest.SlackWebhook}
			})
			s.Shown, s.Secrets, s.Twice = sl.Shown, []string{kindstest.SlackWebhook, "T0000001", "B0000001", "abcdefghijklmnopqrstuvwx"}, true
			s.Secrets = []string{kindstest.SlackWebhook, "abcdefghijklmnopqrstuvwx"}
			return s
		},
	})
}

func TestGitHubPassesTheSuite(t *testing.T) {
	faults := kindstest.HTTPFaults(true)
	faults[kindstest.LimitsWithoutTime] = kindstest.Want{Outcome: bridges.Wait, Status: 429, Error: "status 429", RetryAfter: 60e9}
	kindstest.Exercise(t, kindstest.Rig{
		Faults: faults,
		Start: func(t *testing.T, f kindstest.Fault) kindstest.Subject {
			g := kindstest.NewGitHub(t, testToken)
			s := at(t, g.Listener, f, func(base string) kinds.Config {
				return kinds.Config{Kind: bridges.KindGitHub, APIURL: base + "/api/v3", Secret: testToken}
			})
			s.Target = bridges.Target{Repository: "octo/parser", Number: 1}
			s.Shown, s.Secrets, s.Cards = g.Shown, []string{testToken}, cards
			return s
		},
	})
}

// programs are what a program does in place of a fault: its script appends the
// envelope to the file "$1" when it delivers.
var programs = map[kindstest.Fault]string{
	kindstest.Hangs:              `echo up > "$2"; exec sleep 3600`,
	kindstest.ResetsAfterReading: `cat > /dev/null; kill -KILL $$`,
	kindstest.LosesAnswer:        `cat >> "$1"; kill -KILL $$`,
	kindstest.Refuses:            `cat > /dev/null; exit 3`,
	kindstest.LimitsWithoutTime:  `exit 75`,
	kindstest.HugeAnswer:         `cat >> "$1"; head -c 1048576 /dev/zero | tr '\0' x`,
	kindstest.EchoesBack:         `env; cat; exit 4`,
	kindstest.Nonsense:           `cat >> "$1"; printf '\377\376'`,
}

func TestCommandPassesTheSuite(t *testing.T) {
	t.Setenv("HOLON_TOKEN", testToken)
	kindstest.Exercise(t, kindstest.Rig{
		Faults: map[kindstest.Fault]kindstest.Want{
			kindstest.Hangs:              {Outcome: bridges.Failed, Error: "timeout", Unhealthy: true, Arrived: true},
			kindstest.ResetsAfterReading: {Outcome: bridges.Failed, Error: "signal 9", Unhealthy: true, Arrived: true},
			kindstest.LosesAnswer:        {Outcome: bridges.Failed, Error: "signal 9", Unhealthy: true, Arrived: true},
			kindstest.Refuses:            {Outcome: bridges.Failed, Status: 3, Error: "exit 3"},
			kindstest.LimitsWithoutTime:  {Outcome: bridges.Wait, Status: 75, Error: "exit 75"},
			kindstest.HugeAnswer:         {Outcome: bridges.Delivered},
			kindstest.EchoesBack:         {Outcome: bridges.Failed, Status: 4, Error: "exit 4"},
			kindstest.Nonsense:           {Outcome: bridges.Delivered},
		},
		Start: func(t *testing.T, f kindstest.Fault) kindstest.Subject {
			dir := t.TempDir()
			inbox, up, failed := filepath.Join(dir, "inbox"), filepath.Join(dir, "up"), filepath.Join(dir, "failed")
			script := `cat >> "$1"`
			s := kindstest.Subject{Twice: true, Secrets: []string{testToken}}
			if f != "" {
				script = `if [ -e "$3" ]; then cat >> "$1"; exit 0; fi; touch "$3"; ` + programs[f]
			}
			if f == kindstest.Hangs {
				s.Busy = appears(t, up)
			}
			s.Channel = open(t, kinds.Config{Kind: bridges.KindCommand, Command: []string{"sh", "-c", script, "notify", inbox, up, failed}})
			s.Shown = func() []string {
				b, err := os.ReadFile(inbox)
				if err != nil {
					return nil
				}
				return strings.Split(strings.TrimSpace(string(b)), "\n")
			}
			return s
		},
	})
}

// appears is closed when a file has content. It is a named pipe, so nothing polls.
func appears(t *testing.T, path string) <-chan struct{} {
	mkfifo(t, path)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = os.ReadFile(path)
	}()
	return done
}

// trust is the pool with a listener's certificate.
func trust(l *kindstest.Listener) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(l.Server.Certificate())
	return pool
}

func send(t testing.TB, ch bridges.Channel, o *bridges.Outgoing) bridges.Result {
	t.Helper()
	return ch.Send(context.Background(), o)
}

func outgoing(e *bridges.Envelope, target bridges.Target, cards ...bridges.Card) *bridges.Outgoing {
	s := kindstest.Subject{Target: target, Cards: cards}
	return s.Outgoing(e, false)
}

func must(t testing.TB, r bridges.Result, want bridges.Outcome) bridges.Result {
	t.Helper()
	if r.Outcome != want {
		t.Fatalf("outcome %s, want %s: %s", r.Outcome, want, describe(r))
	}
	return r
}

func describe(r bridges.Result) string { return fmt.Sprintf("%+v, answer %q", r, r.Answer) }
