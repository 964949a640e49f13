package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// A person gives work to a thread that exists, and sees what becomes of it.
func TestRunGivesWorkToAThreadThatExists(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=lead", "hello")
	s.want("run", "--thread=release", "hello")
	r := s.holon("run", "--background", "--parent=lead", "--thread=release", "--title=the date", "/ask tomorrow?")
	turn, _, _ := strings.Cut(r.out, ":")
	contains(t, r.out, "active, in thread release")
	contains(t, r.err, "Its thread is not below lead: it reads the prompt as words of lead", "Its end goes into the inbox of lead")
	s.want("run", "--background", "--parent=lead", "--thread=release", "--title=another", "/say of the queue")
	s.want("run", "--background", "--parent=lead", "--title=kid", "--thread=kid", "/sleep 600000")
	eventually(t, "it asks", func() bool { return strings.Contains(s.want("tree", "release"), "asks") })
	const want = `✓ lead         completed in TIME
├─ ? the date  asks, TIME, background, in thread release
├─ ○ another   queued, background, in thread release
└─ ▶ kid       running, TIME, background  kid
`
	if got := laidOut(s.want("tree", "lead")); got != laidOut(want) {
		t.Errorf("got\n%s\nwant\n%s", got, laidOut(want))
	}
	contains(t, s.want("tree", "lead", "-o=json"), `"outside"`)
	if got, want := laidOut(s.want("tree", "release")), "? release  asks, TIME, background, 1 queued"; !strings.HasPrefix(got, laidOut(want)) {
		t.Errorf("the thread that works has the title of the work: got\n%s\nwant\n%s", got, laidOut(want))
	}
	r = s.holon("await", "--owner=lead", turn)
	if r.code != exitFailed || !strings.Contains(r.err, "is not waited for here. To wait for it: holon await "+turn) {
		t.Errorf("it waits: %+v", r)
	}
	a := s.follow("attach", "release")
	eventually(t, "attach shows it", func() bool { return strings.Contains(a.out.String(), ", for lead: the date") })
	s.want("respond", short(itemIDs.FindString(s.want("respond", "--long"))), "--allow")
	contains(t, s.want("await", turn), `"the date": completed`)
	eventually(t, "attach shows the next", func() bool { return strings.Contains(a.out.String(), ", for lead: another") })
	a.cancel()
	<-a.codes
	if strings.Contains(a.out.String(), "child: ") {
		t.Errorf("what works for lead is shown as the work of release's children:\n%s", a.out.String())
	}
}

func TestWorkInAThreadThatExistsIsRefusedWithWhatToDo(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=lead", "hello")
	s.want("run", "--thread=release", "hello")
	s.want("run", "--background", "--parent=lead", "--thread=kid", "hello")
	s.want("call", "thread/start", `{"thread_id":"box","agent":"mailbox"}`)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--parent=lead", "--thread=release"}, "With --background the turn runs in that thread"},
		{[]string{"--background", "--parent=kid", "--thread=lead"}, "A message can go there: holon inbox send THREAD"},
		{[]string{"--background", "--parent=lead", "--thread=box"}, "A message can go there: holon inbox send THREAD"},
		{[]string{"--background", "--parent=lead", "--thread=release", "--agent=echo"}, "exists with another agent, cwd or parent"},
	} {
		if r := s.holon(append(append([]string{"run"}, c.args...), "x")...); r.code != exitFailed || !strings.Contains(r.err, c.want) {
			t.Errorf("%v: exit %d, %s", c.args, r.code, r.err)
		}
	}
}

