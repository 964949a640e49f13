package browsertest

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
)

// All of a thread is there for the browser's search, whatever part the timeline draws.
func TestAThreadAsText(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s, thread, p := openEcho(t, f, "/say the oldest word\n/items 1100 20\n/say the newest word")
		p.press("button", "Show all as text")
		p.sees("[role=status]", "The thread as of")
		const text = "document.querySelector('pre.whole').textContent"
		p.until(text + ".includes('the oldest word') && " + text + ".includes('the newest word')")
		if n, want := read[int](p, text+".split('── ').length - 1"), len(s.items(thread)); n != want {
			t.Errorf("the text has %d items, the thread %d", n, want)
		}
		p.press("button", "Timeline")
		p.exact()
	}, phoneLight)
}

// Times are those of the reader's zone.
func TestTimesAreThoseOfTheReader(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		thread := s.thread("echo", nil)
		s.ended(thread, "/say hello")
		p := blank(t, s, f)
		run(p, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"})
		p.navigate("#/thread/" + thread)
		p.untilPage("thread")
		p.sees("article[data-type=agent_message] time", "")
		p.until(`(() => {
			const time = document.querySelector('article[data-type=agent_message] time'), at = new Date(time.dateTime)
			const there = at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', timeZone: 'Asia/Tokyo' })
			return time.innerText === there && time.title.endsWith('Asia/Tokyo')
		})()`)
	}, desktopLight)
}

// Who looks elsewhere is told of a question while the page is open, if the reader has
// allowed that; and only then.
func TestAQuestionIsToldWhoLooksElsewhere(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		thread := s.thread("echo", nil)
		p := blank(t, s, f)
		run(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
			look.notes = []
			globalThis.Notification = class { static permission = 'granted'; constructor(title, more) { look.notes.push(title + ': ' + more.body) } }
			look.hide = hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true }); document.dispatchEvent(new Event('visibilitychange')) }`})
		p.navigate("#/")
		p.untilPage("overview")
		s.turn(thread, "/ask Who sees this\n/ask Who does not\n/say the end", nil)
		p.until("document.title === '(1) holon'")
		p.until("document.querySelector('[aria-label=Announcements]').innerText.includes('Who sees this')") // the list comes after the count
		if notes := read[[]string](p, "look.notes"); len(notes) > 0 {
			t.Errorf("who looks at the page is told %q", notes)
		}
		p.eval("look.hide(true)")
		for _, q := range s.items(thread) {
			if q["status"] == "pending" {
				s.call("item/respond", object{"item_id": q["item_id"], "option_id": "allow_once"})
			}
		}
		p.until("look.notes.length > 0")
		if notes := read[[]string](p, "look.notes"); len(notes) != 1 || notes[0] != "An agent asks: Who does not" {
			t.Errorf("who looks elsewhere is told %q", notes)
		}
		p.eval("look.hide(false)")
	}, desktopDark)
}

// Nothing moves on the screen of a reader who wants no motion.
func TestNothingMovesForWhoWantsNoMotion(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		thread := s.thread("echo", nil)
		s.turn(thread, "/sleep 3600000", nil)
		p := open(t, s, f, "#/thread/"+thread)
		p.sees(".progress", "working")
		p.until("document.getAnimations().length > 0")
		run(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}})
		p.until("document.getAnimations().length === 0")
	}, phoneDark)
}
