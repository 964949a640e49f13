package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExitCodesAndHintsWithoutAServer(t *testing.T) {
	nowhere := "--url=http://127.0.0.1:1"
	badFile := filepath.Join(t.TempDir(), "bad.toml")
	if err := os.WriteFile(badFile, []byte("lisen = []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		args []string
		code int
		err  string
	}{
		{[]string{"version"}, exitOK, ""},
		{[]string{"--version"}, exitOK, ""},
		{[]string{"-v", "-o", "json"}, exitOK, ""},
		{[]string{"run", "-v"}, exitUsage, "there is no flag -v in holon run"},
		{[]string{}, exitOK, ""},
		{[]string{"config"}, exitOK, "no configuration file"},
		{[]string{"config", "--auth=maybe"}, exitUsage, "--auth: \"maybe\""},
		{[]string{"config", "--config", badFile}, exitUsage, "bad.toml:1): unknown key; did you mean listen?"},
		{[]string{"status", "--config", badFile}, exitUsage, "unknown key"},
		{[]string{"bogus"}, exitUsage, "Try: holon --help"},
		{[]string{"status", "--bogus"}, exitUsage, "Try: holon status --help"},
		{[]string{"status", "extra"}, exitUsage, "Try: holon status --help"},
		{[]string{"status", "-o", "xml"}, exitUsage, "text, json, jsonl"},
		{[]string{"status", "--url", "ftp://x"}, exitUsage, "unix:PATH"},
		{[]string{"status", "--url", "unix:"}, exitUsage, "needs the path"},
		{[]string{"status", nowhere}, exitFailed, "Check the address"},
		{[]string{"watch", nowhere}, exitFailed, "no server at"},
		{[]string{"run", nowhere, "x"}, exitFailed, "no server at"},
		{[]string{"run", nowhere}, exitUsage, "there is no prompt"},
		{[]string{"run", nowhere, " "}, exitUsage, "there is no prompt"},
		{[]string{"run", nowhere, "--timeout=-1s", "x"}, exitUsage, "--timeout"},
		{[]string{"run", nowhere, "--background", "x"}, exitUsage, "--parent THREAD"},
		{[]string{"run", nowhere, "--parent=t", "--title=two\nlines", "x"}, exitUsage, "--title: must be one line"},
		{[]string{"await", nowhere}, exitUsage, "which TURN?"},
		{[]string{"await", nowhere, "--timeout=2h", "turn_1"}, exitUsage, "from 0 to 1h"},
		{[]string{"await", nowhere, "turn_1"}, exitFailed, "no server at"},
		{[]string{"detach", nowhere}, exitUsage, "Try: holon detach"},
		{[]string{"tree", nowhere, "--watch"}, exitUsage, "draws on a terminal"},
		{[]string{"watch", nowhere, "--after", "x"}, exitUsage, "LOG_ID:41"},
		{[]string{"watch", nowhere, "--after=-1"}, exitUsage, "give a seq"},
		{[]string{"watch", nowhere, "--limit=-1"}, exitUsage, "--limit"},
		{[]string{"watch", nowhere, "--content=all"}, exitUsage, "give summary"},
		{[]string{"call", nowhere, "x", "{"}, exitUsage, "PARAMS is not JSON"},
		{[]string{"call"}, exitUsage, "Try: holon call"},
		{[]string{"threads", nowhere, "--limit=-1"}, exitUsage, "--limit"},
		{[]string{"respond", nowhere, "item"}, exitFailed, "no server at"},
		{[]string{"respond", nowhere, "--allow"}, exitUsage, "which ITEM?"},
		{[]string{"respond", nowhere, "item", "--allow", "--reject"}, exitUsage, "exactly one of"},
		{[]string{"respond", nowhere, "item", "--answer", "yes"}, exitUsage, "is not JSON"},
		{[]string{"connect", nowhere}, exitFailed, "no server at"},
		{[]string{"connect", "--no-start"}, exitFailed, "holon serve"},
		{[]string{"conformance", nowhere}, exitFailed, "no server at"},
		{[]string{"conformance", "--list"}, exitOK, ""},
		{[]string{"serve", "--max-queue=0"}, exitUsage, "--max-queue: give"},
		{[]string{"serve", "--listen=0.0.0.0:0"}, exitUsage, "use --auth token"},
		{[]string{"serve", "--agent=nobody"}, exitUsage, "there is no agent"},
		{[]string{"schema", "xsd"}, exitUsage, "is not one of"},
	}
	for _, tc := range cases {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			r := holon(t, freshDir(t), "", tc.args...)
			if r.code != tc.code || !strings.Contains(r.err, tc.err) {
				t.Errorf("exit %d, want %d and %q in:\n%s", r.code, tc.code, tc.err, r.err)
			}
			if r.code != exitOK && len(tc.args) > 0 && tc.args[0] != "config" && r.out != "" {
				t.Errorf("a failure wrote to stdout: %q", r.out)
			}
		})
	}
}

