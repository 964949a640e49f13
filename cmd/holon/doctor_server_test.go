package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/rpc/client"
)

// doctorSays runs doctor and returns what it says, which must have these texts.
func (p *user) doctorSays(code int, args []string, texts ...string) string {
	p.t.Helper()
	r := p.holon(append([]string{"doctor", "--skip-agents", "--skip-bridges"}, args...)...)
	if r.code != code {
		p.t.Errorf("doctor %v: exit %d, want %d\n%s%s", args, r.code, code, r.out, r.err)
	}
	contains(p.t, r.out, texts...)
	return r.out
}

func TestDoctorAsksTheServerThatOtherCommandsUse(t *testing.T) {
	s, p := startRemote(t), newUser(t)
	at := "server         " + s.url + " (from --url) answers: version test, "
	for _, c := range []struct {
		p    *user
		args []string
		want string
	}{
		{p, []string{"--url", s.url, "--ca", s.ca, "--token-file", secretFile(t, s.token)}, "the token is from --token-file\n"},
		{p.with("HOLON_TOKEN=" + s.newToken("ci", "--role", "read")), []string{"--url", s.url, "--ca", s.ca}, "the token is ci (read), from HOLON_TOKEN\n"},
	} {
		out := c.p.doctorSays(exitOK, c.args, "ok       "+at, c.want, "not looked at: ")
		if strings.Contains(out, "ok       log ") {
			t.Errorf("%v: it looks at files that are not that server's:\n%s", c.args, out)
		}
	}
	p.doctorSays(exitFailed, []string{"--url", s.url}, "error    server         the certificate of "+s.url+" is not trusted", "or its own if it has signed itself, from there by a way that you trust, and name it: --ca FILE")
	p.doctorSays(exitFailed, []string{"--url", s.url, "--ca", s.ca}, "error    server         ", "which you keep with: holon login "+s.url)
	p.doctorSays(exitFailed, []string{"--url", s.url, "--ca", s.ca, "--token-file", secretFile(t, "wrong-0123456789-0123456789")}, "(--token-file) is not valid there.")
	p.doctorSays(exitFailed, []string{"--url", "http://127.0.0.1:1"}, "error    server         no server at http://127.0.0.1:1 (--url)")

	p.must(s.token, "login", s.url, "--ca", s.ca)
	p.with("HOLON_URL="+s.url).doctorSays(exitOK, nil, strings.Replace(at, "--url", "HOLON_URL", 1), "the token is from the profile\n")
	p.fails(exitUsage, "", []string{"doctor", "--url", s.url, "--refold"}, "run it where the server runs")
	p.fails(exitUsage, "", []string{"doctor", "--url", "ftp://a"}, "ftp://a")
	if report := oneObject(t, p.must("", "doctor", "-o", "json", "--url", s.url).out); report["server"] != s.url || report["ok"] != true || report["data"] != nil {
		t.Errorf("%v", report)
	}
}

func TestDoctorLooksAtTheFilesOfItsServer(t *testing.T) {
	s, other := startServer(t), startServer(t)
	for _, s := range []*server{s, other} {
		if err := os.Chmod(s.data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p := newUser(t)
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		t.Fatal(err)
	}
	url := record.URLs[0]
	p.with("HOLON_DATA="+s.data).doctorSays(exitOK, []string{"--url", url}, "answers: version test", "log            13 checks; ")
	p.doctorSays(exitOK, []string{"--data", s.data}, "(from "+s.data, "log            13 checks; ")
	p.doctorSays(exitOK, []string{"--data", other.data, "--url", url, "--token-file", filepath.Join(s.data, "token")}, "warning  server         the log in "+other.data+" is not that of the server: ", "log            13 checks; ")
	s.stop()
	p.doctorSays(exitOK, []string{"--data", s.data}, "ok       server         none runs on "+s.data+"\n", "log            13 checks; ")
}

// Problems come first, and what is fine is a line for each area; -o json has every check.
func TestDoctorPrintsProblemsFirst(t *testing.T) {
	s := startServer(t)
	if err := os.Chmod(s.data, 0o755); err != nil {
		t.Fatal(err)
	}
	p := newUser(t)
	out := p.doctorSays(exitFailed, []string{"--data", s.data})
	lines := strings.Split(strings.TrimSpace(out), "\n")
	want := []string{"error    permissions    ", "ok       server         ", "ok       machine        ", "ok       log            13 checks; 0 events, seq 1 to 0", "ok       data           writable; free: "}
	for i, line := range lines {
		if i >= len(want) || !strings.HasPrefix(line, want[i]) {
			t.Fatalf("line %d is not as it should be:\n%s", i+1, out)
		}
	}
	if len(lines) != len(want) {
		t.Errorf("%d lines:\n%s", len(lines), out)
	}
	report := oneObject(t, p.holon("doctor", "--skip-agents", "--skip-bridges", "-o", "json", "--data", s.data).out)
	checks := report["findings"].([]any)
	all := p.doctorSays(exitFailed, []string{"--all", "--data", s.data})
	if n := strings.Count(all, "\n"); n != len(checks) || n < 18 || !strings.HasPrefix(all, "ok       server ") {
		t.Errorf("%d checks, %d with --all:\n%s", len(checks), n, all)
	}
}

// An agent may be on the PATH of the shell that types the command, and not on the server's.
func TestDoctorComparesThePathOfTheServer(t *testing.T) {
	s := startServer(t)
	if err := os.Chmod(s.data, 0o700); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, mode := range map[string]os.FileMode{"opencode": 0o755, "gemini": 0o644} { // one cannot be run
		if err := os.WriteFile(filepath.Join(bin, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	p, server := newUser(t), os.Getenv("PATH")
	p.with("PATH="+server).doctorSays(exitOK, []string{"--all", "--data", s.data}, "ok       path           the server looks for agents where this shell does\n")
	out := p.with("PATH="+bin+":"+server).doctorSays(exitOK, []string{"--data", s.data}, "warning  path           opencode is in "+bin+", which is not on the server's PATH: ")
	if strings.Contains(out, "gemini") {
		t.Errorf("it names what cannot be run:\n%s", out)
	}
	p.with("PATH="+t.TempDir()+":"+server).doctorSays(exitOK, []string{"--all", "--data", s.data}, "ok       path           the server looks for agents elsewhere than this shell, and finds the same\n")
	record, err := client.ReadServerFile(s.data)
	if err != nil || record.Path != server {
		t.Errorf("server.json has the path %q, %v", record.Path, err)
	}
}
