package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A turn ends while a hand is on its way to Interrupt: what is pressed there and then does
// nothing, at once and later, and no button has come to where another one was.
func TestALateClickClosesNothing(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s, thread, p := openEcho(t, f, "/say before")
		turn := s.turn(thread, "/sleep 3600000", nil)
		p.sees("header button:enabled", "Interrupt")
		at := p.places()
		// Whoever presses everything at the moment at which the turn ends.
		p.eval(`new MutationObserver(() => {
			if (document.querySelector('.end[data-state=interrupted]')) for (const b of document.querySelectorAll('header button')) if (/Interrupt|Retry|Close/.test(b.textContent)) b.click()
		}).observe(document.body, { subtree: true, childList: true }); 0`)
		s.call("turn/interrupt", object{"turn_id": turn})
		p.sees(".end", "Interrupted")
		if f.touch {
			p.do(chromedp.TapXY(at["Interrupt"].X, at["Interrupt"].Y))
		} else {
			p.do(chromedp.MouseClickXY(at["Interrupt"].X, at["Interrupt"].Y))
		}
		p.sees("header button:enabled", "Close")
		p.sees("header button:enabled", "Retry")
		if got := p.places(); got != nil && fmt.Sprint(got) != fmt.Sprint(at) {
			t.Errorf("the buttons have moved from %v to %v", at, got)
		}
		if got := p.text("header"); strings.Contains(got, "closing") || strings.Contains(got, "still working") {
			t.Errorf("a late click has pressed Close: %s", got)
		}
		if row := s.call("thread/read", object{"thread_id": thread})["thread"].(object); row["state"] == "closed" || row["active_turn"] != nil {
			t.Errorf("a late click has changed the thread: %v", row)
		}
		p.noWiderThanTheScreen()
	})
}

type point struct{ X, Y float64 }

// places are the middles of the three buttons, seen or not.
func (p *tab) places() map[string]point {
	p.t.Helper()
	return read[map[string]point](p, `(() => {
		const all = {}
		for (const b of document.querySelectorAll('header button')) {
			const { left, top, width, height } = b.getBoundingClientRect()
			if (/^(Interrupt|Retry|Close)$/.test(b.textContent)) all[b.textContent] = { X: left + width / 2, Y: top + height / 2 }
		}
		return all
	})()`)
}

const atTheEnd = `(() => { const l = document.querySelector('.lines'); return l.scrollHeight > l.clientHeight && l.scrollHeight - l.scrollTop - l.clientHeight < 3 })()`

// A question makes the timeline smaller, and it goes on following its end. Who scrolls stops
// that.
func TestAQuestionDoesNotStopTheTimeline(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s, thread, p := openEcho(t, f, "/items 60 40")
		for i := range 4 {
			turn := s.turn(thread, fmt.Sprintf("/ask May I go on %d\n/items 5 40\n/say said %d", i, i), nil)
			p.sees("section.question", fmt.Sprintf("May I go on %d", i))
			p.until(atTheEnd)
			p.press("section.question button", "Allow")
			s.until(turn, "completed")
			p.sees("article", fmt.Sprintf("said %d", i))
			p.until(atTheEnd)
			p.seesNot("button", "Follow the end")
		}
		p.scrollUp()
		p.sees("button", "Follow the end")
		s.ended(thread, "/items 5 40\n/say not looked at")
		p.untilSeq()
		if read[bool](p, atTheEnd) {
			t.Error("who has scrolled up is taken to the end")
		}
		p.press("button", "Follow the end")
		p.until(atTheEnd)
		p.press(".lines", "")
		p.key(kb.Home)
		p.sees("button", "Follow the end")
	})
}

// A page that is too busy to hear of a scroll at once still knows that it was the user's.
func TestABusyPageHearsThatTheUserScrolls(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		_, _, p := openEcho(t, f, "/items 60 40")
		p.until(atTheEnd)
		p.eval(`for (const kind of ['touchend', 'wheel']) addEventListener(kind, () => {
			for (const end = performance.now() + 1500; performance.now() < end;);
		}, { once: true })`)
		p.scrollUp()
		p.sees("button", "Follow the end")
	})
}

// What the page draws between the user's scroll and the browser's word of it does not take the
// user back to the end.
func TestAScrollIsNotLostToWhatIsDrawnMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s, thread, p := openEcho(t, f, "/items 60 40")
		p.until(atTheEnd)
		p.eval(`(() => {
			document.addEventListener('scroll', e => e.stopImmediatePropagation(), true)
			const lines = document.querySelector('.lines')
			lines.dispatchEvent(new WheelEvent('wheel', { bubbles: true }))
			lines.scrollTop -= 200
		})()`)
		s.ended(thread, "/items 5 40")
		p.sees("button", "Follow the end")
	})
}

