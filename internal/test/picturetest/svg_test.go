package picturetest

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// texts returns the texts of an SVG that is well formed.
func texts(t *testing.T, svg []byte) (all []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for inText := false; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			inText = token.Name.Local == "text"
		case xml.CharData:
			if inText {
				all = append(all, string(token))
			}
		case xml.EndElement:
			inText = false
		}
	}
}

func TestAPictureHasTheScreensTexts(t *testing.T) {
	const capture = "\x1b[1mneeds you\x1b[0m  \x1b[38;5;214mask\x1b[39m <a&b>\n\x1b[7m❯ 日本語\x1b[0m \x1b]0;title\x07end\nthird"
	svg := Picture(40, 2, `two "lines"`, capture)
	got := strings.Join(texts(t, svg), "|")
	if !strings.HasPrefix(got, "needs you|ask|<a&b>|❯ 日本語|") {
		t.Errorf("texts %q", got)
	}
	for _, want := range []string{`font-weight="bold"`, `fill:#ffaf00`, `aria-label="two &#34;lines&#34;"`, `textLength="67.2"`} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
	if strings.Contains(string(svg), "third") {
		t.Error("a line below the screen is drawn")
	}
}

func TestAMovieShowsEachScreenForItsTime(t *testing.T) {
	svg := string(Movie(10, 1, "m", []Frame{{"a", "", time.Second}, {"b", "c", 3 * time.Second}}))
	for _, want := range []string{
		"animation-duration:4.00s", "@keyframes k0{0.000%{visibility:visible}25.000%{visibility:hidden}}",
		"@keyframes k1{0%{visibility:hidden}25.000%{visibility:visible}}", "prefers-reduced-motion:reduce){.f{animation:none}#f1{visibility:visible}",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
	if got := strings.Join(texts(t, []byte(svg)), ""); got != "acb" {
		t.Errorf("texts %q", got)
	}
}

func FuzzPicture(f *testing.F) {
	f.Add("\x1b[38;2;1;2mx\x1b[48;5mx\x1b[38mx\x1b[")
	f.Fuzz(func(t *testing.T, capture string) {
		texts(t, Movie(80, 24, capture, []Frame{{capture, capture, time.Second}, {capture, "", time.Second}}))
	})
}
