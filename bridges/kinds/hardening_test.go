package kinds_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/internal/test/kindstest"
)

// names is a name server on loopback. What it answers may change.
type names struct {
	*net.Resolver
	conn net.PacketConn

	mu      sync.Mutex
	answers map[string][]string // addresses by name
}

func newNames(t *testing.T, answers map[string][]string) *names {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{answers: answers, conn: conn}
	var served sync.WaitGroup
	served.Go(n.serve)
	t.Cleanup(func() {
		conn.Close()
		served.Wait()
	})
	n.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	return n
}

// set changes the addresses of a name.
func (n *names) set(name string, addresses ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[name] = addresses
}

func (n *names) serve() {
	buf := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		_, _ = n.conn.WriteTo(n.answer(buf[:size]), from)
	}
}

// answer answers a query of one question (RFC 1035).
func (n *names) answer(query []byte) []byte {
	var labels []string
	end := 12
	for query[end] != 0 {
		labels = append(labels, string(query[end+1:end+1+int(query[end])]))
		end += 1 + int(query[end])
	}
	kind := binary.BigEndian.Uint16(query[end+1:])
	question := query[12 : end+5]
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	count := uint16(0)
	for _, text := range n.of(strings.Join(labels, "."), kind) {
		addr := netip.MustParseAddr(text)
		raw := addr.AsSlice()
		reply = append(reply, 0xc0, 12)
		reply = binary.BigEndian.AppendUint16(reply, kind)
		reply = append(reply, 0, 1, 0, 0, 0, 0)
		reply = binary.BigEndian.AppendUint16(reply, uint16(len(raw)))
		reply = append(reply, raw...)
		count++
	}
	binary.BigEndian.PutUint16(reply[6:], count)
	return reply
}

// of are the addresses of a name of a kind: 1 = IPv4, 28 = IPv6.
func (n *names) of(name string, kind uint16) (list []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, text := range n.answers[name] {
		if netip.MustParseAddr(text).Is4() == (kind == 1) {
			list = append(list, text)
		}
	}
	return list
}

func port(l *kindstest.Listener) string { return ":" + portOf(l) }

func portOf(l *kindstest.Listener) string {
	_, p, _ := net.SplitHostPort(strings.TrimPrefix(strings.TrimPrefix(l.URL, "http://"), "https://"))
	return p
}