// An agent starts work where its configuration says, lists it and stops it, and does nothing
// else with it.
func TestAnAgentWorksInThreadsThatItsConfigurationNames(t *testing.T) {
	s := &server{t: t, data: t.TempDir(), agents: agentsOf(t, "echo=echo", "builds=worker")}
	s.listen = []string{"unix:" + s.socket()}
	builds := s.agents["builds"]
	builds.Worker.Lease, builds.Worker.ClaimTimeout, builds.WorkIn = time.Hour, 0, []string{"release"}
	s.agents["builds"] = builds
	s.start()
	own := s.claim("own")
	s.want("run", "--thread=release", "hello")
	s.want("run", "--thread=private", "hello")
	call := func(tool, args string) (text string, data turns.StartResult) {
		t.Helper()
		status, answer := own.tool(t, own.Access.Token, useTool(tool, args))
		var m struct {
			Result struct {
				Content []struct{ Text string }
				Data    turns.StartResult `json:"structuredContent"`
			} `json:"result"`
		}
		_, raw, ok := strings.Cut(answer, "data: ")
		if err := json.Unmarshal([]byte(raw), &m); status != 200 || !ok || err != nil || len(m.Result.Content) != 1 {
			t.Fatalf("%s: %d %v %s", tool, status, err, answer)
		}
		return m.Result.Content[0].Text, m.Result.Data
	}
	itself := s.person("HOLON_TOKEN="+own.Access.Token, "HOLON_URL="+s.address()) // the command, as a program of the agent
	contains(t, itself.must("", "run", "-q", "--background", "--parent=own", "--thread=release", "/say of the command").out, "turn_")
	if r := itself.types("", "run", "--background", "--parent=own", "--thread=private", "/say a secret"); r.code != exitFailed || !strings.Contains(r.err, "builds may start work in no others than: release") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	for args, want := range map[string]string{
		`{"thread_id":"private","prompt":"/say a secret","background":true}`:           "builds may start work in no others than: release (work_in in its configuration)",
		`{"thread_id":"release","prompt":"/say x"}`:                                    "give background: true for outside work, which no turn waits for",
		`{"thread_id":"release","prompt":"/say x","background":true,"wait_seconds":5}`: "wait_seconds: does not go with outside work",
	} {
		if text, _ := call("work_start", args); !strings.Contains(text, want) {
			t.Errorf("%s: %s", args, text)
		}
	}
	text, work := call("work_start", `{"thread_id":"release","prompt":"/say I look\n/sleep 600000","background":true,"title":"the date"}`)
	contains(t, text, "Started turn "+work.TurnID+" in thread release.", "no turn waits for it, and neither does work_await")
	id := fmt.Sprintf(`"turn_id":%q`, work.TurnID)
	eventually(t, "it has said something", func() bool {
		text, _ := call("work_list", "{}")
		return strings.Contains(text, "I look")
	})
	text, _ = call("work_list", "{}")
	contains(t, text, work.TurnID+` "the date" in thread release (not below yours) is running`, "Do not wait for them: their ends arrive in your inbox.")
	text, _ = call("work_list", fmt.Sprintf(`{"turn_ids":[%q]}`, work.TurnID))
	contains(t, text, "I look")
	text, _ = call("work_await", `{"timeout_seconds":60}`)
	contains(t, text, "Do not wait for them")
	for tool, args := range map[string]string{
		"work_send": `{` + id + `,"text":"hurry"}`, "work_review": `{` + id + `,"verdict":"approved"}`,
	} {
		if text, _ := call(tool, args); !strings.Contains(text, "it must be of a thread below the agent's own") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	text, _ = call("work_stop", `{`+id+`}`)
	contains(t, text, work.TurnID)
	eventually(t, "its end is told", func() bool {
		text, _ := call("work_await", "{}")
		return strings.Contains(text, "was interrupted")
	})
}

func TestDoctorKnowsTheThreadsInWhichAgentsMayWork(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=release", "hello")
	file := filepath.Join(t.TempDir(), "holon.toml")
	if err := os.WriteFile(file, []byte("[agents.far]\nkind = \"worker\"\nwork_in = [\"release\", \"realese\", \"*\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.holon("doctor", "--config", file, "--all")
	if !strings.Contains(strings.Join(strings.Fields(r.out), " "), "warning agent far work_in names what is no thread of the running server: realese. It takes ids: holon threads -o json lists them") {
		t.Errorf("exit %d:\n%s%s", r.code, r.out, r.err)
	}
}
