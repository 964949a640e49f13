package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/test/kindstest"
)

// phone is a bridge of the configuration to a ntfy server on loopback.

// startNotifying starts a server with a phone named ntfy and a receiver of webhooks.

func TestThePhoneOfTheConfigurationIsUsed(t *testing.T) {
	s, ntfy, _ := startNotifying(t)
	line := []string{"notify", "--all", "--bridge", "ntfy", "--on", "final,questions"}
	if out := s.want(line...); out != "ntfy-all: sends final, questions of all threads through ntfy\n" {
		t.Errorf("the first time:\n%s", out)
	}
	if out := s.want(line...); out != "ntfy-all: sends final, questions of all threads through ntfy (it existed)\n" {
		t.Errorf("again:\n%s", out)
	}
	s.want("run", "--thread=a", "/say done")
	eventually(t, "the end of the turn arrives", func() bool { return len(ntfy.Notifications()) == 1 })
	if seen := ntfy.Notifications()[0]; seen.Topic != "the-topic-of-the-phone" || !strings.Contains(seen.Title, "Completed") {
		t.Errorf("the phone shows %+v", seen)
	}
	shown := s.want("notify", "show", "ntfy-all")
	contains(t, shown, "sends      final, questions\n", "of         all threads\n", "through    ntfy\n", "state      active\n", "notif:ntfy-all:")
	if out := s.want("bridge", "test", "ntfy"); !strings.HasPrefix(out, "Delivered after ") {
		t.Errorf("test:\n%s", out)
	}
	if n := len(ntfy.Published()); n != 2 {
		t.Errorf("%d messages, want the end and the test", n)
	}
}

// topicForm is a topic that this command makes: 26 characters of 5 random bits.

var topicForm = regexp.MustCompile(`holon-[a-z2-7]{26}`)

func TestTheFirstUseMakesABridgeAndShowsItsTopicOnce(t *testing.T) {
	s := startServer(t)
	r := s.holon("notify", "nowhere", "--bridge", "ntfy")
	if r.code != exitFailed || !strings.Contains(r.err, "thread_not_found") || s.holon("bridge", "show", "ntfy").code == exitOK {
		t.Fatalf("a bridge was made for a thread that does not exist: %+v", r)
	}
	out := s.want("notify", "--all", "--bridge", "ntfy", "--on", "final,questions")
	topic := topicForm.FindString(out)
	contains(t, out, `"ntfy"`, topic+"\n", "https://ntfy.sh/"+topic+"\n", "holon bridge test ntfy\n", "this\nonce", "ntfy-all: sends final, questions of all threads")
	for _, line := range strings.Split(out, "\n") {
		if len(line) > 80 {
			t.Errorf("more than 80 columns: %q", line)
		}
	}
	if topic == "" {
		t.Fatal("no topic")
	}
	for _, args := range [][]string{
		{"notify", "--all", "--bridge", "ntfy"}, {"bridge", "show", "ntfy"}, {"bridge", "list", "-o=json"}, {"notify", "show", "ntfy-all", "-o=json"}, {"export"},
	} {
		if out := s.want(args...); strings.Contains(out, topic) {
			t.Errorf("%v shows the topic:\n%s", args, out)
		}
	}
	rotated := topicForm.FindString(s.want("bridge", "rotate", "ntfy"))
	if rotated == "" || rotated == topic {
		t.Errorf("rotated to %q", rotated)
	}
	s.want("bridge", "rm", "ntfy", "--cascade")
	object := oneObject(t, s.want("notify", "--all", "--bridge", "ntfy", "-o=json"))
	made, _ := object["made_bridge"].(map[string]any)
	if made == nil || !topicForm.MatchString(made["topic"].(string)) || made["link"] != "https://ntfy.sh/"+made["topic"].(string) {
		t.Errorf("json: %v", object)
	}
	s.want("notify", "rm", "ntfy-all-2")
	s.want("bridge", "rm", "ntfy")
	if r := s.holon("notify", "--all", "--bridge", "ntfy", "--from", "99999", "-o=json"); r.code != exitFailed || !topicForm.MatchString(r.err) {
		t.Errorf("a failure after the bridge was made loses its topic: %+v", r)
	}
}