// hook is a webhook to a name at the port of a receiver.
func hook(t *testing.T, r *kindstest.Receiver, name string, allowPrivate bool, client *kinds.Client) bridges.Channel {
	t.Helper()
	scheme := "https://"
	if allowPrivate {
		scheme = "http://"
	}
	ch, err := kinds.New(kinds.Config{
		Kind: bridges.KindWebhook, URL: scheme + name + port(r.Listener) + "/", Secret: testSecret, Configured: true, AllowPrivate: allowPrivate,
	}, kinds.Shared{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestNamesOfPrivateAddressesAreNotConnectedTo(t *testing.T) {
	r := kindstest.NewReceiver(t, testSecret)
	answers := map[string][]string{}
	for name, addr := range map[string]string{
		"four": "127.0.0.1", "six": "::1", "mapped": "::ffff:127.0.0.1", "nat64": "64:ff9b::7f00:1", "compatible": "::7f00:1", "ula": "fd00::1", "lan": "192.168.0.1",
		"metadata": "169.254.169.254", "zero": "0.0.0.0", "unspecified": "::",
	} {
		answers[name+".example"] = []string{addr}
	}
	answers["both.example"] = []string{"10.0.0.1", "::1", "127.0.0.1"}
	client := newClient(t, kinds.ClientConfig{Resolver: newNames(t, answers).Resolver})
	for name := range answers {
		got := send(t, hook(t, r, name, false, client), outgoing(kindstest.Final(), bridges.Target{}))
		if got.Outcome != bridges.Failed || got.Error != "private_address" || got.Arrived || !got.Unhealthy {
			t.Errorf("%s: %s", name, describe(got))
		}
	}
	for _, name := range []string{"localhost", "localhost.", "LOCALHOST"} {
		got := send(t, hook(t, r, name, false, client), outgoing(kindstest.Final(), bridges.Target{}))
		if got.Error != "private_address" && (name == "localhost" || got.Error != "unknown_host") {
			t.Errorf("%s: %s", name, describe(got))
		}
	}
	if got := send(t, hook(t, r, "nobody.example", false, client), outgoing(kindstest.Final(), bridges.Target{})); got.Error != "unknown_host" || got.Arrived {
		t.Errorf("a name that nobody has: %s", describe(got))
	}
	if n := r.Accepted(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// A name that changes its address after it was looked up gains nothing, because the
// address is checked when it is dialled.
func TestNameThatChangesItsAddress(t *testing.T) {
	r := kindstest.NewReceiver(t, testSecret)
	dns := newNames(t, map[string][]string{"mixed.example": {"169.254.169.254", "127.0.0.1"}})
	client := newClient(t, kinds.ClientConfig{Resolver: dns.Resolver})
	ch := hook(t, r, "turning.example", true, client)
	for _, c := range []struct{ addr, want string }{
		{"127.0.0.1", ""}, {"169.254.169.254", "private_address"}, {"64:ff9b::7f00:1", "private_address"}, {"127.0.0.1", ""},
	} {
		dns.set("turning.example", c.addr)
		client.Close() // else the first connection serves all
		if got := send(t, ch, outgoing(kindstest.Final(), bridges.Target{})); got.Error != c.want {
			t.Errorf("%s: %s, want %q", c.addr, describe(got), c.want)
		}
	}
	if got := send(t, hook(t, r, "mixed.example", true, client), outgoing(kindstest.Final(), bridges.Target{})); got.Outcome != bridges.Delivered {
		t.Errorf("a name with an address that may be used: %s", describe(got))
	}
}

// A connection that was made for a bridge with allow_private serves no other.
func TestConnectionsOfBridgesWithAllowPrivateServeNoOthers(t *testing.T) {
	l := kindstest.ListenTLS(t, kindstest.NewReceiver(t, testSecret).Handler())
	client := newClient(t, kinds.ClientConfig{RootCAs: trust(l), Resolver: newNames(t, map[string][]string{"example.com": {"127.0.0.1"}}).Resolver})
	open := func(allowPrivate bool) bridges.Channel {
		ch, err := kinds.New(kinds.Config{
			Kind: bridges.KindWebhook, URL: "https://example.com:" + portOf(l), Secret: testSecret, Configured: true, AllowPrivate: allowPrivate,
		}, kinds.Shared{Client: client})
		if err != nil {
			t.Fatal(err)
		}
		return ch
	}
	must(t, send(t, open(true), outgoing(kindstest.Final(), bridges.Target{})), bridges.Delivered)
	if got := send(t, open(false), outgoing(kindstest.Final(), bridges.Target{})); got.Error != "private_address" {
		t.Errorf("%s", describe(got))
	}
	must(t, send(t, open(true), outgoing(kindstest.Final(), bridges.Target{})), bridges.Delivered)
	if n := l.Accepted(); n != 1 {
		t.Errorf("%d connections were made, want 1 that is kept", n)
	}
}

func TestTheServerItselfIsNeverATarget(t *testing.T) {
	r := kindstest.NewReceiver(t, testSecret)
	client := newClient(t, kinds.ClientConfig{})
	ch := hook(t, r, "127.0.0.1", true, client)
	must(t, send(t, ch, outgoing(kindstest.Final(), bridges.Target{})), bridges.Delivered)
	for _, listener := range []netip.AddrPort{r.Addr(), netip.AddrPortFrom(netip.IPv6Unspecified(), r.Addr().Port()), netip.AddrPortFrom(netip.IPv4Unspecified(), r.Addr().Port())} {
		client.SetOwn([]netip.AddrPort{listener}) // also for the connection that is open
		for _, name := range []string{"127.0.0.1", "localhost"} {
			if got := send(t, hook(t, r, name, true, client), outgoing(kindstest.Final(), bridges.Target{})); got.Error != "own_address" || got.Arrived {
				t.Errorf("a server at %v is reached as %s: %s", listener, name, describe(got))
			}
		}
	}
	client.SetOwn(nil)
	must(t, send(t, ch, outgoing(kindstest.Final(), bridges.Target{})), bridges.Delivered)
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	inside := kindstest.Listen(t, http.NotFoundHandler())
	for _, code := range []int{301, 302, 303, 307, 308} {
		l := kindstest.Listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", inside.URL+"/latest/meta-data")
			w.WriteHeader(code)
		}))
		for _, c := range []struct {
			config kinds.Config
			target bridges.Target
		}{
			{kinds.Config{Kind: bridges.KindWebhook, URL: l.URL, Secret: testSecret}, bridges.Target{}},
			{kinds.Config{Kind: bridges.KindNtfy, Server: l.URL, Topic: "topic"}, bridges.Target{}},
			{kinds.Config{Kind: bridges.KindSlack, APIURL: l.URL, Secret: testToken}, bridges.Target{Channel: "C1"}},
			{kinds.Config{Kind: bridges.KindGitHub, APIURL: l.URL, Secret: testToken}, bridges.Target{Repository: "octo/parser", Number: 1}},
		} {
			got := send(t, open(t, c.config), outgoing(kindstest.Final(), c.target))
			if got.Outcome != bridges.Failed || got.Status != code {
				t.Errorf("%s, %d: %s", c.config.Kind, code, describe(got))
			}
		}
	}
	if n := inside.Accepted(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// The environment is read once in a process, so the test runs in one of its own.
func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	if os.Getenv("HTTP_PROXY") == "" {
		proxy := kindstest.Listen(t, http.NotFoundHandler())
		self := exec.Command(os.Args[0], "-test.run=^TestProxiesOfTheEnvironmentAreNotUsed$", "-test.count=1")
		self.Env = os.Environ()
		for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
			self.Env = append(self.Env, name+"="+proxy.URL)
		}
		if out, err := self.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		if n := proxy.Accepted(); n != 0 {
			t.Errorf("the proxy got %d connections", n)
		}
		return
	}
	r := kindstest.NewReceiver(t, testSecret)
	client := newClient(t, kinds.ClientConfig{Resolver: newNames(t, map[string][]string{"target.example": {"127.0.0.1"}}).Resolver})
	must(t, send(t, hook(t, r, "target.example", true, client), outgoing(kindstest.Final(), bridges.Target{})), bridges.Delivered)
}

// every are all HTTP kinds with their targets.
func every(t *testing.T) map[string]kindstest.Subject {
	r, n, s, g := kindstest.NewReceiver(t, testSecret), kindstest.NewNtfy(t), kindstest.NewSlack(t, testToken), kindstest.NewGitHub(t, testToken)
	listeners := map[string]*kindstest.Listener{"webhook": r.Listener, "ntfy": n.Listener, "slack": s.Listener, "github": g.Listener}
	configs := map[string]kinds.Config{
		"webhook": {Kind: bridges.KindWebhook, URL: r.URL, Secret: testSecret},
		"ntfy":    {Kind: bridges.KindNtfy, Server: n.URL, Topic: testTopic, Secret: testToken},
		"slack":   {Kind: bridges.KindSlack, APIURL: s.APIURL(), Secret: testToken},
		"github":  {Kind: bridges.KindGitHub, APIURL: g.APIURL(), Secret: testToken},
	}
	all := map[string]kindstest.Subject{}
	for name, c := range configs {
		all[name] = kindstest.Subject{Channel: open(t, c), Target: bridges.Target{}, Shown: func() (seen []string) {
			for _, req := range listeners[name].Requests() {
				seen = append(seen, req.Header.Get("Via")+"|"+req.Header.Get("User-Agent")+"|"+req.Header.Get("Accept-Encoding"))
			}
			return seen
		}}
	}
	slack, github := all["slack"], all["github"]
	slack.Target.Channel, github.Target = slackChannel, bridges.Target{Repository: "octo/parser", Number: 1}
	all["slack"], all["github"] = slack, github
	return all
}

func TestEveryRequestSaysWhereItComesFrom(t *testing.T) {
	for name, s := range every(t) {
		o := s.Outgoing(kindstest.Final(), true) // as a later attempt: Slack and GitHub look for the earlier one
		o.Cards = []bridges.Card{{Key: "k", Post: true}}
		must(t, s.Channel.Send(t.Context(), o), bridges.Delivered)
		if len(s.Shown()) == 0 {
			t.Errorf("%s has sent nothing", name)
		}
		for _, seen := range s.Shown() {
			if seen != "1.1 holon|holon|" {
				t.Errorf("%s sends %s", name, seen)
			}
		}
	}
}
