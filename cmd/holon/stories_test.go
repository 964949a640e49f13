package main

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// A reader of a story, who has nothing but its page and the program, pastes its blocks one after
// the other and sees what the page shows.
func TestTheStoriesOfTheDocuments(t *testing.T) {
	for _, name := range []string{"bash", "curl", "openssl", "python3"} {
		if _, err := osexec.LookPath(name); err != nil {
			hosttest.Need(t, name+" is not installed, so the stories of the documents are not run")
		}
	}
	binary := build(t, t.TempDir(), "./cmd/holon")
	pages, err := filepath.Glob("../../docs/stories/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d stories: %v", len(pages), err)
	}
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			t.Parallel()
			story(t, binary, page)
		})
	}
}

// story runs the commands of a page as one script. A block without a language is what the
// commands before it have printed.
func story(t *testing.T, binary, page string) {
	var script strings.Builder
	var shown []string // by command
	for _, block := range fencesOf(t, page) {
		switch block.language {
		case "sh":
			fmt.Fprintf(&script, "echo @@%d@@\n%s", len(shown), block.text)
			shown = append(shown, "")
		case "":
			shown[len(shown)-1] += block.text
		}
	}
	fmt.Fprintf(&script, "echo @@%d@@\n", len(shown))
	home := t.TempDir()
	p := startProcess(t, []string{
		"HOME=" + home, "TMPDIR=" + t.TempDir(), "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=",
		"HOLON_DATA=", "HOLON_URL=http://127.0.0.1:9", "HOLON_TOKEN=nobody", "NO_PROXY=*", // the server of the reader, which no command of a story may reach
	}, "bash", "-c", "cd '"+checkout(t, binary)+"' && set -eo pipefail\n"+script.String())
	select {
	case <-p.exited:
	case <-time.After(2 * time.Minute): // only so that it ends: it waits for conditions
		t.Fatal("the story does not end")
	}
	said := p.output.String()
	for i, want := range shown {
		_, rest, began := strings.Cut(said, fmt.Sprintf("@@%d@@\n", i))
		got, _, ended := strings.Cut(rest, fmt.Sprintf("@@%d@@\n", i+1))
		if !began || !ended {
			t.Fatalf("it ends in its block %d of %d", i+1, len(shown))
		}
		if want == "" {
			continue
		}
		if want, got := asShown(want), asShown(got); want != got {
			t.Errorf("%s shows of its block %d\n%s\nbut a reader sees\n%s", page, i+1, want, got)
		}
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("it leaves in the home of the reader %v, %v", left, err)
	}
}

// checkout is a directory with what a reader of the repository has after make build.
func checkout(t *testing.T, binary string) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{binary: "bin/holon", filepath.Join(root, "docs"): "docs", filepath.Join(root, "clients"): "clients"} {
		if err := os.Symlink(from, filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var (
	ofTheShell = regexp.MustCompile(`(?m)^[a-z]+: line \d+: +\d+ (Killed|Terminated|Hangup) .*\n`)
	idShown    = regexp.MustCompile(`\b(?:thread|turn|item|sub)_[0-9a-f-]{36}\b|\b(?:ent_|raw_|dig_|notif:me:)\d+\b|\binbox-[0-9a-f]{12}\b|\b[0-9a-f]{8}\b`)
	ofOneRun   = map[*regexp.Regexp]string{
		regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`):          "CLOCK",
		regexp.MustCompile(`<?\b\d+(\.\d+)?(ms|s|m|h)\b`): "TIME",
		regexp.MustCompile(`process \d+ on /\S+`):         "process N on DIR",
		regexp.MustCompile(`settled up to \d+.*`):         "settled",
		regexp.MustCompile(`(?m) +$`):                     "",
		regexp.MustCompile(` {2,}`):                       " ",
	}
)

// asShown is what was printed without what differs from run to run: times, and how wide a column
// is for them. Ids are numbers, so that the same one is the same.
func asShown(text string) string {
	text = ofTheShell.ReplaceAllString(text, "")
	ids := map[string]string{}
	text = idShown.ReplaceAllStringFunc(text, func(id string) string {
		if ids[id] == "" {
			ids[id] = fmt.Sprintf("ID-%d", len(ids)+1)
		}
		return ids[id]
	})
	for found, as := range ofOneRun {
		text = found.ReplaceAllString(text, as)
	}
	return strings.TrimSpace(text)
}
