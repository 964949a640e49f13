package screen

// mostNotice is how many lines of a window a notice may take: in 40 columns as many as a
// refusal needs that says what to do about it.
const mostNotice = 6

// NoticeLines returns a sentence in the lines of a window: as many as it needs where it is
// narrow, but no more than half of it.
func NoticeLines(style Style, text string, width, height int) []string {
	most := max(1, min(mostNotice, height/2))
	lines := Wrap(OneLine(text), width)
	if len(lines) > most {
		lines = append(lines[:most-1:most-1], Fit(lines[most-1]+" …", width))
	}
	for i, line := range lines {
		lines[i] = style.Paint(Pad(line, width))
	}
	return lines
}

// PutNotice puts a sentence over the last lines of a window.
func PutNotice(lines []string, style Style, text string, width int) {
	notice := NoticeLines(style, text, width, len(lines))
	copy(lines[max(0, len(lines)-len(notice)):], notice)
}