func TestWhatIsMistakenForNewsIsSaid(t *testing.T) {
	s, _, _ := startNotifying(t)
	r := s.holon("notify", "--all", "--bridge=hook", "--method=thread/closed,thread/clsed")
	if r.code != exitOK || !strings.Contains(r.err, "no event thread/clsed:") || strings.Contains(r.err, "no event thread/closed") {
		t.Errorf("a name that no event has: %+v", r)
	}
	if r := s.holon("notify", "me", "--bridge=ntfy", "--on=inbox"); r.code != exitFailed || !strings.Contains(r.err, `holon call thread/start '{"thread_id":"me","agent":"mailbox"}'`) {
		t.Errorf("an inbox that nobody has started: %+v", r)
	}
}

func TestASubscriptionIsMadeOnceAndChanged(t *testing.T) {
	s, _, receiver := startNotifying(t)
	s.want("call", "thread/start", `{"thread_id":"main"}`)
	line := []string{"notify", "main", "--bridge=hook"}
	contains(t, s.want(line...), "hook-main: sends final of main through hook\n")
	contains(t, s.want(append(line, "--on=progress")...), "hook-main: sends progress of main through hook (changed)\n")
	contains(t, s.want(append(line, "--on=questions", "--method=thread/closed", "--text")...), "hook-main: sends questions, thread/closed with text of main through hook (changed)\n")
	contains(t, s.want(append(line, "--on=questions", "--method=thread/closed")...), "(it existed)")
	contains(t, s.want(append(line, "--order=strict", "--text=false")...), "hook-main: sends questions, thread/closed of main through hook (changed)\n")
	contains(t, s.want("notify", "show", "hook-main"), "order      strict: what fails delays all\n")
	s.want("call", "thread/close", `{"thread_id":"main"}`)
	eventually(t, "what was chosen by name arrives", func() bool { return strings.Contains(strings.Join(receiver.Shown(), ""), `"method":"thread/closed"`) })
	s.want("notify", "rm", "hook-main")
	contains(t, s.want(line...), "hook-main-2: sends final of main through hook\n") // the other one would continue
	contains(t, s.want(append(line, "--id=hook-main")...), "hook-main: sends final")
	if r := s.holon("notify", "--all", "--bridge=hook", "--id=hook-main"); r.code != exitFailed || !strings.Contains(r.err, "holon notify move hook-main") {
		t.Errorf("a moved one: %+v", r)
	}
}

// TestASubscriptionIsMoved with what was not sent; nothing of before is sent twice.
func TestASubscriptionIsMoved(t *testing.T) {
	s, ntfy, receiver := startNotifying(t)
	s.want("notify", "--all", "--bridge=hook")
	s.want("run", "--thread=a", "/say one")
	eventually(t, "the first end arrives", func() bool { return len(receiver.IDs()) == 1 })
	receiver.Fail(kindstest.Breaks)
	s.want("run", "--thread=a", "/say two")
	eventually(t, "an attempt has failed", func() bool {
		return strings.Contains(s.want("notify", "show", "hook-all"), "waits      1 message, next attempt ")
	})
	contains(t, s.want("notify", "move", "hook-all", "--bridge=ntfy"), "hook-all: sends through ntfy, first 1 message that was not sent yet\n")
	eventually(t, "what was not sent arrives at the other target", func() bool { return len(ntfy.Published()) == 1 })
	contains(t, s.want("notify", "move", "hook-all", "--target=another-topic"), "hook-all: sends through ntfy to another-topic\n")
	s.want("run", "--thread=a", "/say three")
	eventually(t, "the next one arrives there", func() bool { return len(ntfy.Published()) == 2 })
	if seen := ntfy.Notifications()[1]; seen.Topic != "another-topic" {
		t.Errorf("it was sent to %+v", seen)
	}
	contains(t, s.want("notify", "list"), "hook-all", "ntfy to another-topic")
	if n := len(receiver.IDs()); n != 1 {
		t.Errorf("the old target has %d", n)
	}
	if r := s.holon("notify", "move", "nothing", "--bridge=ntfy"); r.code != exitFailed || !strings.Contains(r.err, "holon notify list") {
		t.Errorf("no such subscription: %+v", r)
	}
	if r := s.holon("notify", "move", "hook-all", "--bridge=nothing"); r.code != exitFailed || !strings.Contains(r.err, "bridge_not_found") {
		t.Errorf("no such bridge: %+v", r)
	}
}

