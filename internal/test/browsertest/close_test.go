package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// Who presses Close and leaves the page at once, by a reload or by closing the tab, has
// closed the thread.
func TestCloseIsNotLostWithThePage(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		for name, leave := range map[string]func(p *tab){
			"a reload":           func(p *tab) { p.reload(); p.sees("p.composer", "This thread is closed") },
			"the end of the tab": func(p *tab) { run(p, page.Close, cdp.Empty{}) },
		} {
			thread := s.thread("echo", nil)
			p := open(t, s, f, "#/thread/"+thread)
			p.press("button", "Close")
			p.sees("[role=status]", "closing")
			leave(p)
			s.eventually("the thread is closed by "+name, func() error {
				if row := s.call("thread/read", object{"thread_id": thread})["thread"].(object); row["state"] != "closed" {
					return fmt.Errorf("it is %v", row["state"])
				}
				return nil
			})
		}
	})
}
