package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/sanitize"
)

// startMailbox starts a server with the mailbox "me".
func startMailbox(t *testing.T) *server {
	t.Helper()
	s := startServer(t)
	s.want("call", "thread/start", `{"thread_id":"me","agent":"mailbox"}`)
	return s
}

// contains fails unless a text has all parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}

func TestWrongInboxCommandLines(t *testing.T) {
	nowhere := "--url=http://127.0.0.1:1"
	for _, tc := range []struct {
		args []string
		err  string
	}{
		{[]string{"inbox", "a", "b"}, "Try: holon inbox --help"},
		{[]string{"inbox", "--limit=-1"}, "--limit"},
		{[]string{"inbox", "me", "--threads"}, "leave out me"},
		{[]string{"inbox", "-o", "xml"}, "text, json, jsonl, toon"},
		{[]string{"inbox", "show"}, "Try: holon inbox show"},
		{[]string{"inbox", "show", "42"}, "such as ent_42"},
		{[]string{"inbox", "show", "ent_042"}, "such as ent_42"},
		{[]string{"inbox", "show", "ent_1", "--limit=-1"}, "--limit"},
		{[]string{"inbox", "ack"}, "which entries?"},
		{[]string{"inbox", "ack", "dig_1"}, "such as ent_42"},
		{[]string{"inbox", "ack", "raw_1", "ent_2"}, "either entries or items"},
		{[]string{"inbox", "ack", "raw_1", "--through", "ent_2"}, "no further entries"},
		{[]string{"inbox", "items", "a", "b"}, "Try: holon inbox items --help"},
		{[]string{"inbox", "items", "--limit=-1"}, "--limit"},
		{[]string{"inbox", "ack", "--through", "x"}, "such as ent_42"},
		{[]string{"inbox", "ack", "ent_1", "--through", "ent_2"}, "no further entries"},
		{[]string{"inbox", "ack", "--all", "--through", "ent_2"}, "either --all or"},
		{[]string{"inbox", "ack", "--all", "a", "b"}, "one THREAD"},
		{[]string{"inbox", "send", "me"}, "Try: holon inbox send"},
		{[]string{"inbox", "send", "me", " "}, "there is no text"},
		{[]string{"inbox", "watch", "--after=x"}, "give a seq"},
		{[]string{"inbox", "watch", "--limit=-1"}, "--limit"},
		{[]string{"inbox", "watch", "-o", "toon"}, "text, json, jsonl"},
		{[]string{"inbox", "policy", "me", "--window=soon"}, "--window: give a duration"},
		{[]string{"inbox", "policy", "me", "--reset=colour"}, "max-delay"},
		{[]string{"inbox", "policy", "me", "--reset=window", "--window=1s"}, "both set and reset"},
		{[]string{"inbox", "subscribe", "me"}, "Try: holon inbox subscribe"},
		{[]string{"remind", "me", "in 20m"}, "Try: holon remind"},
		{[]string{"remind", "me", "in", "20m", "look"}, `"in 20m"`},
		{[]string{"remind", "me", "cron 99 * * * *", "look"}, "minute"},
		{[]string{"ingest", "me"}, "--source NAME"},
		{[]string{"ingest", "me", "--source=a b"}, "a-z A-Z"},
		{[]string{"ingest", "me", "--source=a", "--wait=-1s"}, "--wait"},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			r := holon(t, freshDir(t), "", append(tc.args, nowhere)...)
			if r.code != exitUsage || !strings.Contains(r.err, tc.err) || r.out != "" {
				t.Errorf("%+v, want exit %d and %q", r, exitUsage, tc.err)
			}
		})
	}
}

