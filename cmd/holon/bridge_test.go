package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/internal/test/kindstest"
)

func phone(url string) config.Bridge {
	return config.Bridge{Kind: "ntfy", OnPause: "wait", AllowPrivate: true, Server: url, Topic: "the-topic-of-the-phone"}
}

func startNotifying(t *testing.T) (*server, *kindstest.Ntfy, *kindstest.Receiver) {
	t.Helper()
	ntfy, receiver := kindstest.NewNtfy(t), kindstest.NewReceiver(t, sendSecret)
	all := hook(receiver.URL + "/x")
	all["ntfy"] = phone(ntfy.URL)
	return startDelivering(t, all), ntfy, receiver
}

// TestABridgeWhoseProgramCannotRun says what is to be mended.
func TestABridgeWhoseProgramCannotRun(t *testing.T) {
	s := startDelivering(t, map[string]config.Bridge{"program": {Kind: "command", OnPause: "wait", Command: []string{"cat"}}})
	if err := os.RemoveAll(filepath.Join(s.data, "processes")); err != nil {
		t.Fatal(err)
	}
	if r := s.holon("bridge", "test", "program"); r.code != exitFailed || !strings.Contains(r.err, "not delivered: not_recorded: the record of the process cannot be written\n  The server records") {
		t.Errorf("no folder for records: %+v", r)
	}
	if hint := attemptHint("not_recorded: the disk is full", bridges.Bridge{BridgeID: "program"}); !strings.HasPrefix(hint, "Make space on the disk") {
		t.Errorf("a full disk: %q", hint)
	}
}

func TestWhatAPersonIsToldOfABridge(t *testing.T) {
	for reason, want := range map[string]string{
		bridges.ReasonRestored: "holon bridge rotate b, then holon bridge resume b", bridges.ReasonGone: "holon bridge test b", bridges.ReasonFailing: "holon bridge test b",
		bridges.ReasonNotConfigured: "holon bridge rm b --cascade", bridges.ReasonNoSecret: "holon bridge rotate b", "": "holon bridge resume b",
	} {
		b := bridges.Bridge{BridgeID: "b", State: bridges.Disabled, Reason: reason}
		if reason == bridges.ReasonRestored || reason == "" {
			b.State = bridges.Paused
		}
		if advice := bridgeAdvice(b); !strings.Contains(advice, want) {
			t.Errorf("%q: %s", reason, advice)
		}
		if state := bridgeState(b); reason != "" && !strings.Contains(state, ": ") || strings.Contains(state, "_") {
			t.Errorf("%q is %q", reason, state)
		}
	}
	configured := bridges.Bridge{BridgeID: "b", State: bridges.Paused, Reason: bridges.ReasonRestored, Configured: true}
	if advice := bridgeAdvice(configured); strings.Contains(advice, "rotate") || !strings.Contains(advice, "holon bridge resume b") {
		t.Errorf("the configuration has its secrets: %s", advice)
	}
	if advice := bridgeAdvice(bridges.Bridge{State: bridges.Active}); advice != "" {
		t.Errorf("of one that sends: %s", advice)
	}
}

