package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/seed82539d15/holon/internal/nearest"
)

// position is an Unmarshaler that refuses every value: the library's error then
// has the line of the value, which it does not report in any other way.
type position struct{}

var errPosition = errors.New("position")

func (position) UnmarshalTOML(any) error { return errPosition }

// tomlFile reads one file into settings.
type tomlFile struct {
	path   string
	meta   toml.MetaData
	loaded *Loaded
}

// readFile applies the file at path. Every key must be known, and errors name
// the key and the line.
func (l *Loaded) readFile(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return &Error{Text: fmt.Sprintf("config file: %v", err), Err: err}
	}
	var root map[string]toml.Primitive
	meta, err := toml.Decode(string(data), &root)
	if err != nil {
		return &Error{Text: fmt.Sprintf("config file %s: %s", path, tomlText(err))}
	}
	f := &tomlFile{path: path, meta: meta, loaded: l}
	for _, name := range f.ordered(root) {
		value := root[name]
		if i := slices.IndexFunc(sorts, func(s sortOfTables) bool { return s.name() == name }); i >= 0 {
			err = sorts[i].read(f, value)
		} else if table := subkeys(Keys, name); len(table) > 0 {
			err = f.table(name, value, table)
		} else {
			err = f.key(name, value)
		}
		if err != nil {
			return err
		}
	}
	l.File = path
	return nil
}

// key applies one setting.
func (f *tomlFile) key(name string, value toml.Primitive) error {
	key, ok := lookup(Keys, name)
	if !ok {
		return f.unknown(name, value, name, names())
	}
	var v any
	if err := f.meta.PrimitiveDecode(value, &v); err != nil {
		return f.errorf(name, value, "%s", tomlText(err))
	}
	if err := key.set(f.loaded.Config, v); err != nil {
		return f.errorf(name, value, "%v", err)
	}
	f.loaded.Sources[name] = f.source(value)
	return nil
}

// table applies a table of settings such as [retention].
func (f *tomlFile) table(name string, value toml.Primitive, known []string) error {
	members, ok := f.members(value)
	if !ok {
		return f.errorf(name, value, "give a table: [%s] and its keys below", name)
	}
	for _, member := range f.ordered(members) {
		full := name + "." + member
		if !slices.Contains(known, full) {
			return f.unknown(full, members[member], full, known)
		}
		if err := f.key(full, members[member]); err != nil {
			return err
		}
	}
	return nil
}

// members opens a table; ok is false if value is no table. The library itself
// would accept any value as an empty table here.
func (f *tomlFile) members(value toml.Primitive) (members map[string]toml.Primitive, ok bool) {
	var v any
	if err := f.meta.PrimitiveDecode(value, &v); err != nil {
		return nil, false
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, false
	}
	err := f.meta.PrimitiveDecode(value, &members)
	return members, err == nil
}

// ordered returns a table's keys in the order of the file.
func (f *tomlFile) ordered(table map[string]toml.Primitive) []string {
	keys := slices.Sorted(maps.Keys(table))
	slices.SortStableFunc(keys, func(a, b string) int { return f.line(table[a]) - f.line(table[b]) })
	return keys
}

// line returns the line of a value, 0 if the library does not know it.
func (f *tomlFile) line(value toml.Primitive) int {
	var at toml.ParseError
	if err := f.meta.PrimitiveDecode(value, &position{}); errors.As(err, &at) {
		return at.Position.Line
	}
	return 0
}

func (f *tomlFile) source(value toml.Primitive) Source {
	return Source{Origin: FromFile, Place: f.path, Line: f.line(value)}
}

func (f *tomlFile) errorf(key string, value toml.Primitive, format string, args ...any) error {
	return &Error{Key: key, Source: f.source(value), Text: fmt.Sprintf(format, args...)}
}

// unknown refuses a key and suggests a similar one of the same table if there is one. name is what
// known would call it.
func (f *tomlFile) unknown(key string, value toml.Primitive, name string, known []string) error {
	table, name := name[:strings.LastIndexByte(name, '.')+1], name[strings.LastIndexByte(name, '.')+1:]
	var beside []string
	for _, k := range known {
		if k, ok := strings.CutPrefix(k, table); ok {
			k, _, _ = strings.Cut(k, ".")
			beside = append(beside, k)
		}
	}
	return f.errorf(key, value, "%s", unknownKey(name, beside))
}

func unknownKey(name string, known []string) string {
	if hint := nearest.Hint(name, known); hint != "" {
		return "unknown key" + hint
	}
	return "unknown key; `holon config` lists all"
}

// subkeys returns the keys of a table inside, such as retention, none if name is no table.
func subkeys[C any](keys []Key[C], name string) []string {
	var in []string
	for _, key := range keys {
		if strings.HasPrefix(key.Name, name+".") {
			in = append(in, key.Name)
		}
	}
	return in
}

// names lists the keys that are allowed at the top of a file.
func names() []string {
	var all []string
	for _, s := range sorts {
		all = append(all, s.name())
	}
	for _, key := range Keys {
		table, _, _ := strings.Cut(key.Name, ".")
		all = append(all, table)
	}
	return all
}

// tomlText returns the library's message with the line but without its own prefix.
func tomlText(err error) string {
	var at toml.ParseError
	if errors.As(err, &at) {
		return fmt.Sprintf("line %d: %s", at.Position.Line, strings.TrimSuffix(at.Message, " for int64"))
	}
	return strings.TrimPrefix(err.Error(), "toml: ")
}
