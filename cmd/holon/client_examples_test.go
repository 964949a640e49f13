package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// clientExamples is where the programs of docs/clients.md are.
const clientExamples = "../../docs/examples/clients"

// The program of docs/clients.md, in four languages, follows a turn while connections
// break, the server is killed and the agent crashes. All end with the same view, which is
// that of the server.
func TestClientsOfTheDocumentationEndWithOneView(t *testing.T) {
	s := serveConfig(t, build(t, t.TempDir(), "./cmd/holon"), "auth = \"token\"\n[agents.echo]\nkind = \"echo\"\nbackoff_seconds = 0.05\n")
	token, err := os.ReadFile(filepath.Join(s.data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	programs, cuts := map[string]*process{}, map[string]<-chan int{}
	for name, args := range clientPrograms(t) {
		var address string
		address, cuts[name] = cutStreams(t, strings.TrimPrefix(s.url, "http://"), 900, 1700, 3100)
		environ := []string{
			"HOLON_URL=http://" + address,
			"HOLON_TOKEN=" + strings.TrimSpace(string(token)), "NO_PROXY=*", "PYTHONDONTWRITEBYTECODE=1",
		}
		programs[name] = startProcess(t, environ, args[0], append(args[1:], "one ä\n/ask Go on?\n/crash 2\ntwo 😀")...)
	}
	each := func(what string, holds func(p *process) bool) {
		t.Helper()
		for name, p := range programs {
			eventually(t, name+" "+what, func() bool { return holds(p) })
		}
	}
	takenBack := func(times int) func(*process) bool {
		return func(p *process) bool { return strings.Count(p.output.String(), "~ one ä\n") == times }
	}
	showsOne := func(p *process) bool { return slices.Equal(p.shown(), []string{"one ä"}) }

	each("shows the first message", showsOne)
	asked := s.questions(len(programs))
	s.process.kill()
	s.up()
	slices.Sort(asked)
	if open := slices.Sorted(slices.Values(s.questions(len(programs)))); !slices.Equal(asked, open) {
		t.Errorf("after the restart these questions are open: %v, before: %v", open, asked)
	}
	s.allowAll(asked) // the turns go on, and crash
	each("takes the message of the first attempt back", takenBack(1))
	each("shows the message of the second attempt", showsOne)
	s.allowAll(s.questions(len(programs))) // and it crashes
	each("takes the message of the second attempt back", takenBack(2))
	each("shows the message of the third attempt", showsOne)
	s.allowAll(s.questions(len(programs)))
	each("ends", func(p *process) bool {
		select {
		case <-p.exited:
			return true
		default:
			return false
		}
	})

	want := []string{"one ä", `"Go on?" was answered with allow_once`, "two 😀"}
	for thread, live := range s.liveMessages() {
		if !slices.Equal(live, want) {
			t.Errorf("the server says that these messages of %s are live: %q, want %q", thread, live, want)
		}
	}
	for name, p := range programs {
		out := p.output.String()
		if !slices.Equal(p.shown(), want) || !strings.HasSuffix(out, "\n= completed\n") || p.cmd.ProcessState.ExitCode() != 0 {
			t.Errorf("%s ends with %q, want %q, completed, and exit code 0. It said:\n%s", name, p.shown(), want, out)
		}
		if left := len(cuts[name]); left > 1 { // without deltas there may be no more
			t.Errorf("%d of the streams of %s were not cut", left, name)
		}
	}
}

// clientPrograms are the commands that run the programs. What is missing on this machine
// is left out aloud.
func clientPrograms(t *testing.T) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	for file, to := range map[string]string{
		clientExamples + "/client.py": "client.py", "../../clients/python/holon.py": "holon.py", clientExamples + "/client.mjs": "client.mjs",
	} {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	module, err := filepath.Abs("../../clients/js")
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "node_modules"), 0o700)
	}
	if err == nil {
		err = os.Symlink(module, filepath.Join(dir, "node_modules", "holon-client"))
	}
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string][]string{
		"go":         {build(t, dir, "./docs/examples/clients")},
		"python":     {"python3", filepath.Join(dir, "client.py")},
		"javascript": {"node", filepath.Join(dir, "client.mjs")},
		"shell":      {"bash", filepath.Join(clientExamples, "client.sh")},
	}
	for name, needed := range map[string][]string{"python": {"python3"}, "javascript": {"node"}, "shell": {"bash", "curl", "jq"}} {
		for _, command := range needed {
			if _, err := osexec.LookPath(command); err == nil {
				continue
			}
			if os.Getenv("REQUIRE_FAULTS") == "1" {
				hosttest.Need(t, command+" is missing")
			}
			t.Logf("NOT TESTED: the client in %s needs %s", name, command)
			delete(programs, name)
		}
	}
	return programs
}

