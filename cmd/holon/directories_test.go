package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A thread without a cwd works in that of its agent, else in the server's directory: its
// summary says which, and what git knows of it. echo, which
// writes no files, is as the others.
func TestSummariesSayWhereAgentsWork(t *testing.T) {
	servers, agents, threads := repository(t, "servers"), repository(t, "agents"), repository(t, "threads")
	t.Chdir(servers)
	s := &server{t: t, data: t.TempDir(), agents: agentsOf(t, "bare=exec:pwd", "set=exec:pwd")}
	set := s.agents["set"]
	set.Cwd = agents
	s.agents["set"] = set
	s.start()
	for _, c := range []struct{ agent, cwd, want string }{
		{"bare", "", servers}, {"set", "", agents}, {"bare", threads, threads}, {"set", threads, threads},
		{"echo", "", servers}, {"echo", threads, threads},
	} {
		args := []string{"run", "--agent=" + c.agent}
		if c.cwd != "" {
			args = append(args, "--cwd="+c.cwd)
		}
		if out := s.want(append(args, "go")...); c.agent != "echo" && !strings.Contains(out, c.want) {
			t.Errorf("%v: it works elsewhere:\n%s", c, out)
		}
		branch := ""
		if c.want != "" {
			branch = filepath.Base(c.want)
		}
		listed := s.seen("thread/list", `{"view":"summary","order":"desc","limit":1}`, branch)
		read := s.seen("thread/read", `{"thread_id":"`+listed.ID+`"}`, branch)
		if got := listed.Summary; got.Cwd != c.want || got.Git.Branch != branch || read != listed {
			t.Errorf("%v: listed as %+v, read as %+v", c, listed, read)
		}
	}
}

// repository makes a repository without a commit, on a branch of its own name.
func repository(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, name)
	command(t, ".", "git", "init", "-q", "-b", name, dir)
	return dir
}

// seenThread is what a summary says of a thread's directory.
type seenThread struct {
	ID      string `json:"thread_id"`
	Summary struct {
		Cwd string
		Git struct{ Branch string }
	}
}

// seen is the first thread of a result. git is read in the background, so it is waited
// for if there is to be a branch.
func (s *server) seen(method, params, branch string) (t seenThread) {
	s.t.Helper()
	eventually(s.t, "git is read: "+method+" "+params, func() bool {
		var r struct {
			Thread  seenThread
			Threads []seenThread
		}
		if err := json.Unmarshal([]byte(s.want("call", method, params)), &r); err != nil {
			s.t.Fatal(err)
		}
		t = append(r.Threads, r.Thread)[0]
		return branch == "" || t.Summary.Git.Branch != ""
	})
	return t
}

// A name that JSON cannot have is refused: neither the directory nor the title becomes
// another one.
func TestANameThatIsNotUTF8IsRefused(t *testing.T) {
	s := startServer(t)
	dir := filepath.Join(t.TempDir(), "caf\xe9")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(strings.ToValidUTF8(dir, "\ufffd"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		`caf\xe9`:          {"run", "--cwd=" + dir, "go"},
		"--cwd":            {"chat", "--plain", "--cwd=" + dir},
		"title is not":     {"run", "--title=caf\xe9", "go"},
		"cwd is not UTF-8": {"call", "thread/start", `{"cwd":"` + dir + `"}`},
	} {
		if r := holon(t, s.data, "", args...); r.code == exitOK || !strings.Contains(r.err, want) {
			t.Errorf("%q: %+v", args, r)
		}
	}
	t.Chdir(dir)
	if r := holon(t, s.data, "", "run", "--cwd=.", "go"); r.code != exitUsage {
		t.Errorf("here: %+v", r)
	}
	if out := s.want("threads", "-o", "json"); strings.Contains(out, "thread_id") {
		t.Errorf("started %s", out)
	}
}
