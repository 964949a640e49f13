package config

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

// relay is a sort of table that exists only in this test.
type relay struct {
	Kind  string
	URL   string
	Every time.Duration
}

func TestAnotherSortOfTablesIsOneValue(t *testing.T) {
	read := map[string]relay{}
	relays := tables[relay]{
		sort: "relays", one: "a relay", at: func(*Config) map[string]relay { return read },
		keys: []Key[relay]{
			text("kind", "post or poll", func(b *relay) *string { return &b.Kind }),
			text("url", "where it leads", func(b *relay) *string { return &b.URL }),
			seconds("every_seconds", "the wait between polls", func(b *relay) *time.Duration { return &b.Every }).of("poll"),
		},
		fresh: func() relay { return relay{Kind: "post", Every: time.Minute} },
		kind:  func(b relay) string { return b.Kind },
		check: func(b relay, _ string, _ Source) error { return oneOf(b.Kind, "post", "poll") },
		finished: func(b relay, name string) relay {
			if b.URL == "" {
				b.URL = "https://example.com/" + name
			}
			return b
		},
	}
	before := sorts
	t.Cleanup(func() { sorts = before })
	sorts = append(sorts, relays)

	l, err := load(t, "[relays.a]\n[relays.b]\nkind = \"poll\"\nevery_seconds = 2\nurl = \"u\"\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]relay{"a": {"post", "https://example.com/a", time.Minute}, "b": {"poll", "u", 2 * time.Second}}
	if !maps.Equal(read, want) || l.Sources["relays.b"].Line != 2 || l.Validate() != nil {
		t.Errorf("%+v, line %d, %v", read, l.Sources["relays.b"].Line, l.Validate())
	}
	rows := ""
	for _, row := range l.Rows() {
		if strings.HasPrefix(row.Key, "relays.") {
			rows += fmt.Sprint(row.Key, " ", row.Value, "\n")
		}
	}
	if rows != "relays.a.kind post\nrelays.a.url https://example.com/a\nrelays.b.kind poll\nrelays.b.url u\nrelays.b.every_seconds 2\n" {
		t.Error(rows)
	}
	for file, want := range map[string]string{
		"relays = 1\n":                        "relays: give a table for each: [relays.NAME]",
		"[relays]\na = 1\n":                   "relays.a: give a table: [relays.a] and its keys below",
		"[relays.a]\nurll = \"u\"\n":          "relays.a.urll: unknown key; did you mean url?",
		"[relays.a]\nzzz = 1\n":               "relays.a.zzz: unknown key; `holon config` lists all",
		"[relays.a]\nevery_seconds = 1\n":     `relays.a.every_seconds: a relay of kind "post" has no such key; it is one of kind "poll"`,
		"[relays.a]\nurl = 5\n":               "relays.a.url: give one text, not 5",
		"[relays.a]\nkind = \"guess\"\n":      `relays.a: "guess" is not one of post, poll`,
		"[relays.\"a b\"]\n":                  "relays.a b: a name has 1 to 64 of A-Z, a-z, 0-9, _ and -",
		"[realys.a]\nurl = \"u\"\n":           "realys: unknown key; did you mean relays?",
		"[agents.a]\nkind=\"echo\"\nurl=\"\"": "agents.a.url: unknown key",
	} {
		clear(read)
		l, err := load(t, file, nil)
		if err == nil {
			err = l.Validate()
		}
		var bad *Error
		if !errors.As(err, &bad) || !strings.HasPrefix(bad.Key+": "+bad.Text, want) || bad.Source.Origin != FromFile {
			t.Errorf("%q: %v, want %s", file, err, want)
		}
	}
}