// shown is what a program shows: what it has printed without what it took back.
func (p *process) shown() (texts []string) {
	for line := range strings.Lines(p.output.String()) {
		sign, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch sign {
		case "+":
			texts = append(texts, text)
		case "~":
			if i := slices.Index(texts, text); i >= 0 {
				texts = slices.Delete(texts, i, i+1)
			}
		}
	}
	return texts
}

// questions waits until so many are open, and returns their ids.
func (s *builds) questions(n int) (ids []string) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("%d questions are open", n), func() bool {
		ids = itemIDs.FindAllString(s.want("items", "--status=pending", "-o", "jsonl"), -1)
		return len(ids) == n
	})
	return ids
}

func (s *builds) allowAll(ids []string) {
	s.t.Helper()
	for _, id := range ids {
		s.want("respond", id, "--allow")
	}
}

// liveMessages are the messages of agents, by their thread, that the server calls live.
func (s *builds) liveMessages() map[string][]string {
	s.t.Helper()
	texts := map[string][]string{}
	list, _ := oneObject(s.t, s.want("call", "item/list", `{"type":"agent_message","limit":1000}`))["items"].([]any)
	for _, item := range list {
		item := item.(map[string]any)
		parts := item["content"].(map[string]any)["content"].([]any)
		thread := item["thread_id"].(string)
		if item["status"] == "completed" {
			texts[thread] = append(texts[thread], parts[0].(map[string]any)["text"].(string))
		}
	}
	return texts
}

// cutStreams returns the address of a proxy of a server, which cuts the first streams
// after so many bytes, one after the other, wherever that is. left are those to come.
func cutStreams(t *testing.T, server string, after ...int) (address string, left <-chan int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cuts := make(chan int, len(after))
	for _, n := range after {
		cuts <- n
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	keep := func(c net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, c)
	}
	t.Cleanup(func() {
		listener.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			keep(client)
			all.Go(func() { pass(client, server, cuts, keep) })
		}
	})
	return listener.Addr().String(), cuts
}

// pass passes the bytes of one connection on until either end closes it, or, after the
// request for a stream, until the next cut.
func pass(client net.Conn, address string, cuts <-chan int, keep func(net.Conn)) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return // the client sees that there is no server
	}
	keep(server)
	limit := make(chan int, 1)
	var requests sync.WaitGroup
	requests.Go(func() {
		defer server.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := client.Read(buffer)
			if err != nil {
				return
			}
			if bytes.HasPrefix(buffer[:n], []byte("GET /rpc/stream")) {
				select {
				case cut := <-cuts:
					limit <- cut
				default:
				}
			}
			if _, err := server.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	buffer := make([]byte, 64<<10)
	for left := -1; left != 0; {
		n, err := server.Read(buffer)
		if err != nil {
			break
		}
		select {
		case left = <-limit:
		default:
		}
		if left > 0 {
			n = min(n, left)
			left -= n
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			break
		}
	}
	client.Close()
	server.Close()
	requests.Wait()
}
