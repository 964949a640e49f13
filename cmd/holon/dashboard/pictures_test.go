package dashboard_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/picturetest"
	"github.com/seed82539d15/holon/internal/test/terminaltest"
	"github.com/seed82539d15/holon/rpc/client"
)

// The size of the terminals in the pictures.
const pictureWidth, pictureHeight = 116, 22

// TestPictures draws the pictures of the documents from real screens, if PICTURES names
// the directory for them.
func TestPictures(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("NOT TESTED: pictures are drawn by make pictures")
	}
	t.Run("dashboard", func(t *testing.T) { pictureOfTheDashboard(t, dir) })
	t.Run("resume", func(t *testing.T) { movieOfAResume(t, dir) })
}

// keep writes a picture. It must not show where it was drawn.
func keep(t *testing.T, dir, name string, svg []byte) {
	t.Helper()
	if here, err := os.Getwd(); err != nil || bytes.Contains(svg, []byte(here)) {
		t.Fatalf("%s shows the directory of the tests, %s (%v)", name, here, err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), svg, 0o644); err != nil {
		t.Fatal(err)
	}
}

// project makes a repository with a branch and changes, at a path that is short enough
// to be read in a picture.
func project(t *testing.T, name, branch string, added int) string {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "ada", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\ntwo\n")
	for _, args := range [][]string{{"init", "-q", "-b", branch}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write("two\n" + strings.Repeat("more\n", added))
	return dir
}

func pictureOfTheDashboard(t *testing.T, dir string) {
	w := newWorld(t)
	w.serve("data")
	shop, docs, parser := project(t, "shop", "fix-login", 41), project(t, "docs", "main", 7), project(t, "parser", "port", 312)
	in := func(cwd, title, prompt string) {
		relative, err := filepath.Rel(w.dir, cwd)
		if err != nil {
			t.Fatal(err)
		}
		w.thread(title, relative, prompt)
	}
	in(shop, "Speed up the import", "The import takes 4 s instead of 31 s: one query for each page instead of one for each row.")
	in(parser, "Write the migration", "/progress reading schema.sql\n/sleep 3600000")
	in(shop, "Fix the login page", "/ask Run: rm -rf build && npm test?")
	time.Sleep(130 * time.Second) // the picture shows minutes
	in(parser, "Port the parser", "/fail the model is overloaded")
	in(docs, "Release notes 2.4", "/progress comparing 48 commits\n/sleep 3600000")
	time.Sleep(65 * time.Second)
	in(docs, "Update the docs", "/ask Push to origin/main?")
	term := terminaltest.Start(t, pictureWidth, pictureHeight, w.env("data"), w.holon)
	term.AwaitText("2 need you", "2 working", "1 failed", "origin/main?", "fix-login", "uncommitted: +41")
	keep(t, dir, "dashboard.svg", picturetest.Picture(pictureWidth, pictureHeight,
		"The dashboard: two of six agents need an answer, two work, one has failed, one is done", term.Colours()))
}

// coder is the agent of the movie: a command that takes its time.
const coder = `for line in "Reading import.go." "Found it: one query for each row." "Changing it to one query for each page." ` +
	`"Running the tests." "All 214 tests pass. The import takes 4 s instead of 31 s."; do echo "$line"; sleep 1; done`

// movieOfAResume kills a server in the middle of a turn. The command that watches waits
// for it to come back, and the turn is tried again.
func movieOfAResume(t *testing.T, dir string) {
	w := newWorld(t)
	script := filepath.Join(w.dir, "coder")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"+coder+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.serve("data", "--agent", "coder=exec:"+script)
	term := terminaltest.Start(t, pictureWidth, 16, append(w.env("data"), "PS1=$ "), "sh")
	var frames []picturetest.Frame
	caption := ""
	shoot := func(long time.Duration) {
		f := picturetest.Frame{Capture: term.Colours(), Caption: caption, For: long}
		if n := len(frames); n > 0 && frames[n-1].Capture == f.Capture && frames[n-1].Caption == f.Caption {
			frames[n-1].For += long
			return
		}
		frames = append(frames, f)
	}
	shootUntil := func(what string, is func(screen string) bool) {
		term.Await(what, func(screen string) bool {
			shoot(220 * time.Millisecond)
			time.Sleep(200 * time.Millisecond) // the pace of the movie
			return is(screen)
		})
	}
	term.Type("cd " + project(t, "shop", "fix-login", 41) + "; alias holon=" + w.holon + "; clear\n")
	term.Await("the shell is ready", func(screen string) bool { return strings.TrimSpace(screen) == "$" })
	shoot(600 * time.Millisecond)
	term.Type(`holon run --max-attempts 3 "speed up the import"`)
	shoot(1500 * time.Millisecond)
	term.Keys("Enter")
	shootUntil("the turn runs", func(screen string) bool { return strings.Contains(screen, "for each page") })
	record, err := client.ReadServerFile(w.data("data"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(record.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	caption = "elsewhere: kill -9 of the server"
	for range 10 {
		shoot(220 * time.Millisecond)
		time.Sleep(200 * time.Millisecond)
	}
	caption = "elsewhere: it is started again"
	w.serve("data", "--agent", "coder=exec:"+script)
	shootUntil("it is back", func(screen string) bool { return strings.Contains(screen, "attempt 2") })
	caption = ""
	shootUntil("the turn ends", func(screen string) bool { return strings.Contains(screen, "completed") })
	shoot(5 * time.Second)
	keep(t, dir, "resume.svg", picturetest.Movie(pictureWidth, 16,
		"A turn is running; its server is killed with -9 and started again; the turn is tried again and completes", frames))
}
