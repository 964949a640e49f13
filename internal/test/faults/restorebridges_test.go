//go:build linux

package faults

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed82539d15/holon/internal/test/kindstest"
)

// publicAddress is that of a target in a network of the test's own. Bridges that clients
// make connect to public addresses only, and to port 443.
const publicAddress = "93.184.216.34"

// ownNetwork gives the test a network of its own, in which publicAddress is that of this
// machine. The goroutine of the test keeps its thread: what it starts, and where it
// listens, is in this network.
//
// At the end the thread goes back to the network of all. It must not end with the
// goroutine: the kernel kills the servers of other tests that this thread has started.
func ownNetwork(t *testing.T) {
	t.Helper()
	need(t, "network")
	runtime.LockOSThread()
	before, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", syscall.Gettid()))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer before.Close()
		if err := unix.Setns(int(before.Fd()), unix.CLONE_NEWNET); err != nil {
			t.Errorf("go back to the network of all: %v", err) // the thread stays locked, and ends
			return
		}
		runtime.UnlockOSThread()
	})
	for _, args := range [][]string{{"link", "set", "lo", "up"}, {"addr", "add", publicAddress + "/32", "dev", "lo"}} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v\n%s", args, err, out)
		}
	}
}

// serveOutside serves the targets at the public address. It returns the file of the
// certificate that clients are to trust.
func (x *targets) serveOutside(t *testing.T) (certificate string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.ParseIP(publicAddress)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate = filepath.Join(t.TempDir(), "certificate.pem")
	if err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/hook", x.hook.Listener)
	mux.Handle("/api/", x.slack.Listener)
	mux.Handle("/api/v3/", x.github.Listener)
	mux.Handle("/", x.ntfy.Listener)
	l, err := tls.Listen("tcp", publicAddress+":443", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: mux, ErrorLog: log.New(io.Discard, "", 0)} // doctor does not trust the certificate
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Close()
		<-ended
	})
	return certificate
}

// The secrets of the bridges that the client makes, of the first and of the second
// life.
const (
	firstSecret  = "whsec_Rmlyc3RTZWNyZXRPZlRoZUNsaWVudHNXZWJob29r"
	beforeSecret = "whsec_U2VjcmV0T2ZUaGVDbGllbnRCZWZvcmVSZXN0b3Jl"
	afterSecret  = "whsec_QWZ0ZXJUaGVSZXN0b3JlSXRJc0Fub3RoZXJPbmUx"
	madeTopic    = "topic-of-the-client-0123456789"
)

// madeBridges are bridges that a client makes, and what they deliver to.
var madeBridges = map[string]struct {
	create, secrets, target object
}{
	"made_webhook": {object{"kind": "webhook", "url": "https://" + publicAddress + "/hook"}, object{"secret": afterSecret}, object{}},
	"made_ntfy":    {object{"kind": "ntfy", "server": "https://" + publicAddress}, object{"topic": madeTopic, "token": ntfyToken}, object{}},
	"made_slack":   {object{"kind": "slack", "api_url": "https://" + publicAddress + "/api"}, object{"token": slackToken}, object{"channel": "C0OTHER1"}},
	"made_github":  {object{"kind": "github", "api_url": "https://" + publicAddress + "/api/v3"}, object{"token": githubToken}, object{"repository": "octo/parser", "number": 2}},
}

