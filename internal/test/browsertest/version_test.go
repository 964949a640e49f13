package browsertest

import "testing"

// The server is replaced by another version under the page: the page says so, loads nothing by
// itself, and keeps what is half typed also when one lets it load.
func TestAnotherVersionIsSaid(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s, _, p := openEcho(t, f, "/say before")
		// What the server says of itself after an upgrade.
		p.eval(`(() => {
			const ask = fetch
			globalThis.fetch = async (url, how) => {
				const answer = await ask(url, how)
				if (!globalThis.upgraded || !how.body?.includes('"initialize"')) return answer
				const body = await answer.json()
				body.result.server_info.version = 'v99.1.0'
				return new Response(JSON.stringify(body))
			}
		})()`)
		for _, upgraded := range []string{"false", "true"} {
			p.complaints.expect(offline...)
			s.kill()
			p.until("document.documentElement.dataset.stream === 'reconnecting'")
			p.write("#composer", "half a thought")
			p.eval("globalThis.upgraded = " + upgraded)
			s.start()
			p.until("document.documentElement.dataset.stream === 'connected'")
			p.untilSeq()
			p.complaints.expect()
			if upgraded == "false" {
				p.seesNot(".banner", "")
			}
		}
		p.sees(".banner", "The server is now v99.1.0. Reload to use its page.")
		p.noWiderThanTheScreen()
		p.exact()
		p.sees(".banner button", "Reload")
		if !read[bool](p, "globalThis.upgraded") {
			t.Error("the page has loaded itself anew")
		}
		p.eval("document.querySelector('.banner button').click()") // the page that would say whether it was hit goes
		p.until("!globalThis.upgraded")
		p.untilPage("thread")
		p.holds("#composer", "half a thought")
		p.seesNot(".banner", "")
		p.exact()
	})
}