func TestUnknownVariablesWarnOnStderr(t *testing.T) {
	var out, errs buffer
	g := &globals{console: console{in: strings.NewReader(""), out: &out, err: &errs, environ: []string{"HOLON_LISTN=x", "HOLON_URL=unix:/x", "HOLON_DATA=" + t.TempDir(), "XDG_CONFIG_HOME=" + t.TempDir()}}}
	if code := execute(t.Context(), g, []string{"config", "-o", "json"}); code != exitOK {
		t.Fatal(errs.String())
	}
	if !strings.Contains(errs.String(), "HOLON_LISTN is set but is no setting") || strings.Contains(errs.String(), "HOLON_URL") {
		t.Errorf("stderr %q", errs.String())
	}
	object := oneObject(t, out.String())
	if len(object["warnings"].([]any)) != 1 || len(object["settings"].([]any)) < 20 {
		t.Errorf("%v", object)
	}
}

func TestProgramsGetOneObjectOrLines(t *testing.T) {
	s := startServer(t)
	s.want("run", "/say one\n/items 2 5")
	for _, args := range [][]string{
		{"status"}, {"agents"}, {"agents", "echo"}, {"threads"}, {"turns"}, {"items"}, {"respond"}, {"config"}, {"version"},
		{"call", "holon/status"}, {"run", "hello"}, {"watch", "--after=0", "--limit=3"},
	} {
		t.Run(args[0], func(t *testing.T) {
			oneObject(t, s.want(append(args, "-o", "json")...))
			for line := range strings.Lines(s.want(append(args, "-o", "jsonl")...)) {
				oneObject(t, line)
			}
		})
	}
}

func TestWatchPrintsTheBytesAsReceived(t *testing.T) {
	s := startServer(t)
	s.want("run", "/say ä & <b> \u2028\n/deltas 20 10")
	var want strings.Builder
	all := s.events()
	for _, event := range all {
		want.Write(event.Line)
		want.WriteByte('\n')
	}
	limit := fmt.Sprintf("--limit=%d", len(all))
	if got := s.want("watch", "--after=0", "-o", "jsonl", limit); got != want.String() {
		t.Errorf("got:\n%s\nwant:\n%s", got, want.String())
	}
	var object struct {
		Events []json.RawMessage `json:"events"`
		Next   int64             `json:"next_after_seq"`
		LogID  string            `json:"log_id"`
	}
	if err := json.Unmarshal([]byte(s.want("watch", "--after=0", "-o", "json", limit)), &object); err != nil {
		t.Fatal(err)
	}
	if len(object.Events) != len(all) || object.Next != all[len(all)-1].Seq || object.LogID == "" {
		t.Errorf("%d events, next %d of %s", len(object.Events), object.Next, object.LogID)
	}
	after := fmt.Sprintf("--after=%s:%d", object.LogID, object.Next-1)
	if got := s.want("watch", after, "-o", "jsonl", "--limit=1"); got != string(all[len(all)-1].Line)+"\n" {
		t.Errorf("after a cursor with its log: %s", got)
	}
	if r := s.holon("watch", "--after=other:1"); r.code != exitFailed || !strings.Contains(r.err, "start over with --after 0") {
		t.Errorf("another log: %+v", r)
	}
	if r := s.holon("watch", "--after=100000"); r.code != exitFailed || !strings.Contains(r.err, "leave --after out") {
		t.Errorf("cursor ahead: %+v", r)
	}
}

func TestRunTellsTheOutcome(t *testing.T) {
	s := startServer(t)
	cases := []struct {
		prompt, state, text string
		code                int
	}{
		{"hello world", "completed", "hello world", exitOK},
		{"/say one\n/say two", "completed", "one\n\ntwo", exitOK},
		{"/say half\n/fail broken", "failed", "half", exitFailed},
		{"/crash", "failed", "I am about to", exitFailed},
	}
	for _, tc := range cases {
		t.Run(tc.prompt, func(t *testing.T) {
			r := s.holon("run", "-o", "json", tc.prompt)
			object := oneObject(t, r.out)
			if r.code != tc.code || object["state"] != tc.state || object["text"] != tc.text {
				t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
			}
			plain := s.holon("run", tc.prompt)
			if plain.code != tc.code || !strings.Contains(plain.out, "turn: "+tc.state) {
				t.Errorf("exit %d: %s%s", plain.code, plain.out, plain.err)
			}
		})
	}
	if out := s.want("run", "-q", "quietly"); out != "quietly\n" {
		t.Errorf("quiet: %q", out)
	}
	if r := holon(t, s.data, "from stdin\n", "run", "-q", "-"); r.out != "from stdin\n" {
		t.Errorf("stdin: %+v", r)
	}
	if r := s.holon("run", "-q", "--timeout=50ms", "/sleep 60000"); r.code != exitFailed || !strings.Contains(r.err, "failed") {
		t.Errorf("timeout: %+v", r)
	}
	if r := s.holon("run", "--agent=nobody", "x"); r.code != exitFailed || !strings.Contains(r.err, "holon agents lists the agents") {
		t.Errorf("no such agent: %+v", r)
	}
}

