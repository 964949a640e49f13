package picturetest

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
)

// Frame is a screen and how long it is shown in a movie. Caption says above it what
// happens outside of the terminal; "" = nothing.
type Frame struct {
	Capture string
	Caption string
	For     time.Duration
}

// The size of a cell, in the units of the picture: a font of 14 units.
const (
	cellWidth, cellHeight = 8.4, 17.0
	margin, bar           = 14.0, 30.0
	fontSize              = 14
	background            = "#16181a"
	foreground            = "#c9ccc8"
	dimmed                = "#7d8285"
	captioned             = "#e0635c"
)

// Picture draws one screen as SVG. alt says in words what is on it.
func Picture(columns, rows int, alt, capture string) []byte {
	return Movie(columns, rows, alt, []Frame{{Capture: capture}})
}

// Movie draws screens one after the other, again and again. It uses CSS alone, so it
// also plays where scripts do not run; a reader who asks for less motion sees the last
// screen.
func Movie(columns, rows int, alt string, frames []Frame) []byte {
	width, height := float64(columns)*cellWidth+2*margin, float64(rows)*cellHeight+2*margin+bar
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" role="img" aria-label="%s" xml:space="preserve">`+"\n", width, height, width, escape(alt))
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(alt))
	fmt.Fprintf(&b, `<style>text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:%s;white-space:pre}`, fontSize, foreground)
	b.WriteString(animation(frames))
	b.WriteString("</style>\n")
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" rx="8" fill="%s"/>`+"\n", width, height, background)
	for i, colour := range []string{"#e0635c", "#e3b341", "#5fb760"} {
		fmt.Fprintf(&b, `<circle cx="%.0f" cy="19" r="5.5" fill="%s"/>`+"\n", margin+8+float64(i)*18, colour)
	}
	for i, f := range frames {
		if len(frames) > 1 {
			fmt.Fprintf(&b, `<g class="f" id="f%d">`+"\n", i)
		}
		if f.Caption != "" {
			fmt.Fprintf(&b, `<text x="%.0f" y="24" text-anchor="middle" style="fill:%s">%s</text>`+"\n", width/2, captioned, escape(f.Caption))
		}
		drawScreen(&b, rows, f.Capture)
		if len(frames) > 1 {
			b.WriteString("</g>\n")
		}
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// animation shows each frame for its time.
func animation(frames []Frame) string {
	if len(frames) < 2 {
		return ""
	}
	var total time.Duration
	for _, f := range frames {
		total += f.For
	}
	var b strings.Builder
	fmt.Fprintf(&b, ".f{visibility:hidden;animation-duration:%.2fs;animation-iteration-count:infinite;animation-timing-function:step-end}", total.Seconds())
	at := time.Duration(0)
	percent := func(d time.Duration) float64 { return 100 * d.Seconds() / total.Seconds() }
	for i, f := range frames {
		fmt.Fprintf(&b, "#f%d{animation-name:k%d}@keyframes k%d{", i, i, i)
		if i > 0 {
			b.WriteString("0%{visibility:hidden}")
		}
		fmt.Fprintf(&b, "%.3f%%{visibility:visible}", percent(at))
		if at += f.For; i < len(frames)-1 {
			fmt.Fprintf(&b, "%.3f%%{visibility:hidden}", percent(at))
		}
		b.WriteString("}")
	}
	fmt.Fprintf(&b, "@media(prefers-reduced-motion:reduce){.f{animation:none}#f%d{visibility:visible}}", len(frames)-1)
	return b.String()
}

func drawScreen(b *strings.Builder, rows int, capture string) {
	for i, line := range linesOf(capture) {
		if i >= rows {
			return
		}
		top := bar + margin + float64(i)*cellHeight
		for _, r := range line {
			drawRun(b, r, top)
		}
	}
}

func drawRun(b *strings.Builder, r run, top float64) {
	s := r.style
	fore, back := s.fore, s.back
	if s.reverse {
		if fore, back = back, fore; fore == "" {
			fore = background
		}
		if back == "" {
			back = foreground
		}
	}
	if s.dim && fore == "" {
		fore = dimmed
	}
	left, width := margin+float64(r.at)*cellWidth, float64(r.width)*cellWidth
	if back != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left, top, width, cellHeight, back)
	}
	if strings.TrimSpace(r.text) == "" {
		return
	}
	attributes := ""
	if fore != "" {
		attributes += fmt.Sprintf(` style="fill:%s"`, fore) // an attribute loses against the style sheet
	}
	if s.bold {
		attributes += ` font-weight="bold"`
	}
	if s.italic {
		attributes += ` font-style="italic"`
	}
	switch {
	case s.underline:
		attributes += ` text-decoration="underline"`
	case s.strike:
		attributes += ` text-decoration="line-through"`
	}
	// Words that are two columns or more apart are placed by themselves, because not
	// every viewer keeps spaces. textLength keeps columns straight whatever font the
	// reader has.
	for _, word := range wordsOf(r) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
			margin+float64(word.at)*cellWidth, top+cellHeight-4, float64(word.width)*cellWidth, attributes, escape(word.text))
	}
}

// wordsOf splits a run where two or more spaces follow each other, without spaces at
// the ends.
func wordsOf(r run) (words []run) {
	at, rest := r.at, r.text
	for {
		trimmed := strings.TrimLeft(rest, " ")
		at += len(rest) - len(trimmed)
		if trimmed == "" {
			return words
		}
		word := trimmed
		if i := strings.Index(trimmed, "  "); i >= 0 {
			word = trimmed[:i]
		}
		rest = trimmed[len(word):]
		word = strings.TrimRight(word, " ")
		width := runewidth.StringWidth(word)
		words = append(words, run{at: at, width: width, text: word})
		at += runewidth.StringWidth(trimmed[:len(trimmed)-len(rest)])
	}
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // never an error
	return b.String()
}
