package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// The page has the limits of package api; the command's own defaults go to the
// server, so the two must be the same.
func TestTheDocumentedLimitsAreThoseOfAServer(t *testing.T) {
	page, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]float64{}
	for _, row := range regexp.MustCompile(`(?m)^\| .(\w+). \| ([0-9.e+]+) \|$`).FindAllStringSubmatch(string(page), -1) {
		if documented[row[1]], err = strconv.ParseFloat(row[2], 64); err != nil {
			t.Fatal(err)
		}
	}
	told := oneObject(t, startServer(t).want("call", "initialize"))["limits"].(map[string]any)
	delete(told, "drain_seconds") // the test's server has less
	delete(documented, "drain_seconds")
	for name, value := range told {
		if documented[name] != value {
			t.Errorf("%s: the server has %v, docs/protocol.md %v", name, value, documented[name])
		}
		delete(documented, name)
	}
	if len(documented) > 0 {
		t.Errorf("docs/protocol.md has limits that the server does not tell: %v", documented)
	}
}