func TestSameKeyStartsOneTurn(t *testing.T) {
	s := startServer(t)
	first := oneObject(t, s.want("run", "-o", "json", "--idempotency-key=k", "hello"))
	again := oneObject(t, s.want("run", "-o", "json", "--idempotency-key=k", "hello"))
	if first["turn_id"] != again["turn_id"] || again["text"] != "hello" {
		t.Errorf("first %v, again %v", first, again)
	}
	if r := s.holon("run", "--idempotency-key=k", "other"); r.code != exitFailed || !strings.Contains(r.err, "idempotency_conflict") {
		t.Errorf("another prompt: %+v", r)
	}
}

func TestRunGoesOnInAThread(t *testing.T) {
	s := startServer(t)
	first := oneObject(t, s.want("run", "-o", "json", "--thread=mine", "--title=Work", "one"))
	again := s.want("run", "--thread=mine", "two")
	if first["thread_id"] != "mine" || strings.Contains(again, "one") || !strings.Contains(again, "agent: two") {
		t.Errorf("first %v, again:\n%s", first, again)
	}
	if out := s.want("threads"); !strings.Contains(out, "mine") || !strings.Contains(out, "Work") {
		t.Errorf("threads:\n%s", out)
	}
	if out := s.want("turns", "--long", "--thread=mine", "-n", "1"); strings.Count(out, "turn_") != 1 {
		t.Errorf("turns:\n%s", out)
	}
	if out := s.want("items", "--thread=mine", "--type=agent_message"); !strings.Contains(out, "two") || strings.Contains(out, "user_message") {
		t.Errorf("items:\n%s", out)
	}
}

func TestQuestionsAreListedAndAnswered(t *testing.T) {
	s := startServer(t)
	done := make(chan result, 1)
	go func() { done <- s.holon("run", "/ask Delete it?") }()
	var item string
	eventually(t, "the question waits", func() bool {
		var list struct {
			Items []itemRow `json:"items"`
		}
		if err := json.Unmarshal([]byte(s.want("respond", "-o", "json")), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 1 {
			item = list.Items[0].ID
		}
		return item != ""
	})
	if out := s.want("respond"); !strings.Contains(out, "Delete it?") || !strings.Contains(out, "allow_once") {
		t.Errorf("waiting:\n%s", out)
	}
	if out := s.holon("status"); !strings.Contains(out.out, "1 waiting") || !strings.Contains(out.err, "holon respond") {
		t.Errorf("status: %+v", out)
	}
	if r := s.holon("respond", item, "--option=bogus"); r.code != exitFailed || !strings.Contains(r.err, "its options are") {
		t.Errorf("wrong option: %+v", r)
	}
	if out := s.want("respond", item, "--allow"); !strings.Contains(out, "completed") {
		t.Errorf("answered: %s", out)
	}
	if r := s.holon("respond", item, "--reject"); r.code != exitFailed || !strings.Contains(r.err, "already_resolved") {
		t.Errorf("second answer: %+v", r)
	}
	r := <-done
	if r.code != exitOK || !strings.Contains(r.out, "answer: Allow") {
		t.Errorf("run: %+v", r)
	}
}

func TestSchemasCoverTheWholeSurface(t *testing.T) {
	openrpc := holon(t, t.TempDir(), "", "schema")
	methods := oneObject(t, openrpc.out)["methods"].([]any)
	definitions := oneObject(t, holon(t, t.TempDir(), "", "schema", "json").out)["$defs"].(map[string]any)
	types := holon(t, t.TempDir(), "", "schema", "ts").out
	page := holon(t, t.TempDir(), "", "schema", "markdown").out
	if len(methods) < 20 {
		t.Fatalf("%d methods", len(methods))
	}
	for _, method := range methods {
		name := method.(map[string]any)["name"].(string)
		if definitions[typeName(name)+"Params"] == nil || definitions[typeName(name)+"Result"] == nil {
			t.Errorf("no JSON Schema of %s", name)
		}
		if !strings.Contains(types, name) || !strings.Contains(page, name) {
			t.Errorf("TypeScript or page lack %s", name)
		}
	}
	for _, name := range []string{"ThreadStartedEvent", "ItemDeltaEvent", "StreamOpenedEvent"} {
		if definitions[name] == nil {
			t.Errorf("no JSON Schema of %s", name)
		}
	}
}
