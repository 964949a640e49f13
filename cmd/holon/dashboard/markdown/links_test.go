package markdown

import (
	"strings"
	"testing"
)

func TestAddressesThatNameAUser(t *testing.T) {
	for address, want := range map[string]bool{
		"https://good.example@evil.example/x": true, "https://user:word@evil.example": true, "https://@evil.example": true, "HTTPS://a@b": true,
		`https:\\a@b`: true, "https:a@b": true, "https:///a@b": true, "ssh://git@host/x": true,
		"https://good.example": false, "https://good.example/@user?to=a@b": false, "https://good.example?a@b": false, "https://good.example#a@b": false,
		"mailto:a@b.example": false, "MAILTO:a@b": false, "a@b.example": false, "": false, "/a@b": false,
	} {
		if namesUser(address) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
}

// A link is drawn bold, and its address underlined. One with a user in its address is
// neither: it stands there as it was written.
func TestLinksWithAUserAreText(t *testing.T) {
	const to = "https://good.example@evil.example/x"
	for _, c := range []struct{ text, want string }{
		{"[the words](" + to + ")", "[the words](" + to + ")"},
		{"[the **words**](" + to + " \"title\")", "[the words](" + to + " \"title\")"},
		{"[the words][r]\n\n[r]: " + to, "[the words](" + to + ")\n\n\x1b[2m[r]: " + to},
		{"![the words](" + to + ")", "![the words](" + to + ")"},
		{"[![words](" + to + ")](" + to + ")", "[![words](" + to + ")](" + to + ")"},
		{"<" + to + ">", to},
		{"- look: " + to, "• look: " + to},
	} {
		row := strings.Join(Rows(c.text, 100, false), "\n")
		if got := strings.NewReplacer("\x1b[m", "", "\x1b[0m", "", "\x1b[1m", "").Replace(row); got != c.want {
			t.Errorf("%s is drawn as %q, want %q", c.text, row, c.want)
		}
	}
	for _, text := range []string{"[the words](https://good.example/@user)", "<https://good.example>", "[mail](mailto:a@b.example)"} {
		if row := strings.Join(Rows(text, 100, false), "\n"); !strings.Contains(row, "\x1b[4") && !strings.Contains(row, ";4") {
			t.Errorf("%s is no link: %q", text, row)
		}
	}
}
