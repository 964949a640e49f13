package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// form is what the page is seen on.
type form struct {
	name          string
	width, height int64
	dark, touch   bool
}

var (
	phoneDark    = form{"phone-dark", 360, 780, true, true}
	phoneLight   = form{"phone-light", 360, 780, false, true}
	desktopDark  = form{"desktop-dark", 1440, 900, true, false}
	desktopLight = form{"desktop-light", 1440, 900, false, false}
	allForms     = []form{phoneDark, phoneLight, desktopDark, desktopLight}
)

// each runs a test at both widths, the one dark and the other light.
func each(t *testing.T, test func(t *testing.T, f form), forms ...form) {
	t.Helper()
	needsBrowser(t)
	t.Parallel()
	inForms(t, test, forms...)
}

// inForms is each, of a test that is parallel already.
func inForms(t *testing.T, test func(t *testing.T, f form), forms ...form) {
	if len(forms) == 0 {
		forms = []form{phoneDark, desktopLight}
	}
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			test(t, f)
		})
	}
}

func needsBrowser(t testing.TB) {
	t.Helper()
	if missing != "" {
		t.Skip("NOT TESTED: " + missing)
	}
}

// tab is one tab of the browser, with a storage of its own. It belongs to one goroutine.
type tab struct {
	t          testing.TB
	ctx        context.Context
	server     *server
	form       form
	complaints *complaints
}

// look is the script that each document of a tab begins with.
//
//go:embed testdata/look.js
var look string

// open opens the console at a fragment, such as "#/bridges", and waits until it is ready.
func open(t testing.TB, s *server, f form, fragment string) *tab {
	t.Helper()
	p := blank(t, s, f)
	p.navigate(fragment)
	p.untilPage("")
	return p
}

// openEcho serves an empty log and opens a thread in which the agent echo has followed a
// script; "" is none.
func openEcho(t testing.TB, f form, script string) (s *server, thread string, p *tab) {
	t.Helper()
	s = serve(t, "")
	thread = s.thread("echo", nil)
	if script != "" {
		s.ended(thread, script)
	}
	return s, thread, open(t, s, f, "#/thread/"+thread)
}

// blank opens an empty tab.
func blank(t testing.TB, s *server, f form) *tab {
	t.Helper()
	c := &complaints{}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(c.hear))
	p := &tab{t: t, ctx: ctx, server: s, form: f, complaints: c}
	t.Cleanup(func() {
		if t.Failed() {
			p.keepPicture()
		}
		cancel()
		for _, line := range c.left() {
			t.Errorf("the page complains: %s", line)
		}
	})
	scheme := "light"
	if f.dark {
		scheme = "dark"
	}
	p.do(chromedp.Steps()) // starts the tab
	run(p, log.Enable, cdp.Empty{})
	run(p, network.Enable, network.EnableParams{})
	run(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: look})
	run(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: f.width, Height: f.height, DeviceScaleFactor: 1, Mobile: f.touch})
	run(p, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: f.touch})
	run(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	run(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	return p
}

// do runs steps within the patience of the tests.
func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx := p.ctx
	if len(steps) > 0 && chromedp.FromContext(ctx).Target != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) navigate(fragment string) {
	p.t.Helper()
	p.do(chromedp.Navigate(p.server.url + "/" + fragment))
}

// reload loads the page anew.
func (p *tab) reload() {
	p.t.Helper()
	p.do(chromedp.Reload())
	p.untilPage("")
}

// goTo goes to another page of the console, as a link does.
func (p *tab) goTo(fragment string) {
	p.t.Helper()
	p.eval("location.hash = " + quote(fragment))
	want := strings.SplitN(strings.TrimPrefix(fragment, "#/"), "/", 2)[0]
	if want == "" {
		want = "overview"
	}
	p.untilPage(want)
}

// eval evaluates an expression and returns its value as JSON.
func (p *tab) eval(js string) json.RawMessage {
	p.t.Helper()
	value, err := p.tryEval(js, patience)
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return value
}

func (p *tab) tryEval(js string, within time.Duration) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(p.ctx, within)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[[]byte](js, chromedp.EvalAwaitPromise))
}

// read evaluates an expression into a value of Go.
func read[T any](p *tab, js string) (v T) {
	p.t.Helper()
	raw := p.eval(js)
	if len(raw) == 0 {
		return v
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		p.t.Fatalf("%s: %v: %.200s", js, err, raw)
	}
	return v
}

