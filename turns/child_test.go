package turns_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/turns"
)

func TestATitleIsOneShortLine(t *testing.T) {
	for name, c := range map[string]struct{ title, reason string }{
		"nothing":          {"", ""},
		"a line":           {"all tests \u2013 \u05d0\u05d1\u05d2 \u200d🎉 <b>", ""},
		"200 characters":   {strings.Repeat("𝄞", 200), ""},
		"201 characters":   {strings.Repeat("x", 201), turns.ReasonTooLarge},
		"a line feed":      {"a\nb", turns.ReasonInvalid},
		"a line feed last": {"a\n", turns.ReasonInvalid},
		"a return":         {"a\rb", turns.ReasonInvalid},
		"a tab":            {"a\tb", turns.ReasonInvalid},
		"a NUL":            {"a\x00b", turns.ReasonInvalid},
		"an escape":        {"\x1b[31mred", turns.ReasonInvalid},
		"C1":               {"a\u009bb", turns.ReasonInvalid},
		"next line":        {"a\u0085b", turns.ReasonInvalid},
		"line separator":   {"a\u2028b", turns.ReasonInvalid},
		"paragraph":        {"a\u2029b", turns.ReasonInvalid},
		"override":         {"\u202egnp.exe", turns.ReasonInvalid},
		"isolate":          {"\u2066a\u2069", turns.ReasonInvalid},
		"no UTF-8":         {"a\xff", turns.ReasonInvalid},
	} {
		err := turns.CheckTitle("title", c.title)
		var bad *turns.InvalidError
		if errors.As(err, &bad); (err == nil) != (c.reason == "") || err != nil && (bad == nil || bad.Field != "title" || bad.Reason != c.reason) {
			t.Errorf("%s: %v, want %q", name, err, c.reason)
		}
	}
}