// TestTheNewsOfOneTurn ends with it.
func TestTheNewsOfOneTurn(t *testing.T) {
	s, ntfy, _ := startNotifying(t)
	s.want("run", "--thread=a", "/say hello")
	turn := oneObject(t, s.want("call", "turn/start", `{"thread_id":"a","input":`+promptJSON("/sleep 60000")+`}`))["turn_id"].(string)
	out := s.want("notify", turn, "--bridge=ntfy")
	contains(t, out, ": sends final of "+turn+" through ntfy\n")
	id, _, _ := strings.Cut(out, ":")
	contains(t, s.want("notify", turn, "--bridge=ntfy"), id+": sends", "(it existed)")
	contains(t, s.want("notify", turn[len(turn)-8:], "--bridge=ntfy"), id+": sends final of "+turn, "(it existed)")
	contains(t, s.want("notify", "list"), id, turn[len(turn)-8:])
	s.want("interrupt", turn)
	eventually(t, "its end arrives", func() bool { return len(ntfy.Published()) == 1 })
	eventually(t, "the subscription has ended", func() bool {
		return strings.Contains(s.want("notify", "show", id), "state      ended: its turn is over\n")
	})
	contains(t, s.holon("notify", "show", id).err, "holon retry "+turn)
	if out := s.want("notify", "list"); strings.Contains(out, id) {
		t.Errorf("it is listed:\n%s", out)
	}
	contains(t, s.want("notify", "list", "--ended"), id, "ended")
	if r := s.holon("notify", turn, "--bridge=ntfy", "--on=inbox"); r.code != exitUsage || !strings.Contains(r.err, "--on inbox: a turn has no inbox; name its THREAD instead") {
		t.Errorf("the inbox of a turn: %+v", r)
	}
	if r := s.holon("notify", "turn_none", "--bridge=ntfy"); r.code != exitFailed || !strings.Contains(r.err, "turn_not_found") {
		t.Errorf("no such turn: %+v", r)
	}
	s.want("notify", "rm", id)
	if r := s.holon("notify", turn[5:9], "--bridge=ntfy"); r.code != exitUsage || !strings.Contains(r.err, "can be 2 turns") { // both began within the same minutes
		t.Errorf("a name of two turns: %+v", r)
	}
	s.want("call", "thread/start", `{"thread_id":"`+turn[len(turn)-8:]+`"}`)
	contains(t, s.want("notify", turn[len(turn)-8:], "--bridge=ntfy"), "sends final of "+turn[len(turn)-8:]+" through ntfy\n") // a thread comes first
}

func TestNamesOfSubscriptionsFitAndDiffer(t *testing.T) {
	long := "thread_01a20610-23a7-75f0-921e-c2bcdca6595d"
	seen := map[string]string{}
	for _, tc := range [][3]string{
		{"ntfy", "", ""}, {"slack", "main", "#builds"}, {"github", "", "octo/hello#12"}, {"ntfy", long, ""}, {"ntfy", long + "e", ""},
		{"slack", long, "#a"}, {"slack", long, "#b"}, {strings.Repeat("b", 64), "", ""},
	} {
		name := subscriptionName(tc[0], tc[1], tc[2])
		if err := bridges.CheckID("subscription_id", name); err != nil || len(name) > maxName {
			t.Errorf("%v is named %q: %v", tc, name, err)
		}
		if other := seen[name]; other != "" {
			t.Errorf("%v is named as %s", tc, other)
		}
		seen[name] = strings.Join(tc[:], " ")
	}
	if name := subscriptionName("github", "", "octo/hello#12"); name != "github-all-octo-hello-12" {
		t.Errorf("a name is %q", name)
	}
}