func TestSecretsAreReadFromFilesAndStdin(t *testing.T) {
	s := startServer(t)
	file := filepath.Join(t.TempDir(), "token")
	const token = "xoxb-0123456789-secret"
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.holon("bridge", "add", "slack", "--token-file", file)
	contains(t, r.out, "slack: a bridge of kind slack\n")
	contains(t, r.err, "holon bridge test slack --target '#CHANNEL'")
	contains(t, s.want("bridge", "show", "slack"), "ends in cret\n")
	if r := holon(t, s.data, token+"-of-github", "bridge", "add", "github", "gh", "--token-file=-"); r.code != exitOK {
		t.Errorf("from stdin: %+v", r)
	}
	contains(t, s.want("bridge", "show", "gh"), "ends in thub\n")
	r = holon(t, s.data, "https://hooks.slack.com/services/T/B/x\n", "bridge", "add", "slack", "in", "--webhook-url-file=-")
	if r.code != exitOK || strings.Contains(r.err, "--target") {
		t.Errorf("an incoming webhook has its channel: %+v", r)
	}
	r = s.holon("bridge", "add", "webhook", "--to=https://example.org/x")
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`).FindString(r.out)
	if r.code != exitOK || secret == "" {
		t.Errorf("the secret of a webhook is shown once: %+v", r)
	}
	other := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`).FindString(s.want("bridge", "rotate", "webhook"))
	if other == "" || other == secret {
		t.Errorf("rotated to %q", other)
	}
	contains(t, s.want("bridge", "show", "webhook"), "signed with the old one too for 24 h")
	if r := s.holon("bridge", "add", "slack", "--token-file", file); r.code != exitFailed || !strings.Contains(r.err, "there is a bridge slack") {
		t.Errorf("a name twice: %+v", r)
	}
	contains(t, s.want("bridge", "rm", "slack"), "slack: deleted\n")
	if out := s.want("bridge", "list", "-o=json") + s.want("export") + s.log.String(); strings.Contains(out, token) || strings.Contains(out, other) {
		t.Error("a secret is shown")
	}
}

func TestATestThatFailsSaysWhatToDo(t *testing.T) {
	s, _, receiver := startNotifying(t)
	receiver.SetSecrets("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	if r := s.holon("bridge", "test", "hook"); r.code != exitFailed || !strings.Contains(r.err, "not delivered: status 401") || !strings.Contains(r.err, "compare its secret") {
		t.Errorf("a wrong secret: %+v", r)
	}
	if r := s.holon("bridge", "test", "hook", "-o=json"); r.code != exitFailed || oneObject(t, r.out)["delivered"] != false {
		t.Errorf("json: %+v", r)
	}
	if r := s.holon("bridge", "test", "nothing"); r.code != exitFailed || !strings.Contains(r.err, "holon bridge list") {
		t.Errorf("no such bridge: %+v", r)
	}
	for _, args := range [][]string{{"rm", "hook"}, {"rotate", "hook"}} {
		if r := s.holon(append([]string{"bridge"}, args...)...); r.code != exitFailed || !strings.Contains(r.err, "[bridges.hook] in the configuration") {
			t.Errorf("%v of a configured bridge: %+v", args, r)
		}
	}
}

func TestTargetsAreReadInTheFormOfTheKind(t *testing.T) {
	for _, tc := range []struct {
		kind bridges.Kind
		text string
		want bridges.Target
		bad  bool
	}{
		{kind: bridges.KindNtfy, text: "other", want: bridges.Target{Topic: "other"}},
		{kind: bridges.KindSlack, text: "#builds", want: bridges.Target{Channel: "#builds"}},
		{kind: bridges.KindSlack, text: "C012AB3CD/1405894322.002768", want: bridges.Target{Channel: "C012AB3CD", ThreadTS: "1405894322.002768"}},
		{kind: bridges.KindGitHub, text: "octo/hello#12", want: bridges.Target{Repository: "octo/hello", Number: 12}},
		{kind: bridges.KindGitHub, text: "https://github.com/octo/hello/pull/12", want: bridges.Target{Repository: "octo/hello", Number: 12}},
		{kind: bridges.KindGitHub, text: "https://github.com/octo/hello/issues/12/", want: bridges.Target{Repository: "octo/hello", Number: 12}},
		{kind: bridges.KindGitHub, text: "https://github.com/octo/hello", bad: true},
		{kind: bridges.KindGitHub, text: "octo/hello", bad: true},
		{kind: bridges.KindGitHub, text: "octo/hello#12x", bad: true},
		{kind: bridges.KindWebhook, text: "x", bad: true},
		{kind: bridges.KindWebhook},
	} {
		got, err := parseTarget(bridges.Bridge{Kind: tc.kind}, tc.text)
		if got != tc.want && !tc.bad || (err != nil) != tc.bad {
			t.Errorf("%s %q: %+v, %v", tc.kind, tc.text, got, err)
		}
		if again, err := parseTarget(bridges.Bridge{Kind: tc.kind}, got.Text()); !tc.bad && (again != got || err != nil) {
			t.Errorf("%s %q is written as %q", tc.kind, tc.text, got.Text())
		}
	}
}

