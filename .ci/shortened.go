// Shortened prints the tests that -short leaves out or makes shorter, each with the
// directory of its package: those that reach testing.Short, or rapid, which looks at it
// too. What a name means is read from imports alone, without types: that finds a few tests
// too many, and misses none.
//
//	go run .ci/shortened.go
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// module is the path of this module, which imports begin with.
const module = "github.com/seed82539d15/holon/"

// name is a function, a method or a variable, in a directory.
type name struct{ dir, is string }

func main() {
	log.SetFlags(0)
	uses := map[name]map[name]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") {
			return err
		}
		return read(file, uses)
	})
	if err != nil {
		log.Fatal("shortened: ", err)
	}
	short := map[name]bool{{"testing", "Short"}: true, {"pgregory.net/rapid", "Check"}: true, {"pgregory.net/rapid", "MakeCheck"}: true}
	for grown := true; grown; {
		grown = false
		for n, used := range uses {
			for u := range used {
				if short[u] && !short[n] {
					short[n], grown = true, true
				}
			}
		}
	}
	var tests []string
	for n := range short {
		if strings.HasPrefix(n.is, "Test") {
			tests = append(tests, n.dir+" "+n.is)
		}
	}
	slices.Sort(tests)
	fmt.Println(strings.Join(tests, "\n"))
}

// read adds what the declarations of a file use, if it is of tests.
func read(file string, uses map[name]map[name]bool) error {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		return err
	}
	imports := map[string]string{} // by the name that the file has for them
	for _, i := range f.Imports {
		p := strings.Trim(i.Path.Value, `"`)
		as := path.Base(p)
		if i.Name != nil {
			as = i.Name.Name
		}
		imports[as] = strings.TrimPrefix(p, module)
	}
	if _, testing := imports["testing"]; !testing && !strings.HasSuffix(file, "_test.go") {
		return nil
	}
	dir := filepath.Dir(file)
	for _, decl := range f.Decls {
		used := map[name]bool{}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				used[name{dir, n.Name}] = true
			case *ast.SelectorExpr:
				used[name{dir, "." + n.Sel.Name}] = true
				for _, p := range imports { // or a method of whatever package
					used[name{p, "." + n.Sel.Name}] = true
				}
				if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
					used[name{imports[x.Name], n.Sel.Name}] = true
					return false
				}
			}
			return true
		})
		for _, declared := range namesOf(decl) {
			if uses[name{dir, declared}] == nil {
				uses[name{dir, declared}] = map[name]bool{}
			}
			for u := range used {
				uses[name{dir, declared}][u] = true
			}
		}
	}
	return nil
}

// namesOf returns the functions and variables that a declaration declares. A method begins with a
// point.
func namesOf(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			return []string{"." + d.Name.Name}
		}
		return []string{d.Name.Name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				for _, n := range v.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}
