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
	at := "server         " + s.url + " (from --url) answers: version test, log_"
	for _, c := range []struct {
		p    *user
		args []string
		want string
	}{
		{p, []string{"--url", s.url, "--ca", s.ca, "--token-file", secretFile(t, s.token)}, "the token is from --token-file\n"},
		{p.with("HOLON_TOKEN=" + s.newToken("ci", "--role", "read")), []string{"--url", s.url, "--ca", s.ca}, "the token is ci (read), from HOLON_TOKEN\n"},
	} {
		out := c.p.doctorSays(exitOK, c.args, "ok       "+at, c.want, "not looked at: ")
		if strings.Contains(out, "integrity") {
			t.Errorf("%v: it looks at files that are not that server's:\n%s", c.args, out)
		}
	}
	p.doctorSays(exitFailed, []string{"--url", s.url}, "error    server         the certificate of "+s.url+" is not trusted", "or its own if it has signed itself, from there by a way that you trust, and name it: --ca FILE")
	p.doctorSays(exitFailed, []string{"--url", s.url, "--ca", s.ca}, "error    server         ", "Keep its token with: holon login "+s.url+". It is in the file token")
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
	p.with("HOLON_DATA="+s.data).doctorSays(exitOK, []string{"--url", url}, "answers: version test", "integrity")
	p.doctorSays(exitOK, []string{"--data", s.data}, "(from "+s.data, "integrity")
	p.doctorSays(exitOK, []string{"--data", other.data, "--url", url, "--token-file", filepath.Join(s.data, "token")}, "warning  server         "+other.data+" has log_", "integrity")
	s.stop()
	p.doctorSays(exitOK, []string{"--data", s.data}, "ok       server         none runs on "+s.data+"\n", "integrity")
}
