package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Row is one line of `holon config`.
type Row struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Source Source `json:"source"`
}

// Rows lists every setting and every table with its source. Values of agents'
// environments and secrets of sources and bridges are left out.
func (l *Loaded) Rows() []Row {
	var rows []Row
	for _, key := range Keys {
		rows = append(rows, Row{key.Name, key.Value(l.Config), l.Sources[key.Name]})
	}
	for _, s := range sorts {
		rows = append(rows, s.rows(l)...)
	}
	return rows
}

// Show writes a value as in a file, without quotes.
func Show(value any) string {
	switch value := value.(type) {
	case []string:
		return strings.Join(value, ", ")
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// Markdown returns the table of all settings for the documentation.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| key | flag | variable | value | default | what it is |\n|---|---|---|---|---|---|\n")
	for _, key := range Keys {
		value := Show(key.Value(Defaults()))
		if key.Name == "data" {
			value = "$XDG_STATE_HOME/holon" // not the directory of the user who makes the table
		}
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `--%s` | `%s` | %s | %s | %s |\n", key.Name, key.Flag(), key.Env(), key.Type, value, key.Help)
	}
	return b.String()
}
