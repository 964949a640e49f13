package config

import (
	"maps"
	"slices"

	"github.com/BurntSushi/toml"
)

// tables are what people configure by names of their own: [agents.NAME]. T is
// one of them. Another sort is another value of this type in sorts, and a map
// in Config.
type tables[T any] struct {
	sort string // what stands before the names
	one  string // "an agent", for errors
	keys []Key[T]
	at   func(*Config) map[string]T
	// fresh has the defaults of all kinds.
	fresh func() T
	// kind tells which keys it may have; "" if that is not known, or if there
	// are no kinds. Validate judges the kind itself.
	kind func(T) string
	// finished fills in what was left out.
	finished func(T, string) T
	// check says what cannot be used.
	check func(T, string, Source) error
}

// sortOfTables is a tables of any T.
type sortOfTables interface {
	name() string
	read(f *tomlFile, value toml.Primitive) error
	rows(l *Loaded) []Row
	validate(l *Loaded) error
}

// sorts are all of them, in the order of the documentation.
var sorts = []sortOfTables{agents}

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

// readOne reads one table. Which keys it may have is known once all are read:
// its kind is one of them.
func (s tables[T]) readOne(f *tomlFile, full string, members map[string]toml.Primitive) (T, error) {
	t := s.fresh()
	for _, member := range f.ordered(members) {
		key, ok := lookup(s.keys, member)
		if !ok {
			return t, f.unknown(full+"."+member, members[member], keyNames(s.keys))
		}
		var v any
		err := f.meta.PrimitiveDecode(members[member], &v)
		if err == nil {
			err = key.set(&t, v)
		}
		if err != nil {
			return t, f.errorf(full+"."+member, members[member], "%s", tomlText(err))
		}
	}
	kind := s.kind(t)
	for _, member := range f.ordered(members) {
		if key, _ := lookup(s.keys, member); kind != "" && !key.isOf(kind) {
			return t, f.errorf(full+"."+member, members[member], "%s of kind %q has no such key; it is one of kind %s", s.one, kind, quoted(key.Kinds))
		}
	}
	return t, nil
}

// rows are the lines of `holon config`.
func (s tables[T]) rows(l *Loaded) (rows []Row) {
	all := s.at(l.Config)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		full := s.sort + "." + name
		for _, key := range s.keys {
			if key.isOf(s.kind(all[name])) {
				t := all[name]
				rows = append(rows, Row{full + "." + key.Name, key.get(&t), l.Sources[full]})
			}
		}
	}
	return rows
}

// validate says the first thing that keeps a server from starting.
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
