package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// load runs Load over a file's text, variables and arguments.
func load(t testing.TB, file string, environ []string, args ...string) (*Loaded, error) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	BindCommon(flags)
	Bind(flags)
	if file != "" {
		path := filepath.Join(t.TempDir(), "holon.toml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return Load(flags, environ)
}

// samples are three values of each type, as written in a file, a variable and a
// flag, and as shown.
var samples = map[Type][3][2]string{
	Text:    {{`"/a"`, "/a"}, {"/b", "/b"}, {"/c", "/c"}},
	List:    {{`["a", "b"]`, "a, b"}, {"c,d", "c, d"}, {"e", "e"}},
	Bool:    {{"true", "true"}, {"no", "false"}, {"true", "true"}},
	Number:  {{"7", "7"}, {"8", "8"}, {"9", "9"}},
	Size:    {{"65536", "65536"}, {"2MiB", "2097152"}, {"3 KiB", "3072"}},
	Seconds: {{"1.5", "1.5"}, {"2", "2"}, {"0.25", "0.25"}},
	Days:    {{"1", "1"}, {"0.5", "0.5"}, {"30", "30"}},
}

func TestEverySettingTakesDefaultFileEnvironmentFlagInThatOrder(t *testing.T) {
	for _, key := range Keys {
		t.Run(key.Name, func(t *testing.T) {
			sample := samples[key.Type]
			table, name, nested := strings.Cut(key.Name, ".")
			file := fmt.Sprintf("# first line\n%s = %s\n", key.Name, sample[0][0])
			if nested {
				file = fmt.Sprintf("[%s]\n%s = %s\n", table, name, sample[0][0])
			}
			env := []string{key.Env() + "=" + sample[1][0]}
			flag := "--" + key.Flag() + "=" + sample[2][0]
			steps := []struct {
				file string
				env  []string
				args []string
				want string
				from Source
			}{
				{want: Show(key.Value(Defaults())), from: Source{Origin: FromDefault}},
				{file: file, want: sample[0][1], from: Source{Origin: FromFile, Line: 2}},
				{file: file, env: env, want: sample[1][1], from: Source{Origin: FromEnv, Place: key.Env()}},
				{file: file, env: env, args: []string{flag}, want: sample[2][1], from: Source{Origin: FromFlag, Place: "--" + key.Flag()}},
			}
			for _, step := range steps {
				l, err := load(t, step.file, step.env, step.args...)
				if err != nil {
					t.Fatal(err)
				}
				source := l.Sources[key.Name]
				if step.from.Origin == FromFile {
					step.from.Place = l.File
				}
				if got := Show(key.Value(l.Config)); got != step.want || source != step.from {
					t.Errorf("%s from %+v, want %s from %+v", got, source, step.want, step.from)
				}
				if len(l.Warnings) > 0 {
					t.Errorf("warnings %v", l.Warnings)
				}
			}
		})
	}
}

func TestEveryFieldOfConfigHasAKey(t *testing.T) {
	// Setting every key must leave no field of Config at its default, so that a
	// field cannot be added without its key.
	c := *Defaults()
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Struct {
				fill(f)
			} else {
				f.SetZero()
			}
		}
	}
	fill(reflect.ValueOf(&c).Elem())
	for _, key := range Keys {
		sample := samples[key.Type][0][1]
		if err := key.set(&c, []string{sample}); err != nil {
			t.Fatalf("%s: %v", key.Name, err)
		}
	}
	var check func(v reflect.Value)
	check = func(v reflect.Value) {
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			switch f := v.Field(i); {
			case f.Kind() == reflect.Struct:
				check(f)
			case f.IsZero() && name != "Agents" && name != "Sources" && name != "Bridges":
				t.Errorf("no key sets %s", name)
			}
		}
	}
	check(reflect.ValueOf(c))
}

func TestFlagNamesAndVariablesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, key := range Keys {
		for _, name := range []string{key.Flag(), key.Env()} {
			if other := seen[name]; other != "" {
				t.Errorf("%s is that of %s and of %s", name, key.Name, other)
			}
			seen[name] = key.Name
		}
		if strings.Contains(Markdown(), "`"+key.Env()+"`") == false {
			t.Errorf("the documentation's table lacks %s", key.Name)
		}
	}
}