func TestWrongLinesAboutBridges(t *testing.T) {
	nowhere := "--url=http://127.0.0.1:1"
	for _, tc := range []struct {
		args []string
		err  string
	}{
		{[]string{"bridge", "add"}, "Try: holon bridge add"},
		{[]string{"bridge", "add", "command"}, "for the configuration"},
		{[]string{"bridge", "add", "pigeon"}, "no kind of bridge"},
		{[]string{"bridge", "add", "webhook"}, "--to https"},
		{[]string{"bridge", "add", "slack"}, "--token-file"},
		{[]string{"bridge", "add", "slack", "--token-file=-"}, "nothing is in there"},
		{[]string{"bridge", "add", "slack", "--token-file=-", "--topic-file=-"}, "stdin"},
		{[]string{"bridge", "add", "github", "--allow-target=octo/hello"}, "--allow-target: octo/hello: give OWNER/REPOSITORY#NUMBER"},
	} {
		r := holon(t, freshDir(t), "", append(tc.args, nowhere)...)
		if r.code != exitUsage || !strings.Contains(r.err, tc.err) {
			t.Errorf("%v: exit %d: %s", tc.args, r.code, r.err)
		}
	}
}

// TestATokenOfAThreadSendsToTheTargetsOfABridge, and the refusal says who can change them.
func TestATokenOfAThreadSendsToTheTargetsOfABridge(t *testing.T) {
	s := startServer(t)
	s.did("thread/start", `{"thread_id":"mine"}`)
	r := holon(t, s.data, "github_pat_0123456789", "bridge", "add", "github", "--token-file=-", "--allow-target=octo/hello#12", "--allow-target=octo/hello#13")
	if r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	contains(t, s.want("bridge", "show", "github"), "targets   octo/hello#12, octo/hello#13\n")
	token := s.newToken("ci", "--role", "operate", "--thread", "mine")
	subscribe := func(number int) string {
		_, text := s.as(token, "subscription/create", fmt.Sprintf(`{"bridge_id":"github","thread_id":"mine","target":{"repository":"octo/hello","number":%d}}`, number))
		return text
	}
	contains(t, subscribe(13), `"created":true`)
	contains(t, subscribe(14), `"kind":"forbidden"`)
	contains(t, subscribe(14), `"field":"target","reason":"target"`)
	_, text := s.as(token, "subscription/update", `{"subscription_id":"s","include_text":true}`)
	contains(t, text, `"reason":"threads"`)
	s.did("bridge/update", `{"bridge_id":"github","targets":[{"repository":"octo/hello","number":14}]}`)
	contains(t, subscribe(14), `"created":true`)
	r = s.holon("call", "subscription/create", `{"bridge_id":"github","thread_id":"mine","target":{"repository":"octo/hello","number":13}}`)
	contains(t, r.out, `"created"`) // the owner's
}

var turnID = regexp.MustCompile(`turn_[0-9a-f-]{36}`)

