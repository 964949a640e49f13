package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/inbox"
)

func TestInboxesHaveDefaultsForAllAndForEachAgent(t *testing.T) {
	l, err := load(t, `
[inbox]
wake_window_ms = 0
max_items = 50
[agents.a]
kind = "exec"
command = "x"
[agents.a.inbox]
wake = "idle"
fallback = false
[agents.mailbox.inbox]
window_ms = 120_000
[agents.echo.inbox]
ack = "explicit"
`, []string{"HOLON_INBOX_WINDOW_MS=5000"}, "--inbox-max-items=60")
	if err != nil || l.Validate() != nil {
		t.Fatal(err, l.Validate())
	}
	off, n := false, func(n int64) *int64 { return &n }
	if want := (inbox.Policy{WakeWindowMs: n(0), MaxItems: n(60), WindowMs: n(5000)}); !reflect.DeepEqual(l.Inbox, want) {
		t.Errorf("[inbox] is %v", l.Inbox.Members())
	}
	for name, want := range map[string]inbox.Policy{
		"a": {Wake: inbox.WakeIdle, Fallback: &off}, "mailbox": {WindowMs: n(120_000)}, "echo": {Ack: inbox.AckExplicit},
	} {
		if got := l.Agents[name].Inbox; !reflect.DeepEqual(got, want) {
			t.Errorf("[agents.%s.inbox] is %v", name, got.Members())
		}
	}
	rows := map[string]string{}
	for _, row := range l.Rows() {
		rows[row.Key] = Show(row.Value) + " " + row.Source.String()
	}
	for key, want := range map[string]string{
		"inbox.max_items": "60 --inbox-max-items", "inbox.window_ms": "5000 HOLON_INBOX_WINDOW_MS", "inbox.wake_window_ms": "0 " + l.File + ":3",
		"inbox.max_delay_ms": "120000 default", "inbox.enabled": "true default", "inbox.wake": " default",
		"agents.a.inbox.wake": "idle " + l.File + ":9", "agents.a.inbox.fallback": "false " + l.File + ":10",
		"agents.mailbox.inbox.window_ms": "120000 " + l.File + ":12",
	} {
		if rows[key] != want {
			t.Errorf("the row of %s is %q, want %q", key, rows[key], want)
		}
	}
	for key := range rows {
		if strings.HasPrefix(key, "agents.mailbox.") && key != "agents.mailbox.kind" && key != "agents.mailbox.inbox.window_ms" || key == "agents.a.inbox.window_ms" {
			t.Errorf("there is a row of %s, which nobody has given", key)
		}
	}
}

func TestWrongDefaultsOfInboxesNameTheirKeyAndLine(t *testing.T) {
	const agent = "[agents.a]\nkind = \"echo\"\n[agents.a.inbox]\n"
	for _, c := range []struct{ file, key, at, text string }{
		{"[inbox]\nwindow_ms = 99\n", "inbox.window_ms", ":2", "must be between 100 and 2678400000"},
		{"[inbox]\nwindow_ms = 0\n", "inbox.window_ms", ":2", "must be between 100"},
		{"[inbox]\nmax_items = 10001\n", "inbox.max_items", ":2", "must be between 1 and 10000"},
		{"[inbox]\nmax_items = -9223372036854775808\n", "inbox.max_items", ":2", "must be between 1 and 10000"},
		{"[inbox]\ntold_lease_ms = 59999\n", "inbox.told_lease_ms", ":2", "must be between 60000 and 2678400000, or 0 for never"},
		{"[inbox]\n\nwake = \"always\"\n", "inbox.wake", ":3", "always"},
		{"[inbox]\nack = \"turnend\"\n", "inbox.ack", ":2", "turn_end"},
		{"[inbox]\nwake_when = \"Each\"\n", "inbox.wake_when", ":2", "each"},
		{"[inbox]\nenabled = \"perhaps\"\n", "inbox.enabled", ":2", `give true or false, not "perhaps"`},
		{"[inbox]\nwindow_ms = 1.5\n", "inbox.window_ms", ":2", "give a whole number, not 1.5"},
		{"[inbox]\nwindow_ms = [1]\n", "inbox.window_ms", ":2", "give a whole number, not a list"},
		{"[inbox]\nwake = true\n", "inbox.wake", ":2", "give one text, not true"},
		{"[inbox]\nwindow = 5\n", "inbox.window", ":2", "unknown key"},
		{"inbox = 5\n", "inbox", ":1", "give a table: [inbox] and its keys below"},
		{agent + "window_ms = 99\n", "agents.a.inbox.window_ms", ":4", "must be between 100"},
		{agent + "windw_ms = 500\n", "agents.a.inbox.windw_ms", ":4", "unknown key; did you mean"},
		{agent + "wake = 1\n", "agents.a.inbox.wake", ":4", "give one text, not 1"},
		{"[agents.a]\nkind = \"echo\"\ninbox = \"idle\"\n", "agents.a.inbox", ":3", "give a table: [agents.a.inbox] and its keys below"},
		{"[agents.mailbox.inbox]\nwake = \"idle\"\n", "agents.mailbox.inbox.wake", ":2", "a mailbox runs no turns: nothing wakes it"},
		{"[agents.mailbox]\nkind = \"exec\"\ncommand = \"x\"\n", "agents.mailbox", ":1", "only [agents.mailbox.inbox] can be given"},
		{"[agents.mailbox]\nmax_attempts = 5\n", "agents.mailbox", ":1", "only [agents.mailbox.inbox] can be given"},
		{"default_agent = \"mailbox\"\n[agents.mailbox.inbox]\n", "default_agent", ":1", "there is no agent \"mailbox\""},
		{"[agents.a]\nkind = \"mailbox\"\n", "agents.a", ":1", "is not one of echo"},
	} {
		l, err := load(t, c.file, nil)
		if err == nil {
			err = l.Validate()
		}
		var bad *Error
		if !errors.As(err, &bad) || bad.Key != c.key || !strings.HasSuffix(bad.Source.String(), c.at) || !strings.Contains(bad.Text, c.text) {
			t.Errorf("%q gives\n%v, want %s (%s): %s", c.file, err, c.key, c.at, c.text)
		}
	}
	l, err := load(t, "", nil, "--inbox-window-ms=5")
	if err == nil {
		err = l.Validate()
	}
	if err == nil || !strings.HasPrefix(err.Error(), "--inbox-window-ms: must be between") {
		t.Errorf("of a flag: %v", err)
	}
	if l, err := load(t, "[inbox]\nwake = \"idle\"\n[agents.mailbox.inbox]\nwake = \"none\"\n", nil); err != nil || l.Validate() != nil {
		t.Error(err, l.Validate())
	}
}