func TestInboxWithoutAThreadIsThatOfMeOrAnOverview(t *testing.T) {
	s := startServer(t)
	r := s.holon("inbox")
	contains(t, r.err, "Nothing waits", `holon call thread/start '{"thread_id":"me","agent":"mailbox"}'`)
	for _, args := range [][]string{{"inbox", "me"}, {"inbox", "send", "me", "x"}, {"inbox", "policy", "me"}, {"remind", "me", "in 1h", "x"}, {"inbox", "watch", "me"}, {"inbox", "flush", "me"}} {
		r := s.holon(args...)
		if r.code != exitFailed || !strings.Contains(r.err, `"thread_id":"me","agent":"mailbox"`) {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if r := s.holon("inbox", "ack", "--all"); r.code != exitUsage || !strings.Contains(r.err, "which THREAD?") {
		t.Errorf("all of nothing: %+v", r)
	}
	s.want("run", "--thread=work", "hello")
	s.want("inbox", "send", "work", "one")
	contains(t, s.want("inbox"), "work", "echo")
	s.want("call", "thread/start", `{"thread_id":"me","agent":"mailbox"}`)
	contains(t, s.holon("inbox").err, "Nothing waits in the inbox of me", "holon inbox send me")
	contains(t, s.want("inbox", "--threads"), "work")
	if object := oneObject(t, s.want("inbox", "--threads", "-o", "json")); len(object["threads"].([]any)) != 1 {
		t.Errorf("threads with something: %v", object)
	}
	if r := s.holon("run", "--thread=me", "x"); r.code != exitFailed || !strings.Contains(r.err, "holon inbox send THREAD") {
		t.Errorf("a turn of a mailbox: %+v", r)
	}
}

func TestEntriesAreReadShownAndAcknowledged(t *testing.T) {
	s := startMailbox(t)
	first := strings.TrimSpace(s.want("inbox", "send", "me", "--sender=Ada", "two words"))
	if r := holon(t, s.data, "from stdin\nsecond line\n", "inbox", "send", "me", "-"); r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	list := s.want("inbox")
	contains(t, list, "ENTRY", first, "two words", "from stdin second line")
	shown := s.want("inbox", "show", first)
	contains(t, shown, "thread   me", "source   message", "from Ada", "    two words")
	if named := s.want("inbox", "show", first, "--thread=me"); named != shown {
		t.Errorf("with --thread:\n%s", named)
	}
	contains(t, s.holon("inbox", "show", "ent_2").err, "there is no entry ent_2")
	contains(t, s.holon("inbox", "show", "ent_99999").err, "there is no entry ent_99999")
	if r := s.holon("inbox", "show", "ent_99999", "--thread=me"); r.code != exitFailed || !strings.Contains(r.err, "entry_not_found") {
		t.Errorf("unknown entry: %+v", r)
	}
	if r := s.holon("inbox", "ack", first, "ent_99999"); r.code != exitFailed || !strings.Contains(r.err, "nothing is acknowledged") {
		t.Errorf("one unknown entry: %+v", r)
	}
	contains(t, s.want("inbox", "ack", first), "Acknowledged 1 entry with 1 item.")
	contains(t, s.want("inbox", "ack", first), "Nothing has changed")
	if list := s.want("inbox"); strings.Contains(list, first+" ") {
		t.Errorf("acknowledged, but listed:\n%s", list)
	}
	contains(t, s.want("inbox", "--acked"), "STATE", "acknowledged", first)
	contains(t, s.want("inbox", "show", first), "state    acknowledged")
	all := s.want("inbox", "ack", "--all")
	contains(t, all, "from stdin second line", "Acknowledged 1 entry with 1 item.")
	third := strings.TrimSpace(s.want("inbox", "send", "me", "three"))
	fourth := strings.TrimSpace(s.want("inbox", "send", "me", "four"))
	contains(t, s.want("inbox", "-n", "1"), fourth)
	contains(t, s.holon("inbox", "-n", "1").err, "newest 1")
	contains(t, s.want("inbox", "ack", "--through", third), "1 entry")
	contains(t, s.want("inbox"), fourth)
}

func TestDigestsWaitUntilTheyArePosted(t *testing.T) {
	s := startMailbox(t)
	grouped := func(id string) string {
		return fmt.Sprintf(`{"native_id":%q,"summary":"Comment %s","payload":{"file":"a.go","lines":[1,2]},"grouping":{"resource_ref":"pr:1","event_family":"review_comments"}}`+"\n", id, id)
	}
	holon(t, s.data, grouped("c1")+grouped("c2"), "ingest", "me", "--source=ci")
	contains(t, s.holon("inbox").err, "2 items wait in digests", "holon inbox flush me")
	contains(t, s.want("inbox", "--threads"), "me      0        2")
	contains(t, s.want("inbox", "flush", "me"), "Posted ent_")
	contains(t, s.want("inbox", "flush", "me"), "Nothing waits in a digest.")
	entry := strings.Fields(strings.Split(s.want("inbox"), "\n")[1])[0]
	contains(t, s.want("inbox", "show", entry), "about    pr:1 (review_comments)", "items    2", "  Comment c1", "    file: a.go", "    lines[2]: 1,2")
	contains(t, s.holon("inbox", "show", entry, "-n", "1").err, "first 1 items")
	holon(t, s.data, grouped("c3"), "ingest", "me", "--source=ci")
	s.want("inbox", "flush", "me")
	contains(t, s.want("inbox", "ack", entry), "What has arrived since is in ent_")
	contains(t, s.want("inbox", "--superseded", "--acked"), "acknowledged")
	if r := s.holon("inbox", "flush", "me", "--digest=dig_1"); r.code != exitFailed || !strings.Contains(r.err, "entry_not_found") {
		t.Errorf("unknown digest: %+v", r)
	}
}

func TestItemsAreListedAndAcknowledgedOneByOne(t *testing.T) {
	s := startServer(t)
	if r := s.holon("inbox", "items"); r.code != exitUsage || !strings.Contains(r.err, "which THREAD?") {
		t.Errorf("without an inbox: %+v", r)
	}
	s.want("call", "thread/start", `{"thread_id":"me","agent":"mailbox"}`)
	contains(t, s.holon("inbox", "items").err, "The inbox of me is empty.", "holon inbox send me")
	contains(t, s.holon("inbox", "items", "me", "--state=pending").err, "Nothing waits in digests", "holon inbox me")
	contains(t, s.holon("inbox", "items", "me", "--source=ci").err, "no such items", "holon inbox items me")
	var lines string
	for _, id := range []string{"1", "2", "3"} {
		lines += fmt.Sprintf(`{"native_id":%q,"summary":"Check %s","about":%q,"outcome":"success","grouping":{"resource_ref":"pr:1","event_family":"ci_updates"}}`+"\n", id, id, id)
	}
	holon(t, s.data, lines, "ingest", "me", "--source=ci")
	s.want("inbox", "send", "me", "hello")
	rows := func(args ...string) (list [][]string) {
		t.Helper()
		for line := range strings.Lines(s.want(append([]string{"inbox", "items"}, args...)...)) {
			list = append(list, strings.Fields(line))
		}
		return list
	}
	all := rows()
	if len(all) != 5 || strings.Join(all[0], " ") != "RAW_ID AGE SOURCE STATE OUTCOME DIGEST SUMMARY" || all[1][3] != "pending" || all[1][4] != "success" || all[4][3] != "posted" {
		t.Fatalf("items %v", all)
	}
	first, last := all[1][0], all[3][0]
	if r := s.holon("inbox", "ack", first); r.code != exitFailed || !strings.Contains(r.err, "nothing is acknowledged") || !strings.Contains(r.err, "holon inbox flush me") {
		t.Errorf("what is pending: %+v", r)
	}
	s.want("inbox", "flush")
	contains(t, s.want("inbox", "ack", first, last, first), "Acknowledged 2 items. The other items are in ent_")
	contains(t, s.want("inbox", "ack", first), "Nothing has changed")
	contains(t, s.want("inbox"), "1 ci update on pr:1")
	if list := rows("--digest", all[1][5], "--state=acked"); len(list) != 3 || list[1][0] != first || list[2][0] != last {
		t.Errorf("acknowledged are %v", list)
	}
	contains(t, s.holon("inbox", "items", "-n", "1").err, "newest 1")
	if object := oneObject(t, s.want("inbox", "items", "--state=posted", "-o", "json")); len(object["items"].([]any)) != 2 {
		t.Errorf("posted: %v", object)
	}
	for _, c := range []struct {
		args []string
		err  string
	}{
		{[]string{"items", "--digest=dig_99"}, "digest_not_found"}, {[]string{"ack", "raw_999"}, "there is no item raw_999"},
		{[]string{"ack", first, "raw_999", "--thread=me"}, "raw_ids[1]"}, {[]string{"items", "--state=open"}, "is not one of pending, posted, acked"},
	} {
		if r := s.holon(append([]string{"inbox"}, c.args...)...); r.code == exitOK || !strings.Contains(r.err, c.err) {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
}

// A person sees where a value comes from, and with that where to change it.
func TestPolicySaysWhereEachMemberComesFrom(t *testing.T) {
	s := &server{t: t, data: t.TempDir()}
	window, age := int64(10_000), int64(60_000)
	s.change = func(c *config.Config) {
		c.Inbox = inbox.Policy{WindowMs: &window, MaxDigestAgeMs: &age, Wake: inbox.WakeIdle}
		c.Agents["echo"] = config.Agent{Kind: config.KindEcho, Retry: config.RetryPolicy{OnCrash: "interrupt", MaxAttempts: 3, Backoff: time.Second, BackoffMax: time.Minute}, Inbox: inbox.Policy{MaxDigestAgeMs: &window}}
		c.Agents["mailbox"] = config.Agent{Kind: "mailbox", Inbox: inbox.Policy{Ack: inbox.AckExplicit}}
	}
	s.start()
	t.Cleanup(s.stop)
	s.want("call", "thread/start", `{"thread_id":"e"}`)
	s.want("call", "thread/start", `{"thread_id":"me","agent":"mailbox"}`)
	contains(t, s.want("inbox", "policy", "e"), "window         10s       [inbox] ", "max-age        10s       [agents.echo.inbox] ", "max-items      20        default ", "wake           none      default ")
	contains(t, s.want("inbox", "policy", "e", "--window=3s"), "window         3s        thread ")
	contains(t, s.want("inbox", "policy", "e", "--reset=window"), "window         10s       [inbox] ")
	contains(t, s.want("inbox", "policy", "me"), "ack            explicit  [agents.mailbox.inbox] ", "wake           none      default ")
	contains(t, s.want("inbox", "policy", "e", "-o", "json"), `"policy_set"`, `"server"`)
}

func TestPolicyIsShownAndSet(t *testing.T) {
	s := startMailbox(t)
	contains(t, s.want("inbox", "policy", "me"), "window         30s ", "max-delay      2m ", "max-age        24h ", "wake           none", "wake-when      settled", "wake-max-wait  30m ", "wake-window    1s ", "told-lease     0s ", "the agent is told once")
	contains(t, s.want("inbox", "policy", "me", "--wake-when=each", "--wake-max-wait=0s"), "wake-when      each", "counts with settled only")
	contains(t, s.want("inbox", "policy", "me", "--wake-window=0", "--told-lease=5m"), "wake-window    0s ", "starts at once", "told-lease     5m ", "told again")
	contains(t, s.want("inbox", "policy", "me", "--reset=wake-when"), "wake-when      settled", "wake-max-wait  0s ", "without a bound")
	contains(t, s.want("inbox", "policy", "me", "--window=10s", "--wake=none", "--enabled=false", "--ack=explicit"), "window         10s", "wake           none", "enabled        false", "ack            explicit")
	object := oneObject(t, s.want("inbox", "policy", "me", "--reset=window,enabled", "--max-items=5", "--max-delay=1m", "--max-age=48h", "-o", "json"))
	policy := object["policy"].(map[string]any)
	if policy["window_ms"] != 30000.0 || policy["enabled"] != true || policy["max_items"] != 5.0 || policy["max_delay_ms"] != 60000.0 || policy["wake"] != "none" || policy["max_digest_age_ms"] != 172800000.0 {
		t.Errorf("policy: %v", policy)
	}
	if r := s.holon("inbox", "policy", "me", "--window=1ms"); r.code != exitFailed || !strings.Contains(r.err, "policy.window_ms") {
		t.Errorf("a window too short: %+v", r)
	}
	if r := s.holon("inbox", "policy", "me", "--wake=idle"); r.code != exitFailed || !strings.Contains(r.err, "a mailbox runs no turns") {
		t.Errorf("a mailbox that is to be woken: %+v", r)
	}
}

func TestSubscriptionsAreMadeListedAndEnded(t *testing.T) {
	s := startMailbox(t)
	contains(t, s.holon("inbox", "subscriptions", "me").err, "holon inbox subscribe me events")
	if out := s.want("inbox", "subscribe", "me", "events", "--id=ends", "--method=final", "--thread-id=work"); out != "ends\n" {
		t.Errorf("subscribed: %q", out)
	}
	contains(t, s.want("inbox", "subscribe", "me", "events", "--id=ends", "--method=final", "--thread-id=work"), "it existed")
	contains(t, s.want("inbox", "subscriptions", "me"), "ends", "final of work")
	s.want("run", "--thread=work", "done")
	eventually(t, "the end of the turn arrives", func() bool { return strings.Contains(s.want("inbox", "me"), "done") })
	if out := s.want("inbox", "unsubscribe", "me", "ends"); out != "ends: ended\n" {
		t.Errorf("unsubscribed: %q", out)
	}
	if r := s.holon("inbox", "unsubscribe", "me", "ends"); r.code != exitFailed || !strings.Contains(r.err, "holon inbox subscriptions THREAD") {
		t.Errorf("ended twice: %+v", r)
	}
}

func TestInboxWatchShowsWhatHappensToEntries(t *testing.T) {
	s := startMailbox(t)
	s.want("inbox", "send", "me", "the build is red")
	s.want("inbox", "ack", "--all")
	out := s.want("inbox", "watch", "--after=0", "--limit=2")
	contains(t, out, "ent_3 from message, 1 item: the build is red\n", "ent_3 acknowledged, 1 item\n")
	if strings.Count(out, "\n") != 2 {
		t.Errorf("not two lines:\n%s", out)
	}
	var want strings.Builder
	for _, event := range s.events() {
		if strings.HasPrefix(event.Method, "inbox/") {
			fmt.Fprintf(&want, "%s\n", event.Line)
		}
	}
	if out := s.want("inbox", "watch", "me", "--after=0", "--limit=3", "-o", "jsonl"); out != want.String() {
		t.Errorf("not the events as received:\n%s", out)
	}
	if object := oneObject(t, s.want("inbox", "watch", "me", "--after=0", "--limit=3", "-o", "json")); len(object["events"].([]any)) != 3 {
		t.Errorf("events: %v", object)
	}
	// An agent that is told, and a live watch across a restart of the server.
	s.want("run", "--thread=work", "hello")
	s.want("inbox", "policy", "work", "--wake=idle", "--wake-window=0")
	ctx, cancel := context.WithCancel(t.Context())
	var seen, errs buffer
	g := &globals{console: console{in: strings.NewReader(""), out: &seen, err: &errs, environ: []string{"HOLON_DATA=" + s.data, "XDG_CONFIG_HOME=" + t.TempDir()}}}
	code := make(chan int, 1)
	go func() { code <- execute(ctx, g, []string{"inbox", "watch", "work", "--after=0"}) }()
	s.want("inbox", "send", "work", "look")
	eventually(t, "it is told and acknowledged", func() bool {
		return strings.Contains(seen.String(), "told in turn ") && strings.Contains(seen.String(), "acknowledged at the end of turn ")
	})
	if strings.Contains(seen.String(), "turn_") {
		t.Errorf("whole ids:\n%s", seen.String())
	}
	s.stop()
	s.start()
	s.want("inbox", "send", "work", "after the restart")
	eventually(t, "it reconnects", func() bool { return strings.Contains(seen.String(), "after the restart") })
	contains(t, s.want("inbox", "wake", "work"), "\n")
	cancel()
	if got := <-code; got != exitOK {
		t.Errorf("exit %d: %s", got, errs.String())
	}
	contains(t, errs.String(), "continue with: holon inbox watch work --after")
}

func TestEveryFormatOfInboxCommands(t *testing.T) {
	s := startMailbox(t)
	s.want("inbox", "send", "me", "日本語 <b> & text")
	s.want("remind", "me", "in 1h", "x", "--id=t")
	s.want("inbox", "subscribe", "me", "events", "--id=s")
	for _, tc := range []struct {
		args []string
		toon string // the beginning of a line
		rows int    // lines of jsonl
	}{
		{[]string{"inbox"}, "entries[1]", 1},
		{[]string{"inbox", "--threads"}, "threads[1]", 1},
		{[]string{"inbox", "show", "ent_3"}, "items[1]", 1},
		{[]string{"inbox", "policy", "me"}, "thread_id: me", 1},
		{[]string{"inbox", "policy", "me", "--window=5s"}, "policy:", 1},
		{[]string{"inbox", "subscriptions", "me"}, "subscriptions[1]{", 1},
		{[]string{"inbox", "subscribe", "me", "events", "--id=s"}, "subscription:", 1},
		{[]string{"remind", "list", "me"}, "timers[1]", 1},
		{[]string{"remind", "me", "every 2h", "y"}, "timer:", 1},
		{[]string{"inbox", "send", "me", "more"}, "duplicate: false", 1},
		{[]string{"inbox", "flush", "me"}, "entry_ids", 1},
		{[]string{"inbox", "wake", "me"}, "entry_ids", 1},
		{[]string{"inbox", "ack", "ent_3"}, "acked_entries: ", 1},
		{[]string{"inbox", "ack", "--all"}, "acked_entries: 0", 1},
		{[]string{"inbox"}, "entries", 0},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			oneObject(t, s.want(append(slices.Clone(tc.args), "-o", "json")...))
			lines := s.want(append(slices.Clone(tc.args), "-o", "jsonl")...)
			if n := strings.Count(lines, "\n"); n != tc.rows {
				t.Errorf("%d lines of jsonl, want %d:\n%s", n, tc.rows, lines)
			}
			for line := range strings.Lines(lines) {
				oneObject(t, line)
			}
			if out := s.want(append(slices.Clone(tc.args), "-o", "toon")...); !strings.HasPrefix(out, tc.toon) && !strings.Contains(out, "\n"+tc.toon) {
				t.Errorf("no line begins with %q in:\n%s", tc.toon, out)
			}
		})
	}
	if out := s.want("inbox", "show", "ent_3", "-o", "jsonl"); !strings.Contains(out, "日本語 <b> & text") {
		t.Errorf("the text has changed: %s", out)
	}
}

// What others write has no effect on a terminal, in any format.
func TestHostileEntriesAreHarmless(t *testing.T) {
	s := startMailbox(t)
	hostile := "\x1b]0;title\x07\x1b[2Jred\u202e \x9b31m\r日本語 wide text that is much longer than a terminal of sixty columns"
	raw, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	s.want("call", "inbox/send", fmt.Sprintf(`{"thread_id":"me","text":%s}`, raw))
	holon(t, s.data, `{"native_id":"n","payload":{"text\u001b[2J":"\u001b[2J\u202e\u009b"},"summary":"s"}`+"\n", "ingest", "me", "--source=ci")
	s.want("remind", "me", "in 1h", "harmless", "--id=t")
	for _, args := range [][]string{{"inbox"}, {"inbox", "show", "ent_3"}, {"inbox", "show", "ent_5"}, {"inbox", "watch", "--after=0", "--limit=2"}} {
		out := s.want(args...)
		if i := strings.IndexFunc(out, sanitize.Acts); i >= 0 {
			t.Errorf("%v: a character that acts on a terminal at %d: %q", args, i, out)
		}
		contains(t, out, "ent_")
	}
	for _, format := range []string{"text", "json", "jsonl", "toon"} {
		p := s.openTerminal("inbox", "show", "ent_5", "-o", format)
		if code := <-p.codes; code != exitOK {
			t.Errorf("%s: exit %d", format, code)
		}
		p.await("raw_4")
		if i := strings.IndexFunc(strings.ReplaceAll(p.seen.String(), "\r\n", "\n"), sanitize.Acts); i >= 0 {
			t.Errorf("%s: acts on the terminal at %d: %q", format, i, p.end())
		}
	}
	p := s.openTerminal("inbox")
	if code := <-p.codes; code != exitOK {
		t.Errorf("exit %d", code)
	}
	p.await("ent_5")
	for line := range strings.SplitSeq(p.seen.String(), "\r\n") {
		if timeline.Width(line) > 60 {
			t.Errorf("%d columns: %q", timeline.Width(line), line)
		}
	}
}

func TestPrunedEntryNeedsItsThread(t *testing.T) {
	s := startMailbox(t)
	s.want("inbox", "send", "me", "hello")
	s.want("inbox", "ack", "--all")
	s.want("run", "something else")
	s.want("prune", "--before=6")
	if r := s.holon("inbox", "show", "ent_3"); r.code != exitFailed || !strings.Contains(r.err, "--thread THREAD") {
		t.Errorf("pruned: %+v", r)
	}
}

func TestAgesHaveOneUnit(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 28 * time.Second: "28s", 90 * time.Second: "1m", 61 * time.Minute: "1h", 47 * time.Hour: "47h", 49 * time.Hour: "2d",
	} {
		if got := age(time.Now().Add(-d - time.Millisecond)); got != want {
			t.Errorf("%s ago is %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{30 * time.Second: "30s", 2 * time.Minute: "2m", 24 * time.Hour: "24h", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s", 1500 * time.Millisecond: "1.5s"} {
		if got := shortDuration(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

func TestGroupOfAnEntryInWords(t *testing.T) {
	for want, e := range map[string]inbox.Entry{
		"pr:1 (reviews)":                    {ResourceRef: "pr:1", EventFamily: "reviews"},
		"events of the kind issues.labeled": {EventFamily: "issues.labeled", Fallback: true},
		"":                                  {},
	} {
		if got := groupOf(e); got != want {
			t.Errorf("%+v is about %q, want %q", e, got, want)
		}
	}
}
