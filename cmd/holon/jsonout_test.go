package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestJSONOnATerminalIsTheSameValueWithoutCharactersThatAct(t *testing.T) {
	var every strings.Builder
	for r := rune(0x20); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) && (r < 0x3000 || unicode.In(r, unicode.Cf, unicode.Cc, unicode.So)) {
			every.WriteRune(r)
		}
	}
	for name, text := range map[string]string{
		"every character": every.String(),
		"C1":              "\u009b31m\u009d0;title\u009c",
		"bidi":            "\u202egnp.exe\u2066x\u2069\u200f\u061c",
		"tags":            "\U000e0041\U000e007f",
		"plain":           "a\tb\nc \"quoted\" \\ <&> ä 語 👩\u200d🔬 \ufffd",
	} {
		var in bytes.Buffer
		encoder := json.NewEncoder(&in)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(map[string]string{text: text}); err != nil {
			t.Fatal(err)
		}
		raw := strings.ReplaceAll(strings.ReplaceAll(in.String(), `\u2028`, "\u2028"), `\u2029`, "\u2029")
		var whole, bytewise bytes.Buffer
		if _, err := (&jsonEscaper{w: &whole}).Write([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		one := &jsonEscaper{w: &bytewise}
		for i := range len(raw) {
			if n, err := one.Write([]byte{raw[i]}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if whole.String() != bytewise.String() {
			t.Errorf("%s: in pieces it is\n%q, whole\n%q", name, bytewise.String(), whole.String())
		}
		var value map[string]string
		if err := json.Unmarshal(whole.Bytes(), &value); err != nil || value[text] != text {
			t.Errorf("%s: another value: %v\n%s", name, err, whole.String())
		}
		for _, r := range whole.String() {
			if r != '\n' && r != '\u200c' && r != '\u200d' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) && (r < 0x600 || r > 0x8e2)) {
				t.Errorf("%s: %U comes through", name, r)
			}
		}
		if name == "plain" && whole.String() != raw {
			t.Errorf("plain text is changed: %q", whole.String())
		}
	}
}

func TestWhatIsNoJSONDoesNothingOnATerminal(t *testing.T) {
	var out bytes.Buffer
	if _, err := (&jsonEscaper{w: &out}).Write([]byte("\x1b[2J{\"a\":\"\x9b1m\xff\",\r\"b\":1}\n")); err != nil {
		t.Fatal(err)
	}
	if want := "\\u001b[2J{\"a\":\"\\ufffd1m\\ufffd\", \"b\":1}\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
