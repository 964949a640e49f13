package conversation

import "unicode/utf8"

// Bounds of the text of one item.
const (
	// keepText is how much of the text of an item is held: more than a person
	// reads in a window. Of an open item it is the end, else the beginning.
	keepText = 64 << 10
	// markdownText is the longest text that is rendered as Markdown; a longer one
	// is shown as it is.
	markdownText = 32 << 10
)

// body is a text that grows, as far as it is held.
type body struct {
	before int64 // bytes in front of text that are not held
	text   []byte
	after  int64 // bytes behind text that are not held
}

// set takes a whole text. Of an open item the end is held, because it grows there.
func (b *body) set(text string, open bool) {
	*b = body{}
	switch {
	case len(text) <= keepText:
	case open:
		at := len(text) - keepText
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
		b.before, text = int64(at), text[at:]
	default:
		at := keepText
		for at > 0 && !utf8.RuneStart(text[at]) {
			at--
		}
		b.after, text = int64(len(text)-at), text[:at]
	}
	b.text = []byte(text)
}

// grow puts text at its offset, usually the end of the text so far. If the page began
// in the middle, or a server repeats itself, the offset decides.
func (b *body) grow(offset int64, text string) {
	switch at := offset - b.before; {
	case at < 0 || at > int64(len(b.text)):
		b.before, b.text = offset, nil
	default:
		b.text = b.text[:at]
	}
	b.after = 0
	b.text = append(b.text, text...)
	if len(b.text) > 2*keepText {
		at := len(b.text) - keepText
		for at < len(b.text) && !utf8.RuneStart(b.text[at]) {
			at++
		}
		b.before += int64(at)
		b.text = append([]byte(nil), b.text[at:]...)
	}
}

// size returns the length of the whole text.
func (b *body) size() int64 { return b.before + int64(len(b.text)) + b.after }
