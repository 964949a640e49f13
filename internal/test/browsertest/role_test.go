package browsertest

import (
	"regexp"
	"testing"
)

// changesNothing are the buttons of who may only read: they change what is seen, and the own
// sign-in.
var changesNothing = regexp.MustCompile(`^(Show all as text|Timeline|Copy id|Notify me|Sign out|Attempts|.*Follow the end|Show newer|Show older.*|.* more lines.*|Raw|Copy)$`)

// readerSeesNothingToChange goes through all pages as somebody who may only read.
func readerSeesNothingToChange(t *testing.T, c *showcase, f form) {
	reader := c.call("token/create", object{"name": "reader-" + f.name, "role": "read"})["secret"].(string)
	signin, err := c.try(reader, "signin/create", object{})
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, c.server, f, "#/")
	p.eval("localStorage.setItem('holon.credential', " + quote(signin["secret"].(string)) + "); 0")
	p.reload()
	seen := 0
	for _, s := range c.scenes() {
		if s.fragment == "#/signin" {
			continue
		}
		p.goTo("#/server")
		p.sees("section", "who may read")
		p.goTo(s.fragment)
		p.untilSeq()
		p.eval("document.querySelectorAll('details').forEach(d => { d.open = true })")
		p.until("![...document.querySelectorAll('main p.quiet')].some(e => e.innerText.startsWith('reading'))")
		for _, text := range read[[]string](p, "[...document.querySelectorAll('button, form, textarea, main input:not([type=search]):not([type=checkbox])')].filter(e => e.checkVisibility()).map(e => e.innerText.trim() || e.localName)") {
			seen++
			if !changesNothing.MatchString(text) {
				t.Errorf("%s offers %q to who may only read", s.fragment, text)
			}
		}
	}
	if seen < 5 {
		t.Errorf("only %d buttons were looked at", seen)
	}
}
