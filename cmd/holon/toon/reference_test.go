package toon

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fixtures is a file of the specification's tests (tests/fixtures.schema.json).
type fixtures struct {
	Version string `json:"version"`
	Tests   []struct {
		Name     string                    `json:"name"`
		Input    jsontext.Value            `json:"input"`
		Expected string                    `json:"expected"`
		Options  map[string]jsontext.Value `json:"options"`
	} `json:"tests"`
}

// defaults are the values that options have if they are not set.
var defaults = map[string]string{"indent": "2", "indentSize": "2", "delimiter": `","`, "keyFolding": `"off"`}

// superseded are fixtures of version 3 that version 4 has replaced, with their
// reason. Each must still fail, lest one is listed in vain.
var superseded = map[string]string{
	"uses list format for objects with nested values": "version 4 puts nested objects into the table",
}

func TestOutputIsThatOfTheFixtures(t *testing.T) {
	dir := os.Getenv("TOON_FIXTURES")
	if dir == "" {
		t.Skip("NOT TESTED: TOON_FIXTURES, the folder of the specification's fixtures, is not set; `make test-toon` sets it")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures in %s: %v", dir, err)
	}
	var passed, old int
	options := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var f fixtures
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	tests:
		for _, test := range f.Tests {
			for name, value := range test.Options {
				if defaults[name] != string(value) {
					options[name]++
					continue tests
				}
			}
			got, err := Append(nil, test.Input)
			same := err == nil && string(got) == test.Expected
			if why := superseded[test.Name]; why != "" && f.Version < "4" {
				old++
				t.Logf("skipped %q: %s", test.Name, why)
				if same {
					t.Errorf("%q is not superseded", test.Name)
				}
				continue
			}
			if !same {
				t.Errorf("%s: %s: %v\ngot\n%s\nwant\n%s", filepath.Base(file), test.Name, err, got, test.Expected)
				continue
			}
			passed++
		}
	}
	if passed == 0 {
		t.Error("no fixture was tried")
	}
	t.Logf("%d fixtures passed; skipped: %d superseded, with other options %v", passed, old, options)
}

func TestOutputIsThatOfTheReference(t *testing.T) {
	reference := os.Getenv("TOON_REFERENCE")
	if reference == "" {
		t.Skip("NOT TESTED: TOON_REFERENCE, the folder of the reference encoder, is not set; `make test-toon` sets it")
	}
	const count = 20_000
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]string, count)
	for i := range values {
		values[i] = randomValue(random, 4)
	}
	node := exec.Command("node", "testdata/reference.mjs")
	node.Env = append(os.Environ(), "TOON_REFERENCE="+reference)
	node.Stdin = strings.NewReader(strings.Join(values, "\n"))
	var stderr bytes.Buffer
	node.Stderr = &stderr
	out, err := node.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, stderr.Bytes())
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(answers) != count {
		t.Fatalf("%d answers to %d values", len(answers), count)
	}
	for i, answer := range answers {
		var want string
		if err := json.Unmarshal([]byte(answer), &want); err != nil {
			t.Fatal(err)
		}
		if got, err := Append(nil, jsontext.Value(values[i])); err != nil || string(got) != want {
			t.Fatalf("%s: %v\ngot\n%s\nwant\n%s", values[i], err, got, want)
		}
	}
}

var (
	// Few names, so that objects are often uniform. None looks like an index:
	// JavaScript would move it.
	randomNames = []string{"id", "name", "a.b", "a-b", "", "ä", "#c", "\ufeffx"}
	// The pieces that the rules for quotes are about, without DEL and C1.
	randomPieces = []string{"", "a", " ", "\t", "-", "#", "1", "0", ".5", "e3", "+", "true", "null", ",", ":", `"`, `\`, "[", "}",
		"\n", "\x00", "\x1f", "\u00a0", "ä", "👩\u200d🔬", "\ufeff"}
	randomNumbers = []string{"0", "-0", "1.50", "1e3", "-12.5E-2", "1e20", "1e21", "123456789e15", "1e-6", "1e-7", "0.00000123", "5e-324"}
)

func randomValue(r *rand.Rand, depth int) string {
	pick := r.IntN(10)
	if depth == 0 {
		pick = r.IntN(4)
	}
	switch {
	case pick == 0:
		return []string{"true", "false", "null"}[r.IntN(3)]
	case pick == 1:
		if r.IntN(2) == 0 {
			return randomNumbers[r.IntN(len(randomNumbers))]
		}
		f := r.NormFloat64()
		for range r.IntN(12) {
			f *= f // far from 1
		}
		return strconv.FormatFloat(min(f, 1e300), 'g', -1, 64)
	case pick < 4:
		var s string
		for range r.IntN(4) {
			s += randomPieces[r.IntN(len(randomPieces))]
		}
		return quoted(s)
	case pick < 6:
		return list(r, func() string { return randomValue(r, depth-1) })
	case pick < 8:
		return object(r, randomNames[:1+r.IntN(len(randomNames))], func() string { return randomValue(r, depth-1) })
	}
	// Values that are alike, which tables are made of.
	names := randomNames[:1+r.IntN(3)]
	uniform := func() string {
		return object(r, names, func() string {
			if r.IntN(40) == 0 {
				return randomValue(r, depth-1)
			}
			return randomValue(r, 0)
		})
	}
	if r.IntN(2) == 0 {
		inner := uniform
		uniform = func() string {
			return fmt.Sprintf(`{"k":%s,"group":%s}`, randomValue(r, 0), inner())
		}
	}
	if pick == 8 {
		return list(r, uniform)
	}
	return object(r, randomNames[:1+r.IntN(4)], uniform)
}

func list(r *rand.Rand, value func() string) string {
	items := make([]string, r.IntN(4))
	for i := range items {
		items[i] = value()
	}
	return "[" + strings.Join(items, ",") + "]"
}

// object returns an object of the names in some order, at times without one.
func object(r *rand.Rand, names []string, value func() string) string {
	var members []string
	for _, i := range r.Perm(len(names)) {
		if r.IntN(20) > 0 {
			members = append(members, quoted(names[i])+":"+value())
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func quoted(s string) string {
	text, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err)
	}
	return string(text)
}