func TestAHeldOrPausedSubscriptionSaysWhatToDo(t *testing.T) {
	s, _, receiver := startNotifying(t)
	s.want("notify", "--all", "--bridge=hook")
	contains(t, s.want("notify", "pause", "hook-all", "--reason=a holiday"), "hook-all: paused: a holiday\n")
	s.want("run", "--thread=a", "/say one")
	r := s.holon("notify", "show", "hook-all")
	contains(t, r.out, "state      paused: a holiday\n")
	contains(t, r.err, "holon notify resume hook-all")
	contains(t, s.want("notify", "skip", "hook-all", "--reason=old news"), "hook-all: what waited is given up; paused")
	contains(t, s.want("notify", "resume", "hook-all"), "hook-all: active\n")
	s.want("run", "--thread=a", "/say two")
	eventually(t, "only the second end arrives", func() bool { return len(receiver.IDs()) == 1 })
	var ended []string
	eventually(t, "its receipt is committed", func() bool {
		ended = notifiedSeq.FindStringSubmatch(s.want("deliveries", "--subscription=hook-all", "--state=delivered"))
		return ended != nil
	})
	if r := s.holon("notify", "skip", "hook-all", "--reason=x"); r.code != exitFailed || !strings.Contains(r.err, "holon notify reset") {
		t.Errorf("nothing is held: %+v", r)
	}
	if r := s.holon("notify", "skip", "hook-all", "--seq="+ended[1], "--reason=x"); r.code != exitFailed || !strings.Contains(r.err, "--seq names a mismatch") {
		t.Errorf("no mismatch: %+v", r)
	}
	contains(t, s.want("notify", "reset", "hook-all", "--to=0", "--reason=again"), "hook-all: goes on after 0\n")
	eventually(t, "both are sent, the second under its id", func() bool { return len(receiver.IDs()) == 2 && len(receiver.Requests()) == 3 })
	if r := s.holon("notify", "reset", "hook-all", "--to=99999", "--reason=x"); r.code != exitFailed || !strings.Contains(r.err, "does not have this seq yet") {
		t.Errorf("above the log: %+v", r)
	}
	contains(t, s.want("bridge", "pause", "hook"), "hook: paused\n")
	r = s.holon("notify", "show", "hook-all")
	contains(t, r.out, "active, but its bridge is paused")
	contains(t, r.err, "holon bridge resume hook")
	contains(t, s.want("bridge", "resume", "hook"), "hook: active\n")
	held := bridges.Subscription{SubscriptionID: "s", State: bridges.Held, Reason: bridges.ReasonBacklog}
	if state, advice := subscriptionState(held), subscriptionAdvice(held); !strings.Contains(state, "too many or too old") ||
		!strings.Contains(advice, "holon notify resume s\n") || !strings.Contains(advice, "holon notify skip s --reason") {
		t.Errorf("held: %s\n%s", state, advice)
	}
}

var notifiedSeq = regexp.MustCompile(`notif:hook-all:([0-9]+)`)

var (
	clock  = regexp.MustCompile(`[0-9]{2}:[0-9]{2}:[0-9]{2}`)
	number = regexp.MustCompile(`:[0-9]+\b`)
	ages   = regexp.MustCompile(`  [0-9]+s `)
)

// What is paused or disabled has no next attempt, although its deliveries have a time.
func TestNoAttemptIsAnnouncedWhereNothingIsSent(t *testing.T) {
	s, _, receiver := startNotifying(t)
	s.want("notify", "--all", "--bridge=hook")
	receiver.Fail(kindstest.Breaks)
	s.want("run", "--thread=a", "/say one")
	eventually(t, "an attempt has failed", func() bool {
		return strings.Contains(s.want("notify", "show", "hook-all"), "waits      1 message, next attempt ")
	})
	for _, pause := range [][]string{{"bridge", "pause", "hook"}, {"notify", "pause", "hook-all"}} {
		s.want(pause...)
		if out := s.want("notify", "show", "hook-all"); !strings.Contains(out, "paused") || !strings.Contains(out, "waits      1 message\n") {
			t.Errorf("after holon %s:\n%s", strings.Join(pause, " "), out)
		}
		s.want(pause[0], "resume", pause[2])
	}
}

// What a person sees of a server with something in each state.

