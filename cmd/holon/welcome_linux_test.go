package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/seed82539d15/holon/rpc/client"
)

// serveOnTerminal serves on a terminal, with these programs on the PATH, and returns what
// a person sees.
func serveOnTerminal(t *testing.T, programs []string, args ...string) (seen, data string) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s := &server{t: t, data: t.TempDir()}
	terminal := s.openTerminal(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	terminal.await("Ctrl-C stops the server")
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil { // the server waits for it
		t.Fatal(err)
	}
	if code := terminal.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	return strings.ReplaceAll(terminal.seen.String(), "\r", ""), s.data
}

func TestServeOnATerminalSaysWhatToDoNext(t *testing.T) {
	seen, data := serveOnTerminal(t, []string{"codex", "gemini", "opencode"}, "--agent", "opencode", "--agent", "mine=acp:/opt/x --acp", "--max-active-turns", "7")
	program := seen[strings.Index(seen, "In another terminal:\n  ")+len("In another terminal:\n  "):]
	program, _, _ = strings.Cut(program, " ")
	again := program + " serve --listen 127.0.0.1:0 --agent opencode --agent 'mine=acp:/opt/x --acp' --max-active-turns 7 --agent "
	for _, line := range []string{
		"  " + program + " --data " + data,
		"  " + program + " run --data " + data + ` --agent echo "hello"     # costs nothing`,
		"Agents of this server:",
		"  mine      " + program + " run --data " + data + ` --agent mine "what does this project do?"`,
		"  opencode  " + program + " run --data " + data + ` "what does this project do?"`,
		"More coding agents on this machine:",
		"  codex     npm install -g @agentclientprotocol/codex-acp@2.6.0; then " + again + "codex",
		"  gemini    restart the server with it: " + again + "gemini",
	} {
		if !strings.Contains(seen, "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	for _, not := range []string{"claude", "try:", "No coding agent", "{"} {
		if strings.Contains(seen, not) {
			t.Errorf("it says %q", not)
		}
	}
	if t.Failed() {
		t.Log(seen)
	}
}

func TestServeOnATerminalSaysThatNoAgentIsThere(t *testing.T) {
	seen, _ := serveOnTerminal(t, nil)
	contains(t, seen, " is serving on http://127.0.0.1:", "\nIn a browser:\n  http://127.0.0.1:", "No coding agent is on the PATH.", "doctor --data ", " --agent opencode, or docs/agents.md")
	if strings.Contains(seen, "on this machine") || strings.Contains(seen, "of this server") {
		t.Error(seen)
	}
}

func TestServeOnATerminalSaysHowToUseWhatIsConfigured(t *testing.T) {
	seen, data := serveOnTerminal(t, nil, "--agent", "git=exec:git log -5")
	contains(t, seen, "Agents of this server:\n  git  ", ` run --data `+data+` "hello"`+"\n")
	for _, not := range []string{"No coding agent", "on this machine"} {
		if strings.Contains(seen, not) {
			t.Errorf("it says %q:\n%s", not, seen)
		}
	}
}

// A person reads words only; whoever asks for the log gets it in words, too.
func TestServeOnATerminalSpeaksInWords(t *testing.T) {
	seen, _ := serveOnTerminal(t, []string{"codex"})
	contains(t, seen, "\nCoding agents on this machine:\n  codex ", "\nStopping; running turns get 6s to end. Ctrl-C again stops at once.\n")
	if strings.Contains(seen, "{") || strings.Contains(seen, "recovered") {
		t.Errorf("that is no word:\n%s", seen)
	}
	asked, _ := serveOnTerminal(t, nil, "--log-level", "info")
	if !regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d recovered \(took \S+\)$`).MatchString(asked) || strings.Contains(asked, "{") {
		t.Errorf("the log that was asked for:\n%s", asked)
	}
}

// Whoever is no terminal gets entries of the log.
func TestServeElsewhereSaysLess(t *testing.T) {
	s := startServer(t)
	contains(t, s.log.String(), " is serving on http://127.0.0.1:", "console: http://127.0.0.1:")
	if strings.Contains(s.log.String(), "In another terminal") || strings.Contains(s.log.String(), "try: ") {
		t.Error(s.log.String())
	}
}

// All of stderr is JSON, or all of it is text, also what is said before the server runs and
// at its end.
func TestServeWritesOneFormat(t *testing.T) {
	s := startServer(t) // its directory is locked
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		t.Fatal(err)
	}
	url := record.URLs[0]
	for name, args := range map[string][]string{
		"the directory is in use":     {"--data", s.data},
		"a setting is wrong":          {"--data", t.TempDir(), "--auth", "maybe"},
		"an address is in use":        {"--data", t.TempDir(), "--listen", strings.TrimPrefix(url, "http://")},
		"an agent cannot be made":     {"--data", t.TempDir(), "--agent", "a=worker", "--default-agent", "b"},
		"the address has nobody":      {"--data", t.TempDir(), "--listen", "203.0.113.1:1", "--auth", "none"},
		"a certificate is not there":  {"--data", t.TempDir(), "--tls-cert", "/none", "--tls-key", "/none"},
		"the directory is not usable": {"--data", "/dev/null/none"},
		"the settings are not there":  {"--config", "/none"},
		"there is no such flag":       {"--HOLON_NONSENSE"},
		"a flag has no number":        {"--max-queue", "HOLON_NONSENSE"},
		"a word is too many":          {"HOLON_NONSENSE"},
	} {
		for _, format := range []string{"json", "text"} {
			var errs buffer
			g := &globals{console: console{in: strings.NewReader(""), out: &buffer{}, err: &errs, environ: []string{"HOLON_NONSENSE=1", "XDG_CONFIG_HOME=" + t.TempDir()}}}
			if code := execute(t.Context(), g, append([]string{"serve", "--log-format", format}, args...)); code == exitOK {
				t.Errorf("%s: it has ended well", name)
			}
			oneFormat(t, name, format, errs.String())
			contains(t, errs.String(), "holon: ")
			if name != "the settings are not there" {
				contains(t, errs.String(), "HOLON_NONSENSE")
			}
		}
	}
	s.stop()
	oneFormat(t, "a server that has run", "json", s.log.String())
}

func oneFormat(t *testing.T, name, format, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var entry struct{ Level, Time, Message string }
		err := json.Unmarshal([]byte(line), &entry)
		if is := err == nil && entry.Level != "" && entry.Time != "" && entry.Message != ""; is != (format == "json") {
			t.Errorf("%s: this is not %s: %s", name, format, line)
		}
	}
}