func TestFileErrorsNameKeyAndLine(t *testing.T) {
	cases := []struct{ name, file, key, text string }{
		{"unknown key", "auth = \"auto\"\n\nlissten = [\"stdio\"]\n", "lissten", "holon.toml:3): unknown key; did you mean listen?"},
		{"unknown without a near one", "zzz = 1\n", "zzz", "holon.toml:1): unknown key; `holon config`"},
		{"unknown in a table", "[retention]\nmax_bytes = 1\nmax_eons = 2\n", "retention.max_eons", "holon.toml:3): unknown key"},
		{"unknown in a table, with a near one", "[retention]\nmax_byte = 1\n", "retention.max_byte", "holon.toml:2): unknown key; did you mean max_bytes?"},
		{"a key of a table inside", "[agents.a]\nkind=\"echo\"\nwindow_ms=1\n", "agents.a.window_ms", "holon.toml:3): unknown key; `holon config`"},
		{"unknown table", "\n[retentoin]\nmax_bytes = 1\n", "retentoin", "holon.toml:2): unknown key; did you mean retention?"},
		{"unknown key of an agent", "[agents.a]\nkind=\"exec\"\ncomand=[\"ls\"]\n", "agents.a.comand", "holon.toml:3): unknown key; did you mean command?"},
		{"wrong type", "max_queue = \"many\"\n", "max_queue", `holon.toml:1): give a whole number, not "many"`},
		{"wrong element", "listen = [\"a\", 1]\n", "listen", "element 2 is 1"},
		{"number for a text", "auth = 5\n", "auth", "give one text, not 5"},
		{"a table's name as key", "retention = 5\n", "retention", "give a table"},
		{"agent is no table", "[agents]\na = 1\n", "agents.a", "give a table"},
		{"env of an agent", "[agents.a.env]\nA = 1\n", "agents.a.env", "A: give one text, not 1"},
		{"syntax", "a = 1\nb = = 2\n", "", "line 2"},
		{"key twice", "auth = \"auto\"\nauth = \"none\"\n", "", "line 2"},
		{"upper case", "Auth = \"auto\"\n", "Auth", "unknown key; did you mean auth?"},
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

func TestMissingFileMattersOnlyIfNamed(t *testing.T) {
	if _, err := load(t, "", nil); err != nil {
		t.Errorf("the default file: %v", err)
	}
	if _, err := load(t, "", nil, "--config", "/nonexistent/holon.toml"); err == nil {
		t.Error("a named file that does not exist was ignored")
	}
	if _, err := load(t, "", []string{"HOLON_CONFIG=/nonexistent/holon.toml"}); err == nil {
		t.Error("a file of HOLON_CONFIG that does not exist was ignored")
	}
}

func TestUnknownVariablesWarnAndOthersDoNot(t *testing.T) {
	l, err := load(t, "", []string{
		"HOLON_URL=unix:/x", "HOLON_THREAD_ID=t", "HOLON_TURN_ID=t", "HOLON_ATTEMPT=1", "HOLON_ORIGIN=wake", "HOLON_AUTH=",
		"HOLON_LISTN=x", "HOLON_ZZZZZZ=1", "OTHER=1",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"HOLON_LISTN is set but is no setting of holon; did you mean HOLON_LISTEN?", "HOLON_ZZZZZZ is set but is no setting of holon"}
	if !reflect.DeepEqual(l.Warnings, want) {
		t.Errorf("warnings %q", l.Warnings)
	}
	if l.Sources["auth"].Origin != FromDefault {
		t.Error("an empty variable counted as a value")
	}
}

func TestAgentsFromFileAndFlags(t *testing.T) {
	file := `
[agents.log]
command = ["git", "log", "-5"]
cwd = "/repo"
env = { A = "secret" }
[agents.custom]
kind = "exec"
command = "my-agent --fast 'two words'"
input = "json"
output = "events"
format = "markdown"
kill_after_seconds = 0.5
stderr_tail_bytes = "4KiB"
`
	l, err := load(t, file, nil, "--agent", "sh=exec:sh -c 'echo hi'", "--agent", "log", "--agent=e=echo")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	text := ExecAgent{Input: "text", Output: "text", Format: "plain", KillAfter: 3 * time.Second, StderrTail: 16 << 10}
	custom := ExecAgent{Input: "json", Output: "events", Format: "markdown", KillAfter: 500 * time.Millisecond, StderrTail: 4096}
	policy := newAgent().Retry
	want := map[string]Agent{
		"log":    {Kind: "exec", Command: []string{"git", "log", "-5"}, Cwd: "/repo", Env: map[string]string{"A": "secret"}, Retry: policy, Review: newAgent().Review, Exec: text, Tools: true, ChildAgents: []string{"log"}},
		"custom": {Kind: "exec", Command: []string{"my-agent", "--fast", "two words"}, Retry: policy, Review: newAgent().Review, Exec: custom, Tools: true, ChildAgents: []string{"custom"}},
		"sh":     {Kind: "exec", Command: []string{"sh", "-c", "echo hi"}, Retry: policy, Review: newAgent().Review, Exec: text, Tools: true, ChildAgents: []string{"sh"}},
		"e":      {Kind: "echo", Retry: policy, Review: newAgent().Review},
	}
	if !reflect.DeepEqual(l.Agents, want) || l.DefaultAgent != "log" {
		t.Errorf("default %s, agents %+v", l.DefaultAgent, l.Agents)
	}
	if strings.Contains(fmt.Sprint(l.Rows()), "secret") {
		t.Error("the value of an agent's variable is shown")
	}
	if got := l.Sources["agents.custom"]; got.Line != 6 {
		t.Errorf("source %+v", got)
	}
}

func TestValidateSaysWhatToDo(t *testing.T) {
	cases := []struct {
		args []string
		key  string
		text string
	}{
		{[]string{"--auth=maybe"}, "auth", "auto, token, none"},
		{[]string{"--listen=0.0.0.0:8080"}, "listen", "use --auth token"},
		{[]string{"--listen=0.0.0.0:8080", "--auth=none"}, "listen", "run code as you"},
		{[]string{"--listen=0.0.0.0:8080", "--auth=token"}, "listen", "--tls-cert"},
		{[]string{"--listen=nonsense"}, "listen", "HOST:PORT"},
		{[]string{"--listen=stdio", "--listen=stdio"}, "listen", "twice"},
		{[]string{"--listen="}, "listen", "at least one"},
		{[]string{"--tls-cert=/a"}, "tls_cert", "tls_key"},
		{[]string{"--default-thread=a b"}, "default_thread", "1 to 64"},
		{[]string{"--log-level=loud"}, "log_level", "debug"},
		{[]string{"--max-queue=0"}, "max_queue", "from 1 to"},
		{[]string{"--max-item-bytes=3MiB"}, "max_frame_bytes", "twice max_item_bytes"},
		{[]string{"--max-frame-bytes=1MiB"}, "max_frame_bytes", "from 4194304 to"},
		{[]string{"--heartbeat-seconds=0"}, "heartbeat_seconds", "from 0.1 to"},
		{[]string{"--drain-seconds=0"}, "drain_seconds", "from 0.1 to"},
		{[]string{"--synchronous=off"}, "synchronous", "full, normal"},
		{[]string{"--pprof=localhost:6060"}, "pprof", "unix socket"},
		{[]string{"--agent=nobody"}, "default_agent", "--agent NAME=acp:COMMAND"},
		{[]string{"--agent=a=exec:"}, "agents.a", "command is missing"},
		{[]string{"--agent=a=acp:"}, "agents.a", "name the agent after a preset: claude, codex, gemini, opencode"},
		{[]string{"--agent=a b=echo"}, "agents.a b", "1 to 64"},
		{[]string{"--data="}, "data", "--data DIR"},
	}
	for _, tc := range cases {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			l, err := load(t, "", nil, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			err = l.Validate()
			var bad *Error
			if !errors.As(err, &bad) || bad.Key != tc.key || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, want key %q and %q", err, tc.key, tc.text)
			}
		})
	}
	for _, args := range [][]string{
		{"--listen=stdio"}, {"--listen=unix:/x", "--listen=localhost:0"}, {"--listen=[::1]:80", "--auth=none"},
		{"--listen=0.0.0.0:80", "--auth=token", "--behind-proxy"}, {"--listen=:80", "--auth=token", "--tls-cert=a", "--tls-key=b"},
	} {
		l, err := load(t, "", nil, args...)
		if err == nil {
			err = l.Validate()
		}
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestBadFlagsAreRefusedWhenParsed(t *testing.T) {
	for _, arg := range []string{"--max-queue=x", "--max-frame-bytes=4 MB", "--drain-seconds=-1", "--drain-seconds=NaN", "--behind-proxy=perhaps", "--max-queue=99999999999", "--tail-bytes=9999999TiB"} {
		if _, err := load(t, "", nil, arg); err == nil {
			t.Errorf("%s was accepted", arg)
		}
	}
}

func TestDefaultsAreThoseOfTheContract(t *testing.T) {
	c := Defaults()
	if c.DrainTimeout != 6*time.Second || c.MaxFrameBytes != 4<<20 || c.MaxInFlight != 64 ||
		c.MaxActiveTurns != 64 || c.MaxQueue != 64 || c.MaxItemBytes != 1<<20 || c.TailBytes != 16<<20 ||
		c.Heartbeat != 15*time.Second || c.WriteTimeout != 30*time.Second || c.InterruptTimeout != 10*time.Second ||
		c.Synchronous != "full" || c.Auth != "auto" || !reflect.DeepEqual(c.Listen, []string{"127.0.0.1:8080"}) {
		t.Errorf("%+v", c)
	}
}

func TestSplitWords(t *testing.T) {
	cases := []struct {
		line string
		want []string
		bad  bool
	}{
		{line: "", want: nil},
		{line: "  a  b\tc\n", want: []string{"a", "b", "c"}},
		{line: `sh -c 'echo "a b" \n'`, want: []string{"sh", "-c", `echo "a b" \n`}},
		{line: `a\ b "c\"d" ''`, want: []string{"a b", `c"d`, ""}},
		{line: `x='y z'w`, want: []string{"x=y zw"}},
		{line: `'open`, bad: true},
		{line: `back\`, bad: true},
	}
	for _, tc := range cases {
		got, err := SplitWords(tc.line)
		if !reflect.DeepEqual(got, tc.want) || (err != nil) != tc.bad {
			t.Errorf("%q: %q, %v", tc.line, got, err)
		}
	}
}

// FuzzFile writes any configuration to a file, and reads and checks it as a server does.
// fuzz: 5000x
func FuzzFile(f *testing.F) {
	f.Add("listen = [\"stdio\"]\n[agents.a]\ncommand = \"ls -l\"\n[retention]\nmax_bytes = \"1GiB\"\n")
	f.Add("max_queue = 1e3\n")
	f.Add("[agents]\na.env = {x = \"y\"}\n")
	f.Add("[inbox]\nwake = \"idle\"\n[agents.mailbox.inbox]\nwindow_ms = 500\n[agents.a]\ninbox.wake_window_ms = 0\n\"inbox.wake\" = 1\n")
	f.Add("[[agents.a]]\n[[agents.a]]\n")
	f.Fuzz(func(t *testing.T, file string) {
		path := filepath.Join(t.TempDir(), "holon.toml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		BindCommon(flags)
		if err := flags.Parse([]string{"--config", path}); err != nil {
			t.Fatal(err)
		}
		l, err := Load(flags, nil)
		var bad *Error
		if err != nil {
			if !errors.As(err, &bad) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if err := l.Validate(); err != nil && !errors.As(err, &bad) {
			t.Fatalf("%T: %v", err, err)
		}
		for _, key := range Keys {
			if source := l.Sources[key.Name]; source.Origin == FromFile && source.Line == 0 {
				t.Fatalf("%s comes from the file, from no line", key.Name)
			}
		}
	})
}

// What the system says of the file is in the error: what to do follows from it.
func TestAFileThatCannotBeReadSaysWhy(t *testing.T) {
	if _, err := load(t, "", nil, "--config="+filepath.Join(t.TempDir(), "none.toml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
