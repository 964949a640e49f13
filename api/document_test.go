package api

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func TestGeneratedFilesAreUnchanged(t *testing.T) {
	page, err := Protocol()
	if err != nil {
		t.Fatal(err)
	}
	document, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, document, "", "  "); err != nil {
		t.Fatal(err)
	}
	types, err := TypeScript()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"docs/protocol.md": page, "docs/openrpc.json": indented.String() + "\n", "clients/js/types.d.ts": types,
	} {
		got, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the tables make: run go generate ./api", name)
		}
	}
}

// Other specifications name these two.
var foreign = map[string]bool{"initialize": true, "rpc.discover": true}

func TestEveryNameIsSlashStyleAndNamesItsGoTypes(t *testing.T) {
	slash := regexp.MustCompile(`^[a-z]+(/[a-z][A-Za-z]*(_[a-z]+)*)+$`)
	handlers := reflect.TypeFor[*Handlers]()
	for _, m := range (&Handlers{}).methods() {
		if !slash.MatchString(m.Name) && !foreign[m.Name] {
			t.Errorf("%s is no slash-style name", m.Name)
		}
		name := goName(m.Name)
		if got := m.Params.Name(); got != name+"Params" {
			t.Errorf("%s: params are called %s, not %sParams", m.Name, got, name)
		}
		if _, ok := handlers.MethodByName(name); !ok {
			t.Errorf("%s: Handlers has no method %s", m.Name, name)
		}
		if m.Summary == "" {
			t.Errorf("%s has no summary", m.Name)
		}
	}
	listed := map[string]bool{}
	for _, n := range Notifications() {
		if !slash.MatchString(n.Name) {
			t.Errorf("%s is no slash-style name", n.Name)
		}
		listed[n.Name] = true
	}
	source, err := os.ReadFile("../notify/methods.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t\w+\s+= "(.+)"`).FindAllStringSubmatch(string(source), -1) {
		if !listed[m[1]] {
			t.Errorf("%s is not in the table of notifications", m[1])
		}
		delete(listed, m[1])
	}
	if len(listed) > 0 {
		t.Errorf("no constants name %v", listed)
	}
}

func TestEveryKindOfErrorHasItsRow(t *testing.T) {
	source, err := os.ReadFile("errors.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(Kind\w+)\s+Kind = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		if kindByName[Kind(m[2])] == nil {
			t.Errorf("%s is not in Kinds", m[1])
		}
	}
	for _, k := range Kinds {
		if !strings.HasSuffix(k.Sentence, ".") || k.Code > -32000 || k.Code < -32768 {
			t.Errorf("row %+v", k)
		}
	}
}

func TestEverySchemaResolves(t *testing.T) {
	d, err := describeAll()
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, s *jsonschema.Schema) {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var again jsonschema.Schema
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := again.Resolve(nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, m := range d.Methods {
		check(m.Name, m.ParamsSchema)
		check(m.Name, m.Result.Schema)
	}
	for _, n := range d.Notifications {
		check(n.Name, n.Params)
	}
}

func TestTypeScriptDeclaresEveryName(t *testing.T) {
	text, err := TypeScript()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range (&Handlers{}).methods() {
		for _, part := range []string{"export interface " + goName(m.Name) + "Params", "export type " + goName(m.Name) + "Result"} {
			if !strings.Contains(text, part) {
				t.Errorf("missing: %s", part)
			}
		}
	}
	if strings.Count(text, "{") != strings.Count(text, "}") {
		t.Error("braces do not match")
	}
}
