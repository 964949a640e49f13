package holon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// maxMethods is how many methods a type that holds mutable state has at most,
// with those of what it embeds: a type with more has more than one job.
const maxMethods = 40

// manyMethods are the types that may have more than maxMethods, and why. One
// that is to be split has at most so many methods, a number that only falls; 0
// is for a type that has as many as its reason gives it.
var manyMethods = map[string]struct {
	most int
	why  string
}{
	"api.Handlers":          {0, "one for each method of the wire; it holds no state"},
	"conformance.probe":     {0, "the vocabulary of the checks, as testing.T is that of tests; one check uses it, and then nobody"},
	"conformance.player":    {0, "a probe that reads scripts"},
	"notify.Time":           {0, "those of time.Time, a value"},
	"rpc/client/wire.Time":  {0, "those of time.Time, a value"},
	"persist/sqlite.Reader": {0, "one for each read of the engine and of clients, all from persist.Reads; its state is its connections"},
}

func TestNoTypeHasTooManyMethods(t *testing.T) {
	found, err := methodCounts()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		n, exception := found[name], manyMethods[name]
		switch {
		case n <= maxMethods && exception.why != "":
			t.Errorf("%s has %d methods: take it out of manyMethods", name, n)
		case n > maxMethods && exception.why == "":
			t.Errorf("%s has %d methods, more than %d: it has more than one job", name, n, maxMethods)
		case exception.most > 0 && n > exception.most:
			t.Errorf("%s has %d methods, manyMethods allows it %d: the number only falls", name, n, exception.most)
		}
	}
	for name := range manyMethods {
		if _, ok := found[name]; !ok {
			t.Errorf("%s is in manyMethods, but there is no such type", name)
		}
	}
}

// methodCounts returns the number of methods of each type of the product that
// is no interface, those included that it has from embedded fields.
func methodCounts() (map[string]int, error) {
	packages, err := typedPackages()
	if err != nil {
		return nil, err
	}
	found := map[string]int{}
	for path, pkg := range packages {
		for _, name := range pkg.Scope().Names() {
			obj, ok := pkg.Scope().Lookup(name).(*types.TypeName)
			if !ok || obj.IsAlias() || types.IsInterface(obj.Type()) {
				continue
			}
			found[path+"."+name] = types.NewMethodSet(types.NewPointer(obj.Type())).Len()
		}
	}
	return found, nil
}

// typedPackages returns the packages that are not for tests only, by their folders.
var typedPackages = sync.OnceValues(func() (map[string]*types.Package, error) {
	// The imports of a package are read as the compiler left them, the package
	// itself from its source, because only that has the unexported types.
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	var ours []listed
	compiled := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		compiled[p.ImportPath] = p.Export
		if path, ok := strings.CutPrefix(p.ImportPath, module); ok && !forTests(path) {
			ours = append(ours, p)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) })
	packages := map[string]*types.Package{}
	for _, p := range ours {
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
		pkg, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, files, nil)
		if err != nil {
			return nil, err
		}
		packages[strings.TrimPrefix(p.ImportPath, module)] = pkg
	}
	return packages, nil
})
