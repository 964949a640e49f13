package browsertest

import (
	"fmt"
	"strings"
	"testing"
)

// A link is as long as an agent likes. It wraps wherever a message has one, whatever the font:
// nobody has to move a table, or the page, sideways to read it.
func TestLongLinksWrap(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "[agents.worker]\nkind = \"worker\"\nlease_seconds = 86400\n")
		thread := s.thread("worker", object{"title": "links"})
		s.turn(thread, "go", nil)
		lease := s.call("turn/claim", object{"agent": "worker"})["lease"]
		to := "https://example.com/" + strings.Repeat("abcdefghij", 30) + "?q=" + strings.Repeat("WWWW/", 30)
		link := "[words](" + to + ")"
		for _, form := range []string{
			to, link, "[" + to + "](" + to + ")", "![picture](" + to + ")", "- a\n  - " + link, "> > " + to, "# " + link, "**" + link + "**", "`" + to + "`", "[r]\n\n[r]: " + to,
			"| a | b | c |\n|---|---|---|\n| x | " + to + " | y |", "| a | b |\n|---|---|\n| " + link + " | `" + to + "` |", "| " + to + " | b |\n|---|---|\n| x | y |",
			"| " + link + " | " + link + " |\n|---|---|\n| " + link + " | " + link + " |", "[words](https://a@" + to[8:] + ")", "<div>" + to + "</div>", "[words](" + to + " \"" + to + "\")",
		} {
			s.call("item/create", object{"lease": lease, "status": "completed", "content": message(form)})
		}
		plain := message(to)
		plain["format"] = "plain"
		s.call("item/create", object{"lease": lease, "status": "completed", "content": plain})
		s.call("turn/complete", object{"lease": lease})
		p := open(t, s, f, "#/thread/"+thread)
		p.sees(".end", "Done")
		for _, letters := range []string{"0", ".12em"} {
			p.eval(fmt.Sprintf("look.spread('%s')", letters))
			p.noWiderThanTheScreen()
			wide := read[[]string](p, `[...document.querySelectorAll('article[data-type=agent_message], article[data-type=agent_message] *')].filter(e => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1).map(e => e.localName + '.' + e.className + ' ' + e.scrollWidth + ' of ' + e.clientWidth + ' ' + e.textContent.slice(0, 30))`)
			if len(wide) > 0 {
				t.Errorf("with letters %s apart: %q", letters, wide)
			}
		}
	}, phoneLight)
}