// TestATokenOfAThreadSubscribesToItsTurns and to no other's; where it sends it cannot change.
func TestATokenOfAThreadSubscribesToItsTurns(t *testing.T) {
	s := startServer(t)
	turn := func(thread string) string {
		s.want("run", "--thread="+thread, "/say hello")
		return turnID.FindString(s.did("turn/list", fmt.Sprintf(`{"thread_id":%q}`, thread)))
	}
	mine, other := turn("mine"), turn("other")
	s.did("bridge/create", `{"bridge_id":"hook","kind":"webhook","url":"https://localhost/x"}`)
	token := s.newToken("ci", "--role", "operate", "--thread", "mine")
	for params, want := range map[string]string{
		fmt.Sprintf(`{"bridge_id":"hook","thread_id":"mine","turn_id":%q}`, mine):  `"created":true`,
		fmt.Sprintf(`{"bridge_id":"hook","turn_id":%q}`, mine):                     `"reason":"threads"`,
		fmt.Sprintf(`{"bridge_id":"hook","turn_id":%q}`, other):                    `"reason":"threads"`,
		fmt.Sprintf(`{"bridge_id":"hook","thread_id":"mine","turn_id":%q}`, other): `"field":"turn_id","reason":"threads"`,
	} {
		_, text := s.as(token, "subscription/create", params)
		contains(t, text, want)
	}
	_, text := s.as(token, "subscription/update", `{"subscription_id":"s","bridge_id":"hook"}`)
	contains(t, text, `"reason":"threads"`)
	read := s.newToken("reader", "--role", "work")
	_, text = s.as(read, "subscription/update", `{"subscription_id":"s","bridge_id":"hook"}`)
	contains(t, text, `"kind":"forbidden"`)
}

// A test that fails says what to do, in the words of each target.
func TestWhatToDoAboutATestThatFails(t *testing.T) {
	slack, github, receiver := kindstest.NewSlack(t, "xoxb-12345678"), kindstest.NewGitHub(t, "ghp_12345678"), kindstest.NewReceiver(t, sendSecret)
	private := config.Bridge{OnPause: "wait", AllowPrivate: true}
	chat, hub, hooked := private, private, hook(receiver.URL + "/x")["hook"]
	chat.Kind, chat.APIURL, chat.Token.Value = "slack", slack.APIURL(), slack.Token
	hub.Kind, hub.APIURL, hub.Token.Value = "github", github.APIURL(), github.Token
	s := startDelivering(t, map[string]config.Bridge{"chat": chat, "hub": hub, "hook": hooked})
	fails := func(what, hint string, args ...string) {
		t.Helper()
		r := s.holon(append([]string{"bridge", "test"}, args...)...)
		if r.code != exitFailed || !strings.Contains(r.err, what) || !strings.Contains(r.err, hint) {
			t.Errorf("%v: exit %d, want %q and %q:\n%s", args, r.code, what, hint, r.err)
		}
	}
	fails("target.channel", "--target '#CHANNEL'", "chat")
	fails("target.repository", "--target OWNER/REPOSITORY#NUMBER", "hub")
	fails("channel_not_found", "Invite the bot", "chat", "--target=C0NOTHERE")
	slack.FailNext("chat.postMessage", "missing_scope")
	fails("missing_scope", "chat:write", "chat", "--target=#general")
	slack.FailNext("chat.postMessage", "invalid_auth")
	fails("invalid_auth", "[bridges.chat]", "chat", "--target=#general")
	slack.FailNext("chat.postMessage", "token_expired")
	fails("token_expired", "[bridges.chat]", "chat", "--target=#general")
	slack.Break("C0GENERAL", "is_archived")
	fails("is_archived", "name another", "chat", "--target=#general")
	fails("status 404", "owner, repository and number", "hub", "--target=octo/none#1")
	s.stop() // each line of a longer hint is indented
	s.bridges = map[string]config.Bridge{"chat": chat, "hook": hooked}
	s.start()
	fails("not_configured", "  Put [bridges.hub] back into the configuration and restart the server.\n  If it is", "hub", "--target=octo/parser#1")
	receiver.Fail(kindstest.IsGone)
	fails("status 410", "holon bridge show hook", "hook")
	receiver.Fail(kindstest.LimitsBySeconds)
	fails("status 429", "Try again later", "hook")
}

func TestATopicOfAnotherServerIsShownWithIt(t *testing.T) {
	s := startServer(t)
	contains(t, s.want("bridge", "add", "ntfy", "mine", "--server=https://ntfy.example.org"), "on this server (Use another server):\n       https://ntfy.example.org\n")
}
