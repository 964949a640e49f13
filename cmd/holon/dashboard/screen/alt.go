package screen

import (
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// EscAndLetter splits Alt and a letter, which a terminal also sends for Esc and a letter
// right after it, into these two keys. It does so only where letters are commands. Where a
// person types, the key stays what it is: Alt-B moves by a word, others do nothing. Else
// Alt-D, which deletes a word elsewhere, would leave the line, and the rest of what the
// person types would be commands. Alt and Esc is Esc twice everywhere: it is nothing that
// one types.
func EscAndLetter(page Page, key tea.KeyPressMsg, width, height int) (esc, letter tea.KeyPressMsg, ok bool) {
	if key.Mod == tea.ModAlt && key.Code == tea.KeyEscape {
		esc = tea.KeyPressMsg{Code: tea.KeyEscape}
		return esc, esc, true
	}
	if key.Mod&^tea.ModShift != tea.ModAlt || !unicode.IsPrint(key.Code) {
		return esc, letter, false
	}
	if _, _, types := page.Cursor(width, height); types {
		return esc, letter, false
	}
	shown := key.Code
	if key.Mod&tea.ModShift != 0 {
		if shown = key.ShiftedCode; shown == 0 {
			shown = unicode.ToUpper(key.Code)
		}
	}
	letter = tea.KeyPressMsg{Code: key.Code, ShiftedCode: key.ShiftedCode, Mod: key.Mod & tea.ModShift, Text: string(shown)}
	return tea.KeyPressMsg{Code: tea.KeyEscape}, letter, true
}
