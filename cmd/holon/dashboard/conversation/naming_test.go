package conversation

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// t gives the thread a title on its page, as in the list.
func TestAThreadIsRenamedOnItsPage(t *testing.T) {
	p := newPage(t, 200, 24).open()
	p.keys("<esc>")
	p.shows("t title")
	p.keys("t")
	p.shows("Rename ", "Title: mend the build", "Enter rename  Esc leave")
	if _, _, types := p.m.Cursor(200, 24); !types {
		t.Error("no cursor is in the line, so Alt and a letter would leave it")
	}
	p.did()
	p.keys("q", "x")
	p.send(tea.PasteMsg{Content: "!\n"})
	want := screen.Rename{Thread: thread, Title: "mend the buildqx!"}
	p.keys("<enter>", "<enter>")
	p.wants(want)
	p.send(screen.Done{Action: want, Err: errors.New("no")})
	p.shows("Title: mend the buildqx!")
	p.send(tea.PasteMsg{Content: strings.Repeat("x", screen.MostTitle)})
	p.shows("That is too long for a title.")
	p.keys("<enter>")
	p.send(screen.Done{Action: want})
	p.hides("Title: ")
	p.keys("t", "<esc>")
	p.hides("Title: ")
	p.event("thread/closed", object{})
	p.keys("t")
	p.shows("It is closed: its title stays.")
	p.hides("t title", "x close")
}

// A key that can do nothing on the page says why.
func TestAKeyThatCanDoNothingSaysWhy(t *testing.T) {
	p := newPage(t, 100, 24).open()
	p.keys("<esc>")
	for key, want := range map[string]string{
		"<space>": "Nothing here can be unfolded.", "j": "There is nothing to select.", "c": "No thread is below this one.", "i": "Nothing runs here.",
		"r": screen.NothingToRetry, "a": "Nothing waits for an answer here.", "u": screen.NothingToUndo,
	} {
		p.keys(key)
		p.shows(want)
	}
}