// A backup has no secrets of bridges, and neither has what is restored from it. After
// the restore nothing is sent until secrets are given again and each bridge is resumed;
// then what the first life has sent can still be taken back.
func TestRestoredServerSendsNothingUntilItIsTold(t *testing.T) {
	t.Parallel()
	ownNetwork(t)
	x, y, p := newTargets(t), newTargets(t), newTestbed(t)
	p.configure(t, x.config())
	env := []string{"SSL_CERT_FILE=" + y.serveOutside(t)}
	s := p.serve(t, env)
	subs := x.subscribe(t, s)
	y.hook.SetSecrets(beforeSecret)
	for id, b := range madeBridges {
		params := b.create.with("bridge_id", id)
		for name, value := range b.secrets {
			params = params.with(name, value)
		}
		if id == "made_webhook" {
			params = params.with("secret", firstSecret)
		}
		s.must(t, "bridge/create", params)
		s.must(t, "subscription/create", object{"subscription_id": id, "bridge_id": id, "target": b.target, "include_text": true})
		subs = append(subs, id)
	}
	s.must(t, "bridge/rotate_secret", object{"bridge_id": "made_webhook", "secret": beforeSecret})
	s.must(t, "thread/start", object{"thread_id": "a"})
	failed := s.must(t, "turn/start", turn("a", "/transient 1\n/say mended"))
	if err := s.idle(startWithin); err != nil {
		t.Fatal(err)
	}
	if err := s.delivered(subs...); err != nil {
		t.Fatal(err)
	}
	first := map[string]int{}
	for what, n := range received(t, x, y) {
		if first[what] = n; n != 1 && what != "made plain" {
			t.Errorf("%s has received %d requests before the backup, want 1", what, n)
		}
	}

	q := newTestbed(t)
	backup := filepath.Join(p.root, "backup.db")
	p.run(t, "backup", backup, "--data", p.data)
	s.stop(t)
	p.run(t, "restore", backup, "--data", q.data)
	secrets := []string{sendSecret, kindstest.SlackWebhook, slackToken, githubToken, ntfyToken, firstSecret, beforeSecret, madeTopic}
	noSecrets := func(path string, secrets []string) {
		t.Helper()
		for _, secret := range secrets {
			if in := filesWith(t, path, secret); len(in) > 0 {
				t.Errorf("%s… is in %v", secret[:10], in)
			}
		}
	}
	for _, secret := range secrets[2:] { // otherwise nothing is looked for
		if in := filesWith(t, filepath.Join(p.data, "secrets"), secret); len(in) == 0 {
			t.Errorf("%s… is in no file of the first server", secret[:10])
		}
	}
	noSecrets(backup, secrets)
	noSecrets(q.data, secrets)

	q.configure(t, x.config())
	s = q.serve(t, env)
	noSecrets(q.data, secrets)
	for id, state := range s.bridges(t) {
		if state != "paused restored" {
			t.Errorf("after the restore %s is %s", id, state)
		}
	}
	s.must(t, "turn/retry", object{"turn_id": failed.TurnID})
	eventually(t, "the take-back and the end wait everywhere", func() bool {
		return !slices.ContainsFunc(subs, func(id string) bool { return s.pending(t, id) != 2 })
	})
	for id := range madeBridges {
		if _, err := s.call("bridge/resume", object{"bridge_id": id}); kindOf(err) != "conflict" || !strings.Contains(err.Error(), "secret") {
			t.Errorf("%s is resumed without secrets: %v", id, err)
		}
	}
	for what, n := range received(t, x, y) {
		if n != first[what] {
			t.Errorf("%s has received %d requests more after the restore", what, n-first[what])
		}
	}
	y.hook.SetSecrets(afterSecret)
	for id, b := range madeBridges {
		s.must(t, "bridge/rotate_secret", b.secrets.with("bridge_id", id))
		s.must(t, "bridge/resume", object{"bridge_id": id})
	}
	for id := range bridgeKinds {
		s.must(t, "bridge/resume", object{"bridge_id": id})
	}
	if err := s.delivered(subs...); err != nil {
		t.Fatal(err)
	}
	s.stop(t)
	q.doctor(t)
	noSecrets(q.data, []string{sendSecret, firstSecret, beforeSecret})

	// The first letters of each act. What the first life has posted is changed.
	for what, acts := range map[string][]string{
		"slack": x.slackActs(t), "made slack": y.slackActs(t), "github": x.githubActs(t), "made github": y.githubActs(t),
	} {
		alike(t, what, verbs(acts), []string{"new 1: Failed", "change 1: No longer true", "new 2: Completed", "remove 1"})
	}
	for what, acts := range map[string][]string{"ntfy": x.ntfyActs(t, "builds"), "made ntfy": y.ntfyActs(t, madeTopic)} {
		alike(t, what, verbs(acts), []string{"new 1: Failed", "change 1: No longer true", "change 1: Completed"})
	}
	for what, hook := range map[string]*kindstest.Receiver{"webhook": x.hook, "made webhook": y.hook} {
		ids := hook.IDs() // of those that were verified
		if len(ids) != 3 || len(hook.Requests()) != 3 {
			t.Fatalf("%s: %d requests, ids %v", what, len(hook.Requests()), ids)
		}
		life := func(id string) string { return strings.SplitN(id, ":", 2)[0] }
		if life(ids[0]) == life(ids[1]) || life(ids[1]) != life(ids[2]) {
			t.Errorf("%s: ids before and after the restore: %v", what, ids)
		}
	}
}

