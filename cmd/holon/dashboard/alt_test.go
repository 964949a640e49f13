package dashboard

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func alt(letter rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: letter, Mod: tea.ModAlt} }

func types(p *program, text string) {
	for _, r := range text {
		p.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

// Terminals send Esc and a letter right after it as Alt and the letter. Where letters are
// commands both count, and the letter is for the page to which Esc leads.
func TestAltIsEscAndTheLetterWhereLettersAreCommands(t *testing.T) {
	p, _ := testProgram(t, Options{})
	p.Update(waiting(3))
	p.open(noon, "thread_2")
	p.Update(alt('w'))
	if p.page != p.overview || p.overview.Selected() != "thread_1" {
		t.Errorf("after Esc and w on a thread %s is selected in\n%s", p.overview.Selected(), p.View().Content)
	}
	p.Update(tea.KeyPressMsg{Code: 'g', ShiftedCode: 'G', Mod: tea.ModAlt | tea.ModShift})
	if got := p.overview.Selected(); got != "thread_2" {
		t.Errorf("after Esc and G %s is selected", got)
	}
	types(p, "?")
	p.Update(alt('n'))
	if got := p.View().Content; !strings.Contains(got, "New thread") {
		t.Errorf("Esc and n in the help show\n%s", got)
	}
}

// Where a person types, Alt and a letter is no command, and does not leave the line.
func TestAltIsNoCommandWhereOneTypes(t *testing.T) {
	for name, open := range map[string]func(p *program){
		"Enter starts a turn": func(p *program) { p.open(noon, "thread_1"); p.Update(tea.KeyPressMsg{Code: tea.KeyTab}) },
		"New thread":          func(p *program) { types(p, "n") },
		"Filter: ":            func(p *program) { types(p, "/") },
	} {
		p, _ := testProgram(t, Options{})
		p.Update(waiting(3))
		open(p)
		types(p, "one")
		for letter := 'a'; letter <= 'z'; letter++ {
			p.Update(alt(letter))
		}
		p.Update(tea.KeyPressMsg{Code: tea.KeyEnd})
		types(p, "xq")
		page := p.page
		got := p.View().Content
		if _, _, types := page.Cursor(80, 24); !types || !strings.Contains(got, "xq") || !strings.Contains(got, name) {
			t.Errorf("nobody types at %q any more:\n%s", name, got)
		}
		if got := append(p.overview.Pending(), pending(page)...); len(got) > 0 {
			t.Errorf("at %q a letter closes a thread: %v", name, got)
		}
	}
}

// Two Escs within a moment come as one key. From the input line they lead to the overview.
func TestAltAndEscIsEscTwice(t *testing.T) {
	p, _ := testProgram(t, Options{})
	p.Update(waiting(3))
	p.open(noon, "thread_2")
	p.Update(tea.KeyPressMsg{Code: tea.KeyTab})
	types(p, "one")
	p.Update(tea.KeyPressMsg{Code: tea.KeyEscape, Mod: tea.ModAlt})
	if p.page != p.overview {
		t.Errorf("after Esc and Esc in the input line it shows\n%s", p.View().Content)
	}
	types(p, "/thread")
	p.Update(tea.KeyPressMsg{Code: tea.KeyEscape, Mod: tea.ModAlt})
	if _, _, typing := p.page.Cursor(80, 24); typing {
		t.Errorf("after Esc and Esc in the filter it shows\n%s", p.View().Content)
	}
}
