package browsertest

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// A thread gets a name, which stays when its agent proposes another one, until it is given back.
func TestAThreadIsRenamed(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, badAgent(t))
		thread := s.thread("coder", nil)
		s.ended(thread, "title What the agent calls it")
		p := open(t, s, f, "#/thread/"+thread)
		p.sees("h1", "What the agent calls it")
		p.press("header button", "Rename")
		p.write("form.ask input", "The parser of dates")
		p.press("form.ask button", "Rename")
		p.sees("h1", "The parser of dates")
		p.seesNot("form.ask", "")
		p.noWiderThanTheScreen()
		s.ended(thread, "title What the agent calls it now")
		p.untilSeq()
		p.goTo("#/")
		p.sees("li.card", "The parser of dates")

		p.goTo("#/thread/" + thread)
		p.press("header button", "Rename")
		p.holds("form.ask input", "The parser of dates")
		p.eval("document.querySelector('form.ask input').select()")
		p.key("\b")
		p.holds("form.ask input", "")
		p.press("form.ask button", "Rename")
		p.seesNot("h1", "The parser of dates")
		s.ended(thread, "title Its third name")
		p.sees("h1", "Its third name")
		p.press("header button", "Rename")
		p.holds("form.ask input", "")
	})
}

// Lines that were changed are said of the directory once, where one looks at a thread, and not
// beside each thread that works there.
func TestTheListDoesNotRepeatTheDirectorysLines(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "config.toml"}, {"-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-q", "-m", "first"}} {
			git := exec.Command("git", append([]string{"-C", s.root}, args...)...)
			git.Env = s.env
			if out, err := git.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		if err := os.WriteFile(s.path("config.toml"), []byte("# another line\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		thread := s.thread("echo", object{"title": "The one in a repository"})
		s.ended(thread, "/say hello")
		s.eventually("the lines of the directory are known", func() error {
			row := s.call("thread/read", object{"thread_id": thread})["thread"].(object)
			git, _ := row["summary"].(object)["git"].(object)
			if git["added"] != 1.0 {
				return fmt.Errorf("they are %v", git)
			}
			return nil
		})
		p := open(t, s, f, "#/thread/"+thread)
		p.sees("header .facts span[title]", "+1 −0")
		p.goTo("#/")
		p.sees("li.card .facts", "main")
		if p.has("li.card .facts", "+1") {
			t.Error("the list has the lines of the directory")
		}
	}, desktopLight)
}
