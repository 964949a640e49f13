package browsertest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// attempts are what a page of others can try with the browser of the server's own user, who
// needs no token. Each is a function of the server's address that resolves to what the page
// has learned; "" is nothing.
var attempts = map[string]string{
	"a request with its answer": `async to => (await fetch(to + '/rpc', { method: 'POST', body: start })).text()`,
	"a request without":         `async to => { await fetch(to + '/rpc', { method: 'POST', mode: 'no-cors', body: start }); return '' }`,
	"a request with a type":     `async to => (await fetch(to + '/rpc', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: start })).text()`,
	"a beacon":                  `async to => { navigator.sendBeacon(to + '/rpc', start); return '' }`,
	"the stream":                `async to => (await fetch(to + '/rpc/stream?after_seq=0')).text()`,
	"the page":                  `async to => (await fetch(to + '/')).text()`,
	"events":                    `to => new Promise(done => { const s = new EventSource(to + '/events'); s.onmessage = e => done(e.data); s.onerror = () => { s.close(); done('') } })`,
	"a script":                  `to => loaded('script', { src: to + script })`,
	"a style":                   `to => loaded('link', { rel: 'stylesheet', href: to + style })`,
	"an image":                  `to => loaded('img', { src: to + icon })`,
	"a form": `to => new Promise(done => {
		const frame = add('iframe', { name: 'answer' }), form = add('form', { method: 'post', enctype: 'text/plain', action: to + '/rpc', target: 'answer' })
		const [before, after] = start.split('"params"')
		add('input', { name: before + '"x":"', value: '","params"' + after }, form)
		frame.onload = () => done(within(frame))
		form.submit()
	})`,
	"a frame of the page":  `to => framed(to + '/')`,
	"a frame of an answer": `to => framed(to + '/metrics')`,
	"an object":            `to => new Promise(done => { const o = add('object', { data: to + '/', type: 'text/html' }); o.onload = () => done('loaded'); o.onerror = () => done('') })`,
}

// helpers are what the attempts use.
const helpers = `
const start = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'thread/start', params: { thread_id: 'attacked' } })
const add = (name, more, to = document.body) => to.appendChild(Object.assign(document.createElement(name), more))
const loaded = (name, more) => new Promise(done => { add(name, { ...more, onload: () => done('loaded'), onerror: () => done('') }) })
const within = frame => { try { return frame.contentDocument.body.innerText } catch { return '' } }
const framed = src => new Promise(done => { const f = add('iframe', { src }); f.onload = () => done(within(f)) })
`

// Whatever a page of another site, another port or another name of this machine tries in
// the browser of somebody who needs no token: it reads nothing, nothing happens, and no frame
// shows the console. Only a link leads there.
func TestPagesOfOthersGetNothing(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	s := serve(t, "")
	thread := s.thread("echo", object{"title": "The secret one"})
	s.ended(thread, "/say what nobody else may read")
	console := blank(t, s, desktopLight)
	console.navigate("")
	console.untilPage("")
	files := read[map[string]string](console, `({ script: document.querySelector('script[src]').getAttribute('src'), style: document.querySelector('link[rel=stylesheet]').getAttribute('href'), icon: document.querySelector('link[rel=icon]').getAttribute('href') })`)

	setting := helpers + fmt.Sprintf("const script = %s, style = %s, icon = %s", quote(files["script"]), quote(files["style"]), quote(files["icon"]))
	mine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>others</title><body><a id=link href=%q>look</a></body>", s.url+"/#/thread/"+thread)
	}))
	t.Cleanup(mine.Close)
	port := mine.URL[strings.LastIndex(mine.URL, ":"):]
	for name, from := range map[string]string{"another port": "http://127.0.0.1" + port, "another name of this machine": "http://localhost" + port, "another site": "http://evil.example" + port} {
		p := blank(t, s, desktopLight)
		p.complaints.expect("") // the browser says what was refused
		p.do(chromedp.Navigate(from))
		refused := s.forbidden()
		for what, try := range attempts {
			got := read[string](p, fmt.Sprintf("(async () => { %s; try { return await (%s)(%s) } catch { return '' } })()", setting, try, quote(s.url)))
			if got != "" {
				t.Errorf("%s gets by %s: %.200q", name, what, got)
			}
		}
		s.eventually(name+": every attempt is refused", func() error { // a beacon comes when the browser likes
			if n := s.forbidden() - refused; n < len(attempts) {
				return fmt.Errorf("%d of %d attempts have reached the server and were refused", n, len(attempts))
			}
			return nil
		})
		p.eval("document.querySelector('#link').click()")
		p.untilPage("thread")
		p.complaints.expect() // what the browser says of the other page may come until it has left it
		p.sees("article", "what nobody else may read")
	}

	// A name of others that leads to this machine: its pages would be of one origin with ours.
	p := blank(t, s, desktopLight)
	p.complaints.expect("403")
	rebound := "http://evil.example" + s.url[strings.LastIndex(s.url, ":"):]
	p.do(chromedp.Navigate(rebound + "/"))
	if got := p.text("body"); !strings.Contains(got, "does not name this server") {
		t.Errorf("by another name the server shows %.200q", got)
	}
	for _, path := range []string{"/rpc", "/metrics", files["script"]} {
		if got := read[int](p, fmt.Sprintf("fetch(%s, %s).then(r => r.status)", quote(path), map[bool]string{true: "{ method: 'POST', body: '{}' }", false: "{}"}[path == "/rpc"])); got != http.StatusForbidden {
			t.Errorf("by another name %s answers %d", path, got)
		}
	}

	if rows := s.call("thread/list", object{})["threads"].([]any); len(rows) != 1 {
		t.Errorf("somebody else has started a thread: %v", rows)
	}
}

// forbidden is how many requests the server has refused because of where they come from.
func (s *server) forbidden() int {
	s.t.Helper()
	res, err := http.Get(s.url + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	n := 0
	if found := forbiddenLine.FindSubmatch(text); found != nil {
		n, _ = strconv.Atoi(string(found[1])) // digits
	}
	return n
}

var forbiddenLine = regexp.MustCompile(`(?m)^holon_errors_total\{kind="forbidden"\} (\d+)$`)
