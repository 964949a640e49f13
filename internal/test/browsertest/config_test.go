package browsertest

import (
	"fmt"
	"testing"

	"github.com/seed82539d15/holon/internal/test/acptest"
)

// badAgent is the configuration of an ACP agent that follows the commands in its prompt.
func badAgent(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("[agents.coder]\nkind = \"acp\"\ncommand = [%q]\n", acptest.Build(t, acptest.BadAgent))
}

// noWiderThanTheScreen looks for what makes the page scroll sideways.
func (p *tab) noWiderThanTheScreen() {
	p.t.Helper()
	if wide := read[[]string](p, "look.wide()"); len(wide) > 0 {
		p.t.Errorf("wider than %d px: %q", p.form.width, wide)
	}
}
