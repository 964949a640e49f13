package browsertest

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axe is axe-core 4.14.1.
//
//go:embed testdata/axe/axe.min.js
var axe string

const axeSHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"

func TestAxeIsWhatWasPublished(t *testing.T) {
	sum := sha256.Sum256([]byte(axe))
	if got := hex.EncodeToString(sum[:]); got != axeSHA256 {
		t.Errorf("axe.min.js has the SHA-256 %s, want %s", got, axeSHA256)
	}
}

// No page has a serious fault that axe finds, at either width, in either scheme, and none is
// wider than its screen, or has a link or a button out of sight, whatever its font.
func TestNobodyIsKeptOut(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	c := newShowcase(t)
	t.Run("who may only read", func(t *testing.T) {
		t.Parallel()
		readerSeesNothingToChange(t, c, desktopLight)
	})
	inForms(t, func(t *testing.T, f form) {
		p := open(t, c.server, f, "#/")
		for _, s := range c.scenes() {
			p.show(s)
			for _, fault := range p.audit() {
				t.Errorf("%s: %s", s.name, fault)
			}
			for _, letters := range []string{"0", ".12em"} { // whatever fonts there are: some are wider
				p.eval("look.spread('" + letters + "')")
				if wide := read[[]string](p, "look.wide()"); len(wide) > 0 {
					t.Errorf("%s: wider than %d px with letters %s apart: %q", s.name, f.width, letters, wide)
				}
				if cut := read[[]string](p, "look.cut()"); len(cut) > 0 {
					t.Errorf("%s: out of sight with letters %s apart: %q", s.name, letters, cut)
				}
			}
			p.eval("look.spread('0')")
		}
	}, allForms...)
}

// audit runs axe in a world of its own, which the page's policy does not bind, and returns
// the serious faults.
func (p *tab) audit() (faults []string) {
	p.t.Helper()
	tree := run(p, page.GetFrameTree, struct{}{})
	world := run(p, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: tree.FrameTree.Frame.ID, WorldName: "axe"})
	in := func(e *runtime.EvaluateParams) { e.ContextID = world.ExecutionContextID }
	ask := fmt.Sprintf("(async () => { if (!globalThis.axe) { %s }; const r = await axe.run(document, { resultTypes: ['violations'] }); return r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id + ': ' + v.help + ' ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + ' ' + n.failureSummary).join(' | ')) })()", axe)
	raw, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]byte](ask, chromedp.EvalAwaitPromise, in))
	if err == nil {
		err = json.Unmarshal(raw, &faults)
	}
	if err != nil {
		p.t.Fatalf("axe: %v", err)
	}
	return faults
}
