package holon_test

import (
	"go/types"
	"strings"
	"testing"
)

// public are the packages that other modules may import. All others may change in any release.
var public = []string{"rpc/client", "rpc/client/wire", "notify/fold", "rpc", "notify", "threads", "turns", "items", "persist", "conformance"}

// Nobody outside of this module can name a type of internal/, so nothing public needs one.
func TestPublicPackagesNeedNothingInternal(t *testing.T) {
	packages, err := typedPackages()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range public {
		pkg := packages[path]
		if pkg == nil {
			t.Errorf("there is no package %s", path)
			continue
		}
		for _, name := range pkg.Scope().Names() {
			if obj := pkg.Scope().Lookup(name); obj.Exported() {
				s := surface{of: pkg, seen: map[types.Type]bool{}}
				s.walk(obj.Type())
				for _, needed := range s.internal {
					t.Errorf("%s.%s needs %s, which is internal", path, name, needed)
				}
			}
		}
	}
}

// surface is what a user of an exported name sees: fields, methods and signatures that are
// exported, with the types in them.
type surface struct {
	of       *types.Package
	seen     map[types.Type]bool
	internal []string
}

func (s *surface) walk(typ types.Type) {
	if typ == nil || s.seen[typ] {
		return
	}
	s.seen[typ] = true
	switch typ := typ.(type) {
	case *types.Named:
		if pkg := typ.Obj().Pkg(); pkg != nil && strings.HasPrefix(pkg.Path(), module+"internal/") {
			s.internal = append(s.internal, typ.String())
		} else if pkg != s.of {
			return // its own package answers for it
		}
		for m := range typ.Methods() {
			if m.Exported() {
				s.walk(m.Type())
			}
		}
		s.walk(typ.Underlying())
	case *types.Alias:
		s.walk(types.Unalias(typ))
	case *types.Signature:
		s.walk(typ.Params())
		s.walk(typ.Results())
	case *types.Tuple:
		for v := range typ.Variables() {
			s.walk(v.Type())
		}
	case *types.Struct:
		for f := range typ.Fields() {
			if f.Embedded() { // its fields can be used without its name
				s.walk(f.Type().Underlying())
			} else if f.Exported() {
				s.walk(f.Type())
			}
		}
	case *types.Interface:
		for m := range typ.ExplicitMethods() {
			s.walk(m.Type())
		}
		for e := range typ.EmbeddedTypes() {
			s.walk(e)
		}
	case *types.Map:
		s.walk(typ.Key())
		s.walk(typ.Elem())
	case interface{ Elem() types.Type }: // pointer, slice, array, channel
		s.walk(typ.Elem())
	}
}
