package main

import (
	"errors"
	"fmt"
	"strings"

	"rsc.io/qr"
)

// quietZone is how many light modules are around a QR code (ISO/IEC 18004, 6.3.8: four).
const quietZone = 4

// drawQR draws a text as a QR code for the terminal.
func (c *console) drawQR(text string) (string, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", errors.New("the address is too long")
	}
	colours, width := c.isTerminal(c.out), code.Size+2*quietZone
	if colours && width > c.columns() {
		return "", fmt.Errorf("it needs %d columns, and the terminal has %d", width, c.columns())
	}
	return drawModules(code, colours), nil
}

// drawModules draws two rows of modules in a line: dark on light whatever the colours of
// the terminal are. Without colours the light ones are drawn, which suits terminals that
// are dark.
func drawModules(code *qr.Code, colours bool) string {
	begin, end := "", "\n"
	if colours {
		begin, end = "\x1b[30;107m", "\x1b[0m\n"
	}
	var b strings.Builder
	for y := -quietZone; y < code.Size+quietZone; y += 2 {
		b.WriteString(begin)
		for x := -quietZone; x < code.Size+quietZone; x++ {
			b.WriteString(halfBlock(code.Black(x, y) == colours, code.Black(x, y+1) == colours))
		}
		b.WriteString(end)
	}
	return b.String()
}

// halfBlock returns the character whose upper and lower half are drawn.
func halfBlock(upper, lower bool) string {
	switch {
	case upper && lower:
		return "█"
	case upper:
		return "▀"
	case lower:
		return "▄"
	}
	return " "
}
