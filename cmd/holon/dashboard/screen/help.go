package screen

// Help is the page with all keys. It scrolls where there is little room, and any other
// key leaves it.
type Help struct {
	Open   bool
	passed int // lines that were scrolled past
}

// KeysHere is said of a letter that is no command.
const KeysHere = "? shows the keys."

// HelpKeys are the keys that a help line names meanwhile.
var HelpKeys = []Key{{Name: "↑ ↓", Does: "scroll"}, {Name: "any other key", Does: "back"}}

// Key takes a key: it scrolls or leaves. page is the number of lines of a page.
func (h *Help) Key(name string, page int) {
	switch name {
	case "down", "j":
		h.passed++
	case "up", "k":
		h.passed--
	case "pgdown", "space":
		h.passed += page
	case "pgup":
		h.passed -= page
	default:
		*h = Help{}
	}
}

// Lines returns the visible keys, in at most height lines.
func (h *Help) Lines(styles Styles, keys []Key, width, height int) []string {
	lines := HelpPage(styles, keys, width)
	h.passed = max(min(h.passed, len(lines)-(height-1)), 0)
	lines = lines[h.passed:]
	return append([]string{styles.Title.Paint("Keys")}, lines[:min(len(lines), max(height-1, 0))]...)
}
