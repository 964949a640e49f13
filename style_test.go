package holon_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// noVerb are words with which the comment of a function must not go on after its name: it says what
// the function does.
var noVerb = []string{"is", "are", "has", "have", "says", "tells", "hears", "what", "a", "an", "the", "of"}

func TestCommentsOfFunctionsBeginWithAVerb(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	files := 0
	for _, path := range strings.Fields(string(out)) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if files++; ast.IsGenerated(file) || strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Doc == nil {
				continue
			}
			words := strings.Fields(f.Doc.Text())
			if len(words) < 2 || strings.TrimSuffix(words[0], ",") != f.Name.Name || slices.Contains(noVerb, words[1]) {
				t.Errorf("%s: %q does not begin with %s and a verb", fset.Position(f.Pos()), strings.Join(words[:min(5, len(words))], " "), f.Name.Name)
			}
		}
	}
	if files < 1000 {
		t.Errorf("only %d files were read", files)
	}
}
