package config

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

// bridge is a sort of table that exists only in this test.
type bridge struct {
	Kind  string
	URL   string
	Every time.Duration
}

func TestAnotherSortOfTablesIsOneValue(t *testing.T) {
	read := map[string]bridge{}
	bridges := tables[bridge]{
		sort: "bridges", one: "a bridge", at: func(*Config) map[string]bridge { return read },
		keys: []Key[bridge]{
			text("kind", "post or poll", func(b *bridge) *string { return &b.Kind }),
			text("url", "where it leads", func(b *bridge) *string { return &b.URL }),
			seconds("every_seconds", "the wait between polls", func(b *bridge) *time.Duration { return &b.Every }).of("poll"),
		},
		fresh: func() bridge { return bridge{Kind: "post", Every: time.Minute} },
		kind:  func(b bridge) string { return b.Kind },
		check: func(b bridge, _ string, _ Source) error { return oneOf(b.Kind, "post", "poll") },
		finished: func(b bridge, name string) bridge {
			if b.URL == "" {
				b.URL = "https://example.com/" + name
			}
			return b
		},
	}
	before := sorts
	t.Cleanup(func() { sorts = before })
	sorts = append(sorts, bridges)

	l, err := load(t, "[bridges.a]\n[bridges.b]\nkind = \"poll\"\nevery_seconds = 2\nurl = \"u\"\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bridge{"a": {"post", "https://example.com/a", time.Minute}, "b": {"poll", "u", 2 * time.Second}}
	if !maps.Equal(read, want) || l.Sources["bridges.b"].Line != 2 || l.Validate() != nil {
		t.Errorf("%+v, line %d, %v", read, l.Sources["bridges.b"].Line, l.Validate())
	}
	rows := ""
	for _, row := range l.Rows() {
		if strings.HasPrefix(row.Key, "bridges.") {
			rows += fmt.Sprint(row.Key, " ", row.Value, "\n")
		}
	}
	if rows != "bridges.a.kind post\nbridges.a.url https://example.com/a\nbridges.b.kind poll\nbridges.b.url u\nbridges.b.every_seconds 2\n" {
		t.Error(rows)
	}
	for file, want := range map[string]string{
		"bridges = 1\n":                       "bridges: give a table for each: [bridges.NAME]",
		"[bridges]\na = 1\n":                  "bridges.a: give a table: [bridges.a] and its keys below",
		"[bridges.a]\nurll = \"u\"\n":         "bridges.a.urll: unknown key; did you mean url?",
		"[bridges.a]\nzzz = 1\n":              "bridges.a.zzz: unknown key; `holon config` lists all",
		"[bridges.a]\nevery_seconds = 1\n":    `bridges.a.every_seconds: a bridge of kind "post" has no such key; it is one of kind "poll"`,
		"[bridges.a]\nurl = 5\n":              "bridges.a.url: give one text, not 5",
		"[bridges.a]\nkind = \"guess\"\n":     `bridges.a: "guess" is not one of post, poll`,
		"[bridges.\"a b\"]\n":                 "bridges.a b: a name has 1 to 64 of A-Z, a-z, 0-9, _ and -",
		"[bridgse.a]\nurl = \"u\"\n":          "bridgse: unknown key; did you mean bridges?",
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
