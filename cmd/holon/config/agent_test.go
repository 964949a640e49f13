package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/inbox"
)

func TestACPAgentTakesEveryKey(t *testing.T) {
	l, err := load(t, `
[agents.coder]
kind = "acp"
command = ["my-agent", "--acp"]
cwd = "/repo"
env = { KEY = "secret" }
permissions = "allow"
permission_timeout_seconds = 90
permission_default = "allow_once"
start = "eager"
start_timeout_seconds = 20
max_processes = 3
idle_seconds = 0
cancel_seconds = 2.5
keep_raw = true
handover = true
tools = false
own_tools = "ask"
child_agents = ["plain", "echo"]
process_per_thread = true
mode = "plan"
model = "small"
options = { effort = "high", fast = true }

[agents.coder.inbox]
enabled = false
window_ms = 500
max_delay_ms = 1000
max_items = 5
max_digest_age_ms = 60000
wake = "none"
ack = "explicit"
wake_when = "each"
wake_max_wait_ms = 0
wake_window_ms = 0
told_lease_ms = 60000
fallback = false

[agents.coder.mcp_servers.files]
command = "mcp-files --root /repo"
env = { TOKEN = "secret" }

[agents.coder.mcp_servers.tickets]
url = "https://tickets.example.com/mcp"
headers = { Authorization = "secret" }

[agents.coder.mcp_servers.old]
type = "sse"
url = "https://old.example.com/sse"

[agents.plain]
kind = "acp"
command = "my-agent"
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	off, n := false, func(n int64) *int64 { return &n }
	policy := inbox.Policy{
		Enabled: &off, WindowMs: n(500), MaxDelayMs: n(1000), MaxItems: n(5), MaxDigestAgeMs: n(60_000), Wake: inbox.WakeNone, Ack: inbox.AckExplicit,
		WakeWhen: inbox.WhenEach, WakeMaxWaitMs: n(0), WakeWindowMs: n(0), ToldLeaseMs: n(60_000), Fallback: &off,
	}
	if len(policy.Members()) != len(inbox.PolicyMembers) {
		t.Fatal("a member of a policy is not tried")
	}
	want := map[string]Agent{
		"coder": {Kind: "acp", Inbox: policy, Retry: newAgent().Retry, Review: newAgent().Review, ChildAgents: []string{"plain", "echo"}, Command: []string{"my-agent", "--acp"}, Cwd: "/repo", Env: map[string]string{"KEY": "secret"}, ACP: ACPAgent{
			Permissions: "allow", PermissionTimeout: 90 * time.Second, PermissionDefault: "allow_once", Start: "eager", StartTimeout: 20 * time.Second,
			OwnTools: "ask", MaxProcesses: 3, ProcessPerThread: true, Cancel: 2500 * time.Millisecond, KeepRaw: true, Handover: true,
			Mode: "plan", Model: "small", Options: map[string]any{"effort": "high", "fast": true},
			MCPServers: []MCPServer{
				{Name: "files", Type: "stdio", Command: []string{"mcp-files", "--root", "/repo"}, Env: map[string]string{"TOKEN": "secret"}},
				{Name: "old", Type: "sse", URL: "https://old.example.com/sse"},
				{Name: "tickets", Type: "http", URL: "https://tickets.example.com/mcp", Headers: map[string]string{"Authorization": "secret"}},
			},
		}},
		"plain": {Kind: "acp", Command: []string{"my-agent"}, Retry: newAgent().Retry, Review: newAgent().Review, Tools: true, ChildAgents: []string{"plain"}, ACP: newAgent().ACP.finished([]string{"my-agent"}, true)},
	}
	if !reflect.DeepEqual(l.Agents, want) {
		t.Errorf("got  %+v\nwant %+v", l.Agents, want)
	}
	rows := fmt.Sprint(l.Rows())
	if strings.Contains(rows, "secret") {
		t.Error("a secret is shown")
	}
	for _, key := range AgentKeys {
		if key.isOf(KindACP) != strings.Contains(rows, "agents.coder."+key.Name+" ") {
			t.Errorf("the row of %s is missing, or there and should not be", key.Name)
		}
	}
}

func TestEveryKindOfAgentHasAReviewPolicy(t *testing.T) {
	for kind, keys := range map[string]string{"echo": "", "exec": "command = \"x\"\n", "acp": "command = \"x\"\n", "worker": ""} {
		l, err := load(t, "[agents.a]\nkind = \""+kind+"\"\n"+keys+"review = \"on_failure\"\nreview_timeout_seconds = 90\n", nil)
		if err != nil || l.Validate() != nil {
			t.Fatal(err, l.Validate())
		}
		if got := l.Agents["a"].Review; got != (Review{"on_failure", 90 * time.Second}) {
			t.Errorf("%s: %+v", kind, got)
		}
		for _, wrong := range []string{`review = "sometimes"`, `review_timeout_seconds = 0`, `review_timeout_seconds = 9999999`} {
			if l, err := load(t, "[agents.a]\nkind = \""+kind+"\"\n"+keys+wrong+"\n", nil); err == nil && l.Validate() == nil {
				t.Errorf("%s takes %s", kind, wrong)
			}
		}
	}
}

func TestEveryKindOfAgentHasARetryPolicy(t *testing.T) {
	policy := "on_crash = \"retry\"\nmax_attempts = 5\nbackoff_seconds = 0.25\nbackoff_max_seconds = 9\n"
	for kind, keys := range map[string]string{
		"echo": "", "exec": "command = \"x\"\n", "acp": "command = \"x\"\n", "worker": "lease_seconds = 3\nclaim_timeout_seconds = 0\n",
	} {
		l, err := load(t, "[agents.a]\nkind = \""+kind+"\"\n"+keys+policy, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Validate(); err != nil {
			t.Error(err)
		}
		a := l.Agents["a"]
		if want := (RetryPolicy{"retry", 5, 250 * time.Millisecond, 9 * time.Second}); a.Retry != want {
			t.Errorf("%s: %+v", kind, a.Retry)
		}
		want := WorkerAgent{}
		if kind == KindWorker {
			want = WorkerAgent{Lease: 3 * time.Second}
		}
		if a.Worker != want {
			t.Errorf("%s: %+v", kind, a.Worker)
		}
	}
	l, err := load(t, "", nil, "--agent=far=worker")
	if err != nil || l.Validate() != nil {
		t.Fatal(err, l.Validate())
	}
	want := Agent{Kind: KindWorker, Worker: WorkerAgent{30 * time.Second, 300 * time.Second}, Retry: RetryPolicy{"interrupt", 3, time.Second, time.Minute}, Review: Review{"none", 24 * time.Hour}, Tools: true, ChildAgents: []string{"far"}}
	if a := l.Agents["far"]; !reflect.DeepEqual(a, want) || l.DefaultAgent != "far" {
		t.Errorf("%+v", a)
	}
}

func TestAgentErrorsNameKeyAndLine(t *testing.T) {
	agent := "[agents.a]\nkind = \"acp\"\ncommand = \"x\"\n"
	cases := []struct{ name, file, key, text string }{
		{"key of another kind", agent + "output = \"events\"\n", "agents.a.output", `holon.toml:4): an agent of kind "acp" has no such key; it is one of kind "exec"`},
		{"key of acp in exec", "[agents.a]\ncommand=\"x\"\nkeep_raw=true\n", "agents.a.keep_raw", `an agent of kind "exec" has no such key; it is one of kind "acp"`},
		{"key of worker", "[agents.a]\nkind=\"echo\"\nlease_seconds=3\n", "agents.a.lease_seconds", `it is one of kind "worker"`},
		{"command of worker", "[agents.a]\nkind=\"worker\"\ncommand=\"x\"\n", "agents.a.command", `an agent of kind "worker" has no such key`},
		{"nearly a key of every kind", "[agents.a]\nkind=\"echo\"\nmax_atempts=3\n", "agents.a.max_atempts", "did you mean max_attempts?"},
		{"key of echo", "[agents.a]\nkind=\"echo\"\ncommand=\"x\"\n", "agents.a.command", `it is one of kind "exec" or "acp"`},
		{"unknown key", agent + "permision = \"ask\"\n", "agents.a.permision", "did you mean permissions?"},
		{"tools of echo", "[agents.a]\nkind=\"echo\"\ntools=false\n", "agents.a.tools", `it is one of kind "exec" or "acp" or "worker"`},
		{"own_tools of exec", "[agents.a]\ncommand=\"x\"\nown_tools=\"ask\"\n", "agents.a.own_tools", `it is one of kind "acp"`},
		{"tools is no word", agent + "tools = \"no tools\"\n", "agents.a.tools", "holon.toml:4)"},
		{"name of our server", agent + "[agents.a.mcp_servers.holon_12c351]\ncommand=\"x\"\n", "agents.a.mcp_servers", "a name of the server's own tools"},
		{"type", agent + "max_processes = \"many\"\n", "agents.a.max_processes", "holon.toml:4): give a whole number"},
		{"negative", agent + "idle_seconds = -1\n", "agents.a.idle_seconds", "from 0"},
		{"options are no table", agent + "options = \"fast\"\n", "agents.a.options", "give a table of texts, true or false"},
		{"option is a number", agent + "options = { effort = 3 }\n", "agents.a.options", "effort: give a text, true or false"},
		{"mode of exec", "[agents.a]\ncommand=\"x\"\nmode=\"ask\"\n", "agents.a.mode", `it is one of kind "acp"`},
		{"server is no table", agent + "mcp_servers = [\"x\"]\n", "agents.a.mcp_servers", "give a table for each server"},
		{"server without command", agent + "[agents.a.mcp_servers.s]\n", "agents.a.mcp_servers", "s: give command"},
		{"server with both", agent + "[agents.a.mcp_servers.s]\ncommand=\"x\"\nurl=\"y\"\n", "agents.a.mcp_servers", "a server with a url has neither command nor env"},
		{"stdio server with url", agent + "[agents.a.mcp_servers.s]\ntype=\"stdio\"\ncommand=\"x\"\nurl=\"y\"\n", "agents.a.mcp_servers", "neither url nor headers"},
		{"server's type", agent + "[agents.a.mcp_servers.s]\ntype=\"tcp\"\nurl=\"y\"\n", "agents.a.mcp_servers", "s: type: \"tcp\" is not one of stdio, http, sse"},
		{"server without url", agent + "[agents.a.mcp_servers.s]\ntype=\"sse\"\n", "agents.a.mcp_servers", "needs a url"},
		{"server's unknown key", agent + "[agents.a.mcp_servers.s]\ncomand=\"x\"\n", "agents.a.mcp_servers", "s.comand: unknown key; did you mean command?"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			_, err := load(t, tc.file, nil)
			var bad *Error
			if !errors.As(err, &bad) || bad.Key != tc.key || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, want key %q and %q", err, tc.key, tc.text)
			}
		})
	}
}

func TestValidateSaysWhatIsWrongWithAnAgent(t *testing.T) {
	cases := []struct{ keys, text string }{
		{`kind = "acp"`, "name the agent after a preset"},
		{`kind = "acp"` + "\n" + `command = []`, "command is missing"},
		{`command = "x"` + "\n" + `cwd = "repo"`, `cwd "repo" is relative; write the whole path`},
		{`kind = "shell"`, `kind "shell" is not one of echo, exec, acp, worker`},
		{`cwd = "/x"`, "kind is missing"},
		{`command = "x"` + "\n" + `kill_after_seconds = 0`, "kill_after_seconds: give a number from "},
		{`command = "x"` + "\n" + `stderr_tail_bytes = "1GiB"`, "stderr_tail_bytes: "},
		{`kind = "acp"` + "\n" + `command = "x"` + "\n" + `permissions = "maybe"`, `permissions: "maybe" is not one of ask, allow, reject`},
		{`kind = "acp"` + "\n" + `command = "x"` + "\n" + `permission_default = "once"`, "permission_default: "},
		{`kind = "acp"` + "\n" + `command = "x"` + "\n" + `start = "now"`, "start: "},
		{`kind = "acp"` + "\n" + `command = "x"` + "\n" + `own_tools = "deny"`, `own_tools: "deny" is not one of allow, ask`},
		{`kind = "acp"` + "\n" + `command = "x"` + "\n" + `max_processes = 0`, "max_processes: give a number from 1 to 1000, not 0"},
		{`kind = "acp"` + "\n" + `command = "x"` + "\n" + `cancel_seconds = 0`, "cancel_seconds: "},
		{`kind = "acp"` + "\n" + `command = "x"` + "\n" + `on_crash = "again"`, `on_crash: "again" is not one of interrupt, retry`},
		{`command = "x"` + "\n" + `max_attempts = 0`, "max_attempts: give a number from 1 to 100, not 0"},
		{`kind = "echo"` + "\n" + `backoff_seconds = 0`, "backoff_seconds: "},
		{`kind = "worker"` + "\n" + `backoff_max_seconds = 100000`, "backoff_max_seconds: "},
		{`kind = "worker"` + "\n" + `lease_seconds = 0`, "lease_seconds: "},
		{`kind = "worker"` + "\n" + `claim_timeout_seconds = 1e8`, "claim_timeout_seconds: "},
	}
	for _, tc := range cases {
		t.Run(tc.keys, func(t *testing.T) {
			l, err := load(t, "[agents.a]\n"+tc.keys+"\n", nil)
			if err != nil {
				t.Fatal(err)
			}
			err = l.Validate()
			var bad *Error
			if !errors.As(err, &bad) || bad.Key != "agents.a" || bad.Source.Line != 1 || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, want %q", err, tc.text)
			}
		})
	}
}

func TestChildAgentsAreAgents(t *testing.T) {
	for file, want := range map[string]string{
		"[agents.a]\ncommand=\"x\"\n":                                                                "",
		"[agents.a]\ncommand=\"x\"\nchild_agents = []\n":                                             "",
		"[agents.a]\ncommand=\"x\"\nchild_agents = [\"b\", \"echo\"]\n[agents.b]\nkind=\"worker\"\n": "",
		"[agents.a]\ncommand=\"x\"\nchild_agents = [\"far\"]\n":                                      "", // --agent defines it
		"[agents.a]\ncommand=\"x\"\nchild_agents = [\"a\", \"c\"]\n":                                 "agents.a.child_agents (FILE:3): there is no agent \"c\" (there are a, far, echo)",
		"[agents.a]\ncommand=\"x\"\nchild_agents = [\"opencode\"]\n":                                 "agents.a.child_agents (FILE:3): there is no agent \"opencode\"",
		"[agents.a]\ncommand=\"x\"\nchild_agents = [\"mailbox\"]\n":                                  "agents.a.child_agents (FILE:3): there is no agent \"mailbox\"",
	} {
		l, err := load(t, file, nil, "--agent=far=worker")
		if err != nil {
			t.Fatal(err)
		}
		err = l.Validate()
		if want == "" {
			if err != nil {
				t.Errorf("%s%v", file, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), strings.Replace(want, "FILE", l.File, 1)) {
			t.Errorf("%sgot  %v\nwant %s", file, err, want)
		}
	}
	// An agent on the command line replaces the one in the file, and so its children.
	l, err := load(t, "[agents.a]\ncommand=\"x\"\nchild_agents = [\"c\"]\n", nil, "--agent=a=worker")
	if err != nil || l.Validate() != nil || !reflect.DeepEqual(l.Agents["a"].ChildAgents, []string{"a"}) {
		t.Errorf("%v, %+v", err, l.Agents["a"])
	}
}

func TestWorkIsStartedInThreads(t *testing.T) {
	for list, want := range map[string]string{
		`[]`: "", `["*"]`: "", `["main", "thread_019a"]`: "",
		`["all tests"]`: `agents.a: work_in: "all tests" is no id of a thread`,
		`[""]`:          `agents.a: work_in: "" is no id of a thread`,
	} {
		l, err := load(t, "[agents.a]\ncommand=\"x\"\nwork_in = "+list+"\n", nil)
		if err != nil {
			t.Fatal(err)
		}
		err = l.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(strings.Replace(err.Error(), " ("+l.File+":1)", "", 1), want)) {
			t.Errorf("%s: %v", list, err)
		}
	}
}

func TestProcessesPerThreadAreWhatTheProgramNeeds(t *testing.T) {
	const plain, opencode = "kind=\"acp\"\ncommand=\"x\"\n", "kind=\"acp\"\ncommand=[\"/opt/bin/opencode\", \"acp\"]\n"
	for keys, want := range map[string]ACPAgent{
		plain:                                   {MaxProcesses: 1},
		plain + "process_per_thread = true\n":   {ProcessPerThread: true},
		opencode:                                {ProcessPerThread: true},
		opencode + "max_processes = 8\n":        {ProcessPerThread: true, MaxProcesses: 8},
		opencode + "process_per_thread=false\n": {MaxProcesses: 1},
		opencode + "tools = false\n":            {MaxProcesses: 1}, // nothing to keep apart
	} {
		l, err := load(t, "[agents.a]\n"+keys, nil)
		if err != nil || l.Validate() != nil {
			t.Fatal(err, l.Validate())
		}
		if got := l.Agents["a"].ACP; got.ProcessPerThread != want.ProcessPerThread || got.MaxProcesses != want.MaxProcesses {
			t.Errorf("%s%+v", keys, got)
		}
	}
	l, err := load(t, "[agents.opencode]\nkind=\"acp\"\n", nil, "--agent=codex")
	if err != nil || !l.Agents["opencode"].ACP.ProcessPerThread || l.Agents["codex"].ACP.ProcessPerThread {
		t.Errorf("%v, %+v", err, l.Agents)
	}
}

func TestTheAgentThatIsNamedIsTheDefault(t *testing.T) {
	cases := []struct {
		env  string
		args []string
		want string
	}{
		{"", nil, "log"}, // the file's
		{"", []string{"--agent=a=echo"}, "a"},
		{"", []string{"--agent=a=echo", "--agent=b=acp:x"}, "a"},
		{"", []string{"--agent=a=echo", "--agent=echo"}, "echo"},
		{"", []string{"--agent=a=echo", "--default-agent=echo"}, "echo"},
		{"a=echo", nil, "a"},
		{"a=echo", []string{"--agent=b=echo"}, "b"},
		{"a=echo", []string{"--default-agent=log"}, "log"},
	}
	for _, tc := range cases {
		l, err := load(t, "default_agent = \"log\"\n[agents.log]\ncommand=\"git log\"\n", []string{"HOLON_AGENT=" + tc.env}, tc.args...)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Validate(); err != nil || l.DefaultAgent != tc.want {
			t.Errorf("%q %v: default %s, want %s (%v)", tc.env, tc.args, l.DefaultAgent, tc.want, err)
		}
	}
}

func TestPresetsGiveTheCommandAndSayHowToInstallIt(t *testing.T) {
	path := t.TempDir()
	t.Setenv("PATH", path)
	file := "[agents.codex]\nkind = \"acp\"\nidle_seconds = 5\n"
	l, err := load(t, file, nil, "--agent=opencode")
	if err != nil {
		t.Fatal(err)
	}
	if a := l.Agents["codex"]; a.Preset != "codex" || !reflect.DeepEqual(a.Command, []string{"codex-acp"}) || a.ACP.Idle != 5*time.Second {
		t.Errorf("codex: %+v", a)
	}
	// An agent on the command line must be installed, one in the file need not
	// be.
	err = l.Validate()
	if err == nil || !strings.Contains(err.Error(), "agents.opencode (--agent): opencode is not installed (not found in PATH). Install it with: npm install -g opencode-ai@") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(path, "opencode"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := l.Validate(); err != nil {
		t.Error(err)
	}
	if a := l.Agents["opencode"]; l.DefaultAgent != "opencode" || !reflect.DeepEqual(a.Command, []string{"opencode", "acp"}) || a.ACP.Permissions != "ask" {
		t.Errorf("default %s, opencode %+v", l.DefaultAgent, a)
	}
	if err := l.Agents["codex"].Missing(); err == nil || !strings.Contains(err.Error(), "codex-acp is not installed") {
		t.Errorf("got %v", err)
	}
	// A configured agent with a preset's name replaces the preset.
	l, err = load(t, "[agents.gemini]\ncommand = \"my-own\"\n", nil, "--agent=gemini")
	if err != nil || l.Validate() != nil || l.Agents["gemini"].Kind != KindExec || l.DefaultAgent != "gemini" {
		t.Errorf("%+v, %v", l.Agents, err)
	}
	for name, p := range presets {
		if found, ok := PresetFor("/opt/bin/" + p.Command[0]); !ok || found.Install != p.Install || p.Login == "" || !tableName.MatchString(name) {
			t.Errorf("preset %s: %+v", name, p)
		}
		if does, known := p.Unasked[p.AskMode]; len(p.Unasked) == 0 || p.AskMode != "" && (!known || does != "") {
			t.Errorf("preset %s: what is done unasked: %q", name, p.Unasked)
		}
	}
}

func TestAgentsAreInTheModeThatAsksWhilePermissionsAreAsked(t *testing.T) {
	claude := "[agents.a]\nkind = \"acp\"\ncommand = \"/opt/bin/claude-agent-acp\"\n"
	for file, want := range map[string]string{
		claude:                                                     "default",
		claude + "permissions = \"ask\"\n":                         "default",
		claude + "permissions = \"allow\"\n":                       "",
		claude + "permissions = \"reject\"\n":                      "",
		claude + "mode = \"plan\"\n":                               "plan",
		claude + "mode = \"\"\n":                                   "", // the agent's own
		claude + "mode = \"auto\"\npermissions = \"allow\"\n":      "auto",
		"[agents.a]\nkind = \"acp\"\ncommand = \"gemini --acp\"\n": "",
		"[agents.a]\nkind = \"acp\"\ncommand = \"qwen --acp\"\n":   "default",
	} {
		l, err := load(t, file, nil)
		if err != nil || l.Validate() != nil {
			t.Fatalf("%s: %v, %v", file, err, l.Validate())
		}
		if got := l.Agents["a"].ACP.Mode; got != want {
			t.Errorf("%s: mode %q, want %q", file, got, want)
		}
	}
	l, err := load(t, "[agents.claude]\nkind = \"acp\"\n", nil)
	if err != nil || l.Agents["claude"].ACP.Mode != "default" {
		t.Errorf("%+v, %v", l.Agents, err)
	}
}

// The documentation of an agent's keys is hand-written, in the order of the
// reader's tasks: those of agents that exist in the reference, those of commands and
// workers where one reads how to write an agent.
func TestEveryKeyOfAnAgentIsDocumented(t *testing.T) {
	pages := map[string]string{}
	read := func(name string) string {
		if _, ok := pages[name]; !ok {
			page, err := os.ReadFile("../../../docs/" + name)
			if err != nil {
				t.Fatal(err)
			}
			pages[name] = string(page)
		}
		return pages[name]
	}
	has := func(name, text string) {
		if !strings.Contains(read(name), text) {
			t.Errorf("docs/%s lacks %q", name, text)
		}
	}
	const use, reference, write = "agents.md", "agents-reference.md", "write-an-agent.md"
	for _, key := range AgentKeys {
		if name, ok := strings.CutPrefix(key.Name, "inbox."); ok {
			has("inbox.md", "| `"+name+"` |")
			has(reference, "(inbox.md#settings)")
			has(write, "(inbox.md#settings)")
			continue
		}
		row := "| `" + key.Name + "` |"
		if len(key.Kinds) == 0 || slices.Contains(key.Kinds, KindACP) {
			has(reference, row)
		}
		ofAll := len(key.Kinds) == 0 || len(key.Kinds) >= 3
		if key.Name == "kind" || !ofAll && !slices.Equal(key.Kinds, []string{KindACP}) {
			has(write, row)
		}
	}
	for name, preset := range presets {
		has(use, "| `"+name+"` | `"+strings.Join(preset.Command, " ")+"`")
		has(use, preset.Install)
		for mode, does := range preset.Unasked {
			text := "`" + mode + "`"
			if does != "" {
				text += ": " + does
			}
			has(reference, text)
		}
	}
}

// Every piece of a configuration file in the documents is one that the program takes.
func TestTheConfigurationsOfTheDocumentsAreValid(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(page), "```toml\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			tried++
			l, err := load(t, block, nil)
			if err == nil {
				err = l.Validate()
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", filepath.Base(name), err, block)
			}
		}
	}
	if tried < 10 {
		t.Errorf("only %d pieces were found", tried)
	}
}
