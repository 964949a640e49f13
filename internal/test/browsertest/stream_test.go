package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/page"
)

// The stream card follows the log, and keeps where this page began while the server is away.
func TestTheStreamCard(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		thread := s.thread("echo", nil)
		s.ended(thread, "/say before")
		began := s.seq()
		p := open(t, s, f, "#/server")
		p.sees(".stream-card", "Stream: connected")
		p.sees(".stream-card", fmt.Sprintf("this page began at seq %d", began))
		s.ended(thread, "/say after")
		p.sees(".stream-card", fmt.Sprintf("latest seq %d", s.seq()))

		p.complaints.expect(offline...)
		s.kill()
		p.sees(".stream-card", "Stream: reconnecting")
		p.press(".stream-card button", "Try now")
		s.start()
		p.sees(".stream-card", "Stream: connected")
		p.complaints.expect()
		p.seesNot(".stream-card button", "Try now")
		p.seesNot("[role=alert]", "")
		p.sees(".stream-card", fmt.Sprintf("this page began at seq %d", began))
		p.sees(".stream-card", fmt.Sprintf("shown up to seq %d", s.seq()))
	}, phoneLight)
}

// A page that nobody sees gives its stream back after a while, and goes on where it was when
// it is seen again.
func TestAHiddenPageRests(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		thread := s.thread("echo", nil)
		p := blank(t, s, f)
		// The while is over at once.
		run(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
			const later = setTimeout
			globalThis.setTimeout = (f, ms, ...more) => later(f, ms === 30_000 ? 0 : ms, ...more)
			look.hide = hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true }); document.dispatchEvent(new Event('visibilitychange')) }`})
		p.navigate("#/thread/" + thread)
		p.untilPage("thread")
		p.eval("look.hide(true)")
		p.until("document.documentElement.dataset.stream === 'off'")
		s.ended(thread, "/deltas 300 20\n/say while nobody looked")
		p.eval("look.hide(false)")
		p.sees("article", "while nobody looked")
		p.exact()
	}, desktopDark)
}
