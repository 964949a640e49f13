package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

// A thread is started, a question answered and a turn interrupted without a mouse, and one
// always sees where one is.
func TestTheKeyboardIsEnough(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		p := open(t, s, f, "#/")
		p.sees("form.new textarea", "")
		p.tabTo("form.new textarea", "")
		run(p, input.InsertText, input.InsertTextParams{Text: "/ask Deploy to production\n/sleep 600000"})
		p.tabTo("form.new button", "Start")
		p.key(kb.Enter)
		p.untilPage("thread")
		p.sees("section.question button", "Allow")
		p.until("!document.querySelector('[data-dead]')")
		p.tabTo("section.question button", "Allow")
		p.key(kb.Enter)
		p.seesNot("section.question", "")
		p.sees(".progress", "working")
		p.tabTo("header button", "Interrupt")
		p.key(kb.Enter)
		p.sees(".end", "Interrupted")
		p.tabTo("nav[aria-label=Pages] a", "Bridges")
		p.key(kb.Enter)
		p.untilPage("bridges")
	}, desktopLight)
}

// tabTo presses Tab until an element has the focus.
func (p *tab) tabTo(selector, text string) {
	p.t.Helper()
	for range 100 {
		p.key(kb.Tab)
		if hidden := read[string](p, `(() => {
			const el = document.activeElement, style = getComputedStyle(el)
			return el === document.body || style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 ? '' : el.outerHTML.slice(0, 200)
		})()`); hidden != "" {
			p.t.Errorf("nobody sees that it has the focus: %s", hidden)
		}
		if read[bool](p, fmt.Sprintf("document.activeElement === look.find(%s, %s)", quote(selector), quote(text))) {
			return
		}
	}
	p.t.Fatalf("no Tab leads to %s %q\n%s", selector, text, p.describe())
}
