package browsertest

import (
	"os"
	"testing"
)

// The form proposes the directories of threads that the page has not read, too.
func TestDirectoriesOfOldThreadsAreProposed(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		for i, name := range []string{"before", "now"} {
			if err := os.Mkdir(s.path(name), 0o700); err != nil {
				t.Fatal(err)
			}
			for range 1 + i*250 { // the page reads 200 of those that do nothing
				s.call("thread/start", object{"agent": "echo", "cwd": s.path(name)})
			}
		}
		p := open(t, s, f, "#/")
		p.press("button", "New thread")
		for _, name := range []string{"now", "before"} {
			p.until("[...document.querySelectorAll('#directories option')].some(o => o.value === " + quote(s.path(name)) + ")")
		}
	}, phoneDark)
}

// A thread is started in a directory that the server does not have: the form says so at the
// field, nothing was started, and the directory that is there is proposed the next time.
func TestAMissingDirectoryIsSaidAtItsField(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "default_agent = \"coder\"\n"+badAgent(t))
		p := open(t, s, f, "#/")
		p.write("form.new textarea", "say hello")
		if at := read[string](p, "document.querySelector('form.new input').placeholder"); at == "" {
			t.Error("nothing says where the agent works without a directory")
		}
		p.write("form.new input[list]", s.path("proiect"))
		p.press("form.new button", "Start")
		p.sees("form.new #directory-missing[role=alert]", "proiect")
		p.sees("form.new #directory-missing", "Nothing was started.")
		p.seesNot("form.new #directory-missing", "Cwd")
		p.until("document.activeElement.matches('input[aria-invalid=true][aria-describedby=directory-missing]')")
		if all := s.call("thread/list", object{})["threads"].([]any); len(all) != 0 {
			t.Errorf("there is a thread: %v", all)
		}
		p.noWiderThanTheScreen()
		if err := os.Mkdir(s.path("project"), 0o700); err != nil {
			t.Fatal(err)
		}
		p.write("form.new input[list]", s.path("project"))
		p.seesNot("#directory-missing", "")
		p.press("form.new button", "Start")
		p.untilPage("thread")
		p.sees("article[data-type=agent_message]", "hello")
		thread := read[string](p, "location.hash.split('/').at(-1)")
		s.call("thread/close", object{"thread_id": thread})
		p.goTo("#/")
		p.press("button", "New thread")
		p.until("[...document.querySelectorAll('#directories option')].some(o => o.value === " + quote(s.path("project")) + ")")
	})
}
