package browsertest

import (
	"path/filepath"
	"sync"
	"testing"
)

// nextBinary is the program under test, with another version.
var nextBinary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "next")
	return path, buildTo(path, "-ldflags", "-X main.version=v99.1.0")
})

// The server is replaced by another version under the page: the page says so, loads nothing by
// itself, and keeps what is half typed also when one lets it load.
func TestAnotherVersionIsSaid(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		next, err := nextBinary()
		if err != nil {
			t.Fatal(err)
		}
		s, _, p := openEcho(t, f, "/say before")
		p.eval("globalThis.stays = true; 0")
		for _, version := range []string{s.binary, next} {
			p.complaints.expect(offline...)
			s.kill()
			p.until("document.documentElement.dataset.stream === 'reconnecting'")
			p.write("#composer", "half a thought")
			s.binary = version
			s.start()
			p.until("document.documentElement.dataset.stream === 'connected'")
			p.untilSeq()
			p.complaints.expect()
			if version != next {
				p.seesNot(".banner", "")
			}
		}
		p.sees(".banner", "The server is now v99.1.0. Reload to use its page.")
		p.noWiderThanTheScreen()
		p.exact()
		if !read[bool](p, "globalThis.stays") {
			t.Error("the page has loaded itself anew")
		}
		p.sees(".banner button", "Reload")
		p.eval("document.querySelector('.banner button').click()") // the page that would say whether it was hit goes
		p.until("!globalThis.stays")
		p.untilPage("thread")
		p.holds("#composer", "half a thought")
		p.seesNot(".banner", "")
		p.exact()
	})
}
