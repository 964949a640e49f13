package holon_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// namingDocs are the documents that send a reader to places in the code.
var namingDocs = []string{"docs/architecture.md", "docs/where.md"}

var (
	tableRow = regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\| .* \\| (.*) \\|$")
	goFile   = regexp.MustCompile("`([a-z_/]+\\.go)`")
	// namesIn matches "`A`, `B` and `C` in `dir/file.go`".
	namesIn = regexp.MustCompile("((?:`[\\w.]+`(?:, | and ))*`[\\w.]+`) in `([a-z_/]+\\.go)`")
	inTicks = regexp.MustCompile("`([^`]+)`")
)

// The table of folders in docs/architecture.md says what mayImport says.
func TestDocumentedArrowsAreThoseChecked(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, row := range tableRow.FindAllStringSubmatch(string(page), -1) {
		folder, says := row[1], row[2]
		documented[folder] = true
		allowed, ok := mayImport[folder]
		if !ok {
			t.Errorf("docs/architecture.md has a row for %s, mayImport has none", folder)
			continue
		}
		want := "everything"
		if allowed != nil {
			if want = strings.Join(allowed, ", "); want == "" {
				want = "–"
			}
		}
		if says != want {
			t.Errorf("docs/architecture.md: %s may import %q, in mayImport it is %q", folder, says, want)
		}
	}
	for folder := range mayImport {
		if !documented[folder] {
			t.Errorf("docs/architecture.md has no row for %s", folder)
		}
	}
}

// What the documents name in the code is where they say.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	for _, doc := range namingDocs {
		page, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range goFile.FindAllStringSubmatch(string(page), -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s names %s: %v", doc, m[1], err)
			}
		}
		found := namesIn.FindAllStringSubmatch(string(page), -1)
		if len(found) == 0 {
			t.Errorf("%s names nothing", doc)
		}
		for _, m := range found {
			declared := declarations(t, m[2])
			for _, name := range inTicks.FindAllStringSubmatch(m[1], -1) {
				if !slices.Contains(declared, name[1]) {
					t.Errorf("%s looks for %s in %s, which does not declare it", doc, name[1], m[2])
				}
			}
		}
	}
}

// declarations lists what a file declares: F, T, T.Method, T.Field, v.
func declarations(t *testing.T, path string) (names []string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			names = append(names, name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names = append(names, n.Name)
					}
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
					names = append(names, members(s)...)
				}
			}
		}
	}
	return names
}

// members are the fields of a struct and the methods of an interface.
func members(s *ast.TypeSpec) (names []string) {
	var list *ast.FieldList
	switch typ := s.Type.(type) {
	case *ast.StructType:
		list = typ.Fields
	case *ast.InterfaceType:
		list = typ.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			names = append(names, s.Name.Name+"."+n.Name)
		}
	}
	return names
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
