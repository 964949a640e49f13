package timeline

import (
	"strings"

	"github.com/seed82539d15/holon/internal/sanitize"
)

// Clean makes a text harmless on a terminal: sanitize.Text.
func Clean(s string) string { return sanitize.Text(s) }

// OneLine makes a text harmless and puts it on one line. Control characters are
// shown by their pictures there too.
func OneLine(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }
