package screen

import "strings"

// Key is a key and what it does, for help lines. Short is what it does in a narrow
// window, if that needs other words.
type Key struct{ Name, Does, Short string }

// narrow is the width below which help lines use short words.
const narrow = 60

// in returns the key as a help line of a width names it.
func (k Key) in(width int) Key {
	if width < narrow && k.Short != "" {
		k.Does = k.Short
	}
	return k
}

// HelpLine names as many keys as fit in width columns, in their order. The last
// key is always named, since it leads to the others (? keys).
func HelpLine(styles Styles, keys []Key, width int) string {
	if len(keys) == 0 {
		return ""
	}
	last := keys[len(keys)-1].in(width)
	room := width - Width(last.Name+" "+last.Does)
	var b strings.Builder
	for _, key := range keys[:len(keys)-1] {
		key = key.in(width)
		text := key.Name + " " + key.Does
		if room -= Width(text) + 2; room < 0 {
			break
		}
		b.WriteString(styles.Key.Paint(key.Name) + " " + key.Does + "  ")
	}
	b.WriteString(styles.Key.Paint(last.Name) + " " + last.Does)
	return Fit(b.String(), width)
}

// HelpPage names all keys. A key without a name is a heading. What does not fit on a line
// continues on the next one.
func HelpPage(styles Styles, keys []Key, width int) []string {
	widest := 0
	for _, key := range keys {
		widest = max(widest, Width(key.Name))
	}
	widest = min(widest, width*2/5)
	lines := make([]string, 0, len(keys))
	for _, key := range keys {
		if key.Name == "" {
			lines = append(lines, styles.Title.Paint(Fit(key.Does, width)))
			continue
		}
		name := styles.Key.Paint(Pad(key.Name, widest))
		if Width(key.Name) > widest {
			lines = append(lines, styles.Key.Paint(Fit(key.Name, width)))
			name = blanks(widest)
		}
		for _, does := range Wrap(key.Does, max(width-widest-2, 1)) {
			lines = append(lines, name+"  "+does)
			name = blanks(widest)
		}
	}
	return lines
}