// verbs are acts without what follows the second colon.
func verbs(acts []string) (list []string) {
	for _, a := range acts {
		list = append(list, strings.Join(strings.SplitN(a, ":", 3)[:min(2, strings.Count(a, ":")+1)], ":"))
	}
	return list
}

// received counts what targets have received.
func received(t *testing.T, configured, made *targets) map[string]int {
	t.Helper()
	n := map[string]int{}
	for what, x := range map[string]*targets{"": configured, "made ": made} {
		for kind, l := range map[string]*kindstest.Listener{"webhook": x.hook.Listener, "ntfy": x.ntfy.Listener, "slack": x.slack.Listener, "plain": x.plain.Listener, "github": x.github.Listener} {
			n[what+kind] = len(l.Requests())
		}
	}
	text, err := os.ReadFile(configured.file)
	if err != nil {
		t.Fatal(err)
	}
	n["command"] = strings.Count(string(text), "\n")
	return n
}

// bridges are the states of bridges with their reasons.
func (s *server) bridges(t *testing.T) map[string]string {
	t.Helper()
	var list struct {
		Bridges []struct {
			BridgeID string `json:"bridge_id"`
			State    string `json:"state"`
			Reason   string `json:"reason"`
		} `json:"bridges"`
	}
	s.must(t, "bridge/list", nil).decode(t, &list)
	if len(list.Bridges) != len(bridgeKinds)+len(madeBridges) {
		t.Errorf("bridges: %+v", list)
	}
	states := map[string]string{}
	for _, b := range list.Bridges {
		states[b.BridgeID] = strings.TrimSpace(b.State + " " + b.Reason)
	}
	return states
}

// pending is how much waits to be sent for a subscription.
func (s *server) pending(t *testing.T, id string) int {
	t.Helper()
	var read struct {
		Subscription struct {
			Pending int `json:"pending"`
		} `json:"subscription"`
	}
	s.must(t, "subscription/read", object{"subscription_id": id}).decode(t, &read)
	return read.Subscription.Pending
}

// run runs a command of the program that must succeed.
func (p *testbed) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(cleanEnv(), "HOME="+p.root, "XDG_CONFIG_HOME="+p.root, "XDG_STATE_HOME="+p.root)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("holon %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// filesWith are the files at or below a path that have any 12 characters of a secret.
// Its last four may be shown.
func filesWith(t *testing.T, path, secret string) (names []string) {
	t.Helper()
	secret = strings.TrimPrefix(secret, "whsec_")
	secret = secret[:len(secret)-4]
	found := false
	if err := filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		found = true
		raw, err := os.ReadFile(path)
		for i := 0; i+12 <= len(secret); i++ {
			if strings.Contains(string(raw), secret[i:i+12]) {
				names = append(names, path)
				break
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if !found {
		t.Errorf("there is no file at %s", path)
	}
	return names
}
