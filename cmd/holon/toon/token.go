package toon

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

var (
	bareKey    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)
	likeNumber = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// quoteKey returns a member's name as TOON writes it. Different names give
// different results.
func quoteKey(s string) string {
	if bareKey.MatchString(s) {
		return s
	}
	return quote(s)
}

// quoteText returns a string as TOON writes it (section 7.2 of the
// specification): bare, unless a decoder would read something else.
func quoteText(s string) string {
	switch {
	case s == "", s == "true", s == "false", s == "null":
		return quote(s)
	case strings.ContainsAny(s, `:"\[]{},`), strings.ContainsFunc(s, unicode.IsControl):
		return quote(s)
	case strings.HasPrefix(s, " "), strings.HasSuffix(s, " "):
		return quote(s)
	case s[0] == '-', s[0] == '#': // an item of a list, a comment
		return quote(s)
	case likeNumber.MatchString(s):
		return quote(s)
	}
	return s
}

// quote returns a string in quotes with the escapes of section 7.1. Control
// characters above U+001F are escaped too, which the section permits.
func quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsControl(r): // all are below U+00A0
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// canonical returns a JSON number as TOON writes it (section 2): with all its
// digits, without needless zeros, and with an exponent only below 1e-6 and from
// 1e21, as JavaScript does. A number with an exponent of more than 32 bits
// stays as it is.
func canonical(number string) string {
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(number), "e")
	unsigned, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(unsigned, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	// The number is 0.digits times ten to the power of point.
	point := int64(len(whole) - (len(whole) + len(fraction) - len(digits)))
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return "0"
	}
	if hasExponent {
		e, err := strconv.ParseInt(exponent, 10, 32)
		if err != nil {
			return number
		}
		point += e
	}
	var b strings.Builder
	if negative {
		b.WriteByte('-')
	}
	n := int64(len(digits))
	switch {
	case point < -5 || point > 21:
		b.WriteString(digits[:1])
		if n > 1 {
			b.WriteString("." + digits[1:])
		}
		fmt.Fprintf(&b, "e%+d", point-1)
	case point <= 0:
		b.WriteString("0." + strings.Repeat("0", int(-point)) + digits)
	case point >= n:
		b.WriteString(digits + strings.Repeat("0", int(point-n)))
	default:
		b.WriteString(digits[:point] + "." + digits[point:])
	}
	return b.String()
}
