package chat

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
)

// Alt and a letter is Esc and the letter where letters are commands, and no command in the
// input line.
func TestAltIsEscAndTheLetter(t *testing.T) {
	p := &program{ctx: t.Context(), drafts: &conversation.Drafts{}}
	p.push("one")
	p.push("two")
	p.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	altX := tea.KeyPressMsg{Code: 'x', Mod: tea.ModAlt}
	p.Update(altX)
	if got := p.top(); got.thread != "two" || len(got.page.Pending()) > 0 {
		t.Errorf("in the input line it leads to thread %s", got.thread)
	}
	p.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
	p.Update(altX)
	if got := p.top(); got.thread != "one" {
		t.Errorf("it leads to thread %s", got.thread)
	}
}
