package acp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAThreadGoesOnInAnotherDirectory changes the directory of a thread between its
// prompts: in the process that has its session, with one process or one for each thread,
// and when the settings are changed.
func TestAThreadGoesOnInAnotherDirectory(t *testing.T) {
	for words, origin := range map[string]string{"": "resumed", "no-resume": "loaded", "no-close": "resumed"} {
		for _, apart := range []bool{false, true} {
			from, to := t.TempDir(), t.TempDir()
			th := bad(t, words+" state="+t.TempDir()+"/s", func(c *Config) { c.ProcessPerThread = apart }).thread("t")
			th.cwd = from
			if got := th.run("cwd"); got != from {
				t.Fatalf("works in %s", got)
			}
			th.cwd = to
			session := th.sessionID
			if got := th.run("cwd\nsession\nhistory"); !strings.HasPrefix(got, to+"|") || !strings.Contains(got, origin) || !strings.Contains(got, "cwd") || th.sessionID != session {
				t.Errorf("%q: %q in the session %s, before %s", words, got, th.sessionID, session)
			}
			th.cwd = from
			th.configured(map[string]string{"mode": `"code"`})
			if got := th.run("cwd\nsettings"); !strings.HasPrefix(got, from+"|") || !strings.Contains(got, `"mode":"code"`) {
				t.Errorf("%q: %q", words, got)
			}
			th.clean()
			th.r.counts(1)
			th.r.stop()
			if said := th.r.host.said(); said != "" {
				t.Errorf("%q: outside %q", words, said)
			}
		}
	}
}

// TestASessionThatIsNotFoundInTheNewDirectoryIsSaid is about agents that keep their
// sessions by directory.
func TestASessionThatIsNotFoundInTheNewDirectoryIsSaid(t *testing.T) {
	th := bad(t, "by-cwd state="+t.TempDir()+"/s").thread("t")
	th.cwd = t.TempDir()
	th.run("say first")
	th.cwd = t.TempDir()
	sink, _ := th.prompt(t.Context(), "cwd")
	if told := notices(sink); said2(sink) != th.cwd || len(told) != 1 || !strings.Contains(told[0], "has lost the session") {
		t.Errorf("%q, %q", said2(sink), told)
	}
	th.clean()
}

// TestTheSameDirectoryIsNotOpenedAgain: how it is written does not count.
func TestTheSameDirectoryIsNotOpenedAgain(t *testing.T) {
	dir := t.TempDir()
	th := bad(t, "", func(c *Config) { c.Cwd = dir }).thread("t") // without a state a closed session is lost
	th.run("say x")
	for _, same := range []string{dir, dir + "/", filepath.Join(dir, ".") + string(os.PathSeparator) + "."} {
		th.cwd = same
		sink, _ := th.prompt(t.Context(), "session")
		if got := said2(sink); !strings.Contains(got, "new") || len(notices(sink)) != 0 {
			t.Errorf("%s: %q, %q", same, got, notices(sink))
		}
	}
}