// scrollUp scrolls the timeline as a finger or a wheel does.
func (p *tab) scrollUp() {
	p.t.Helper()
	at := read[point](p, `(() => { const b = document.querySelector('.lines').getBoundingClientRect(); return { X: b.left + b.width / 2, Y: b.top + b.height / 3 } })()`)
	if p.form.touch {
		for i, kind := range []input.DispatchTouchEventType{input.DispatchTouchEventTypeTouchStart, input.DispatchTouchEventTypeTouchMove, input.DispatchTouchEventTypeTouchMove, input.DispatchTouchEventTypeTouchMove, input.DispatchTouchEventTypeTouchEnd} {
			points := []*input.TouchPoint{{X: at.X, Y: at.Y + float64(i*30)}}
			if kind == input.DispatchTouchEventTypeTouchEnd {
				points = []*input.TouchPoint{}
			}
			run(p, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points})
		}
		return
	}
	run(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: at.X, Y: at.Y, DeltaX: 1, DeltaY: -200})
}

// The keyboard of a phone takes half of the screen, and the timeline goes on following its end.
func TestAKeyboardDoesNotStopTheTimeline(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s, thread, p := openEcho(t, f, "/items 60 40")
		p.until(atTheEnd)
		for _, height := range []int64{f.height / 2, f.height} {
			run(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: f.width, Height: height, DeviceScaleFactor: 1, Mobile: f.touch})
			p.until(fmt.Sprintf("innerHeight === %d", height))
			p.until(atTheEnd)
			p.seesNot("button", "Follow the end")
			s.ended(thread, fmt.Sprintf("/items 5 40\n/say at %d", height))
			p.sees("article", fmt.Sprintf("at %d", height))
			p.until(atTheEnd)
		}
	})
}

// However long a question is, its answers are in sight on a small phone.
func TestAllowIsInSightAt360(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s, thread, p := openEcho(t, f, "/items 20 40")
		s.turn(thread, "/ask "+strings.Repeat("May I do something that takes many words to say? ", 40), nil)
		for _, page := range []string{"#/thread/" + thread, "#/waiting"} {
			p.goTo(page)
			p.sees("section.question .asked", "May I")
			p.until(`[...document.querySelectorAll('section.question .options button')].every(b => {
				const { left, top, bottom, width, height } = b.getBoundingClientRect()
				return top >= 0 && bottom <= innerHeight && b.contains(document.elementFromPoint(left + width / 2, top + height / 2))
			})`)
			if read[bool](p, `(c => c.scrollTop > 0)(document.querySelector('section.question')) || scrollY > 0`) {
				t.Errorf("%s has been scrolled", page)
			}
			p.noWiderThanTheScreen()
		}
	}, form{"small phone", 360, 740, false, true})
}

// Answers that can be pressed are never over the question, wherever the page is scrolled to.
func TestNoAnswerCoversItsQuestion(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		for i := range 6 {
			s.until(s.turn(s.thread("echo", nil), fmt.Sprintf("/ask May I do the %dth thing", i), nil), "waiting")
		}
		p := open(t, s, f, "#/waiting")
		p.sees("section.question", "May I do the 5th thing")
		p.until("!document.querySelector('section.question[data-dead]')")
		covered := read[[]string](p, `(async () => {
			const found = new Set()
			for (let y = 0; y < document.documentElement.scrollHeight - innerHeight; y += 4) {
				scrollTo({ top: y, behavior: 'instant' })
				await new Promise(requestAnimationFrame)
				for (const q of document.querySelectorAll('section.question')) {
					const under = el => { const b = el.getClientRects()[0], x = b.left + b.width / 2, y = b.top + b.height / 2; return document.elementFromPoint(x, y) }
					const [asked, button] = [q.querySelector('.asked strong'), q.querySelector('.options button')]
					if (!button.contains(under(button) || null)) continue
					if (under(asked)?.closest('.options')) found.add(asked.textContent + ' at ' + y)
				}
			}
			return [...found]
		})()`)
		if len(covered) > 0 {
			t.Errorf("answers cover what they are to: %q", covered)
		}
	}, form{"small phone", 360, 740, false, true}, form{"desktop", 1280, 800, false, false})
}
