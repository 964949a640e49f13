package config

import (
	"maps"
	"slices"

	"github.com/BurntSushi/toml"
)

// tables are settings whose names the user chooses: [agents.NAME], [sources.NAME]
// and [bridges.NAME]. T is one of them. A new sort of table needs another value of
// this type in sorts, and a map in Config.
type tables[T any] struct {
	sort string // the part before the names
	one  string // "an agent", for errors
	keys []Key[T]
	at   func(*Config) map[string]T
	// fresh has the defaults of all kinds.
	fresh func() T
	// kind returns the kind of table, which decides its keys; "" if it is
	// unknown or there are no kinds. Validate checks the kind itself.
	kind func(T) string
	// finished fills in absent values.
	finished func(T, string) T
	// check returns an error if the table is invalid.
	check func(T, string, Source) error
}

// sortOfTables is a tables of any T.
type sortOfTables interface {
	name() string
	read(f *tomlFile, value toml.Primitive) error
	rows(l *Loaded) []Row
	validate(l *Loaded) error
}

// sorts are all sorts of tables, in the order of the documentation.
var sorts = []sortOfTables{agents, sources, bridgeTables}

func (s tables[T]) name() string { return s.sort }

// read applies the tables of a file.
func (s tables[T]) read(f *tomlFile, value toml.Primitive) error {
	all, ok := f.members(value)
	if !ok {
		return f.errorf(s.sort, value, "give a table for each: [%s.NAME]", s.sort)
	}
	for _, name := range f.ordered(all) {
		full := s.sort + "." + name
		members, ok := f.members(all[name])
		if !ok {
			return f.errorf(full, all[name], "give a table: [%s] and its keys below", full)
		}
		t, err := s.readOne(f, full, members)
		if err != nil {
			return err
		}
		s.at(f.loaded.Config)[name] = s.finished(t, name)
		f.loaded.Sources[full] = f.source(all[name])
	}
	return nil
}

// readOne reads one table. It checks the keys at the end, because the kind,
// which decides the allowed keys, is itself a key.
func (s tables[T]) readOne(f *tomlFile, full string, members map[string]toml.Primitive) (T, error) {
	t := s.fresh()
	members, err := s.flat(f, full, members)
	if err != nil {
		return t, err
	}
	for _, member := range f.ordered(members) {
		key, ok := lookup(s.keys, member)
		if !ok {
			return t, f.unknown(full+"."+member, members[member], member, keyNames(s.keys))
		}
		var v any
		err := f.meta.PrimitiveDecode(members[member], &v)
		if err == nil {
			err = key.set(&t, v)
		}
		if err != nil {
			return t, f.errorf(full+"."+member, members[member], "%s", tomlText(err))
		}
		f.loaded.Sources[full+"."+member] = f.source(members[member])
	}
	kind := s.kind(t)
	for _, member := range f.ordered(members) {
		if key, _ := lookup(s.keys, member); kind != "" && !key.isOf(kind) {
			return t, f.errorf(full+"."+member, members[member], "%s of kind %q has no such key; it is one of kind %s", s.one, kind, quoted(key.Kinds))
		}
	}
	return t, nil
}

// flat returns the members of a table with those of the tables in it that have keys of their own,
// such as inbox.window_ms.
func (s tables[T]) flat(f *tomlFile, full string, members map[string]toml.Primitive) (map[string]toml.Primitive, error) {
	all := maps.Clone(members)
	for name, value := range members {
		if len(subkeys(s.keys, name)) == 0 {
			continue
		}
		inner, ok := f.members(value)
		if !ok {
			return nil, f.errorf(full+"."+name, value, "give a table: [%s.%s] and its keys below", full, name)
		}
		delete(all, name)
		for member, value := range inner {
			all[name+"."+member] = value
		}
	}
	return all, nil
}

// rows returns the lines of `holon config`.
func (s tables[T]) rows(l *Loaded) (rows []Row) {
	all := s.at(l.Config)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		full := s.sort + "." + name
		for _, key := range s.keys {
			t, source := all[name], l.Sources[full]
			if key.optional {
				source = l.Sources[full+"."+key.Name]
			}
			if key.isOf(s.kind(t)) && source.Origin != "" {
				rows = append(rows, Row{full + "." + key.Name, key.get(&t), source})
			}
		}
	}
	return rows
}

// validate returns the first error that keeps a server from starting.
func (s tables[T]) validate(l *Loaded) error {
	all := s.at(l.Config)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		full := s.sort + "." + name
		if err := firstOf(CheckName(name), s.check(all[name], name, l.Sources[full])); err != nil {
			return &Error{Key: full, Source: l.Sources[full], Text: err.Error()}
		}
	}
	return nil
}