func TestListsForPeople(t *testing.T) {
	s, ntfy, receiver := startNotifying(t)
	s.want("notify", "--all", "--bridge=ntfy", "--on=final,questions")
	s.want("notify", "--all", "--bridge=hook")
	receiver.Fail(kindstest.LimitsBySeconds)
	s.want("run", "--thread=a", "/say one")
	eventually(t, "one is delivered, one waits", func() bool { return len(ntfy.Published()) == 1 && len(receiver.Requests()) == 1 })
	eventually(t, "both are settled", func() bool {
		return strings.Contains(s.want("deliveries"), "waits for") && strings.Contains(s.want("deliveries"), "delivered")
	})
	got := s.want("bridge", "list") + "\n" + s.want("notify", "list") + "\n" + s.want("deliveries")
	got = regexp.MustCompile(` +AGE`).ReplaceAllString(got, "  AGE")
	got = ages.ReplaceAllString(number.ReplaceAllString(clock.ReplaceAllString(got, "TIME"), ":N"), "  0s ")
	got = regexp.MustCompile(`all  ntfy     \d+ +0`).ReplaceAllString(got, "all  ntfy     N    0")
	want := `BRIDGE  KIND     SECRET  FROM           STATE
hook    webhook  …HINT   configuration  active
ntfy    ntfy     …hone   configuration  active

SUBSCRIPTION  STATE   SENDS             OF   THROUGH  SEQ  WAIT  DEAD  ERROR
ntfy-all      active  final, questions  all  ntfy     N    0     0
hook-all      active  final             all  hook     0    1     0     status 429

DELIVERY  AGE  NEWS   TRIES  STATE      NEXT
notif:hook-all:N  0s   final  0      pending    waits for its turn
notif:ntfy-all:N  0s   final  1      delivered
`
	want = strings.Replace(want, "HINT", bridges.Secrets{Secret: sendSecret}.Hint(), 1)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	contains(t, s.want("bridge", "show", "hook"), "state     active, waits until ", ": the target asked for it\n")
}

func TestABridgeInUseIsDeletedWithWhatIsSentThroughIt(t *testing.T) {
	s := startServer(t)
	s.want("bridge", "add", "webhook", "--to=https://example.org/x")
	s.want("notify", "--all", "--bridge=webhook")
	if r := s.holon("bridge", "rm", "webhook"); r.code != exitFailed || !strings.Contains(r.err, "--cascade") {
		t.Errorf("in use: %+v", r)
	}
	s.want("bridge", "rm", "webhook", "--cascade")
	contains(t, s.want("notify", "list", "--deleted"), "webhook-all", "deleted")
	r := s.holon("notify", "show", "webhook-all")
	contains(t, r.err, "--id webhook-all")
}

func TestASubscriptionAboveTheLogSaysHowToBeginNow(t *testing.T) {
	s, _, _ := startNotifying(t)
	r := s.holon("notify", "--all", "--bridge=hook", "--from=99999")
	if r.code != exitFailed || !strings.Contains(r.err, "cursor_ahead") || !strings.Contains(r.err, "--from now") || strings.Contains(r.err, "--after") {
		t.Errorf("%+v", r)
	}
}

func TestWrongLinesAboutDelivery(t *testing.T) {
	nowhere := "--url=http://127.0.0.1:1"
	for _, tc := range []struct {
		args []string
		err  string
	}{
		{[]string{"notify"}, "THREAD or TURN? Give one, or --all"},
		{[]string{"notify", "a", "b"}, "give one THREAD"},
		{[]string{"notify", "a", "--all"}, "either THREAD or TURN, or --all"},
		{[]string{"notify", "move", "s"}, "Give --bridge NAME, --target TARGET, or both"},
		{[]string{"notify", "update", "s"}, "holon notify move SUBSCRIPTION"},
		{[]string{"notify", "--all"}, "--bridge NAME"},
		{[]string{"notify", "--all", "--bridge=b", "--on=ends"}, `"ends" is not one of`},
		{[]string{"notify", "--all", "--bridge=b", "--from=x"}, "--from x: give now"},
		{[]string{"notify", "reset", "s", "--reason=x"}, "--to SEQ"},
		{[]string{"notify", "reset", "s", "--to=1"}, "--reason TEXT"},
		{[]string{"notify", "skip", "s"}, "--reason TEXT"},
		{[]string{"notify", "skip", "s", "--reason=x", "--seq=0"}, "--seq 0"},
		{[]string{"notify", "list", "-o=xml"}, "text, json, jsonl, toon"},
		{[]string{"deliveries", "--dead", "--state=dead"}, "either --dead or --state"},
		{[]string{"deliveries", "--state=lost"}, `"lost" is not one of`},
		{[]string{"deliveries", "--limit=-1"}, "--limit"},
	} {
		r := holon(t, freshDir(t), "", append(tc.args, nowhere)...)
		if r.code != exitUsage || !strings.Contains(r.err, tc.err) {
			t.Errorf("%v: exit %d: %s", tc.args, r.code, r.err)
		}
	}
}