// until waits until an expression is true in the page: it is looked at whenever the page
// changes, and with every frame. A page that loads itself anew meanwhile is asked again.
func (p *tab) until(js string) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		_, err := p.tryEval("look.until(() => ("+js+"))", time.Until(deadline))
		if err == nil {
			return
		}
		if time.Now().After(deadline) || p.ctx.Err() != nil {
			p.t.Fatalf("it does not become true: %s: %v\n%s", js, err, p.describe())
		}
		time.Sleep(20 * time.Millisecond) // between two documents
	}
}

// untilPage waits until a page of the console, "" is any, has its data.
func (p *tab) untilPage(name string) {
	p.t.Helper()
	js := "document.documentElement.dataset.ready === 'true'"
	if name != "" {
		js += " && document.documentElement.dataset.page === " + quote(name)
	}
	p.until(js)
}

// untilSeq waits until the page shows the log up to the newest event of the server.
func (p *tab) untilSeq() {
	p.t.Helper()
	p.until(fmt.Sprintf("Number(document.documentElement.dataset.seq) >= %d", p.server.seq()))
}

// sees waits until an element is visible that a selector and a part of its text find.
func (p *tab) sees(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("look.find(%s, %s)", quote(selector), quote(text)))
}

// seesNot waits until there is none.
func (p *tab) seesNot(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("!look.find(%s, %s)", quote(selector), quote(text)))
}

// press presses an element as a finger or a mouse does: it must be enabled, stand still,
// and nothing may lie over it. If it has moved away meanwhile, it is pressed again.
func (p *tab) press(selector, text string) {
	p.t.Helper()
	for range 20 {
		find := fmt.Sprintf("look.still(%s, %s)", quote(selector), quote(text))
		p.until(find)
		at := read[struct{ X, Y float64 }](p, "look.aim")
		if p.form.touch {
			p.do(chromedp.TapXY(at.X, at.Y))
		} else {
			p.do(chromedp.MouseClickXY(at.X, at.Y))
		}
		if p.wasHit() {
			return
		}
	}
	p.t.Fatalf("%s %q cannot be pressed\n%s", selector, text, p.describe())
}

// wasHit returns whether the press has reached its target. A page that loads itself anew
// meanwhile is asked again.
func (p *tab) wasHit() bool {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		hit, err := p.tryEval("look.wasHit()", time.Until(deadline))
		if err == nil {
			return string(hit) == "true"
		}
		if time.Now().After(deadline) || p.ctx.Err() != nil {
			p.t.Fatalf("was it pressed? %v\n%s", err, p.describe())
		}
		time.Sleep(20 * time.Millisecond) // between two documents
	}
}

// write replaces the text of a field.
func (p *tab) write(selector, text string) {
	p.t.Helper()
	p.press(selector, "")
	p.until("document.activeElement?.matches(" + quote(selector) + ")")
	p.eval("document.activeElement.select?.()")
	run(p, input.InsertText, input.InsertTextParams{Text: text})
	p.until("document.activeElement.value === " + quote(text))
}

// key presses a key, such as kb.Enter.
func (p *tab) key(key string) {
	p.t.Helper()
	for _, r := range key {
		events := kb.Encode(r)
		down := *events[0]
		if len(events) == 3 { // one event with its text, so that a page can prevent both, as it can for people
			down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
		}
		run(p, input.DispatchKeyEvent, down)
		run(p, input.DispatchKeyEvent, *events[len(events)-1])
	}
}

// text is the visible text of the first element that a selector finds.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return read[string](p, "document.querySelector("+quote(selector)+")?.innerText ?? ''")
}

// picture is the page as it is seen, or all of it.
func (p *tab) picture() []byte {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	return png
}

// keepPicture keeps what a failed test has seen, where BROWSER_PICTURES says.
func (p *tab) keepPicture() {
	dir := os.Getenv("BROWSER_PICTURES")
	if dir == "" || p.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	if png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot()); err == nil {
		name := filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(p.t.Name())+".png")
		p.t.Logf("what was seen: %s %v", name, os.WriteFile(name, png, 0o600))
	}
}

// describe says what the page is, for failures.
func (p *tab) describe() string {
	raw, err := p.tryEval("look.describe()", 5*time.Second)
	if err != nil {
		return err.Error()
	}
	var text string
	_ = json.Unmarshal(raw, &text) // a failure is described as far as it can be
	return text
}

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return string(raw)
}
