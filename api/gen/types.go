package main

import (
	"cmp"
	"slices"
	"strings"
)

// body returns the struct of an object.
func (g *generator) body(s *schema) string {
	var b strings.Builder
	b.WriteString("struct {\n")
	extra := s.member("_meta") != nil && s.member("extended_context") != nil
	for _, m := range s.Properties {
		if extra && (m.name == "_meta" || m.name == "extended_context") {
			continue
		}
		required := slices.Contains(s.Required, m.name)
		field(&b, m.name, g.goType(m.schema), m.pointsAt(required), required)
	}
	if extra {
		b.WriteString("Extra\n")
	}
	return b.String() + "}"
}

// union returns a struct that has the members of all objects.
func (g *generator) union(objects []*schema) string {
	g.now = ""
	var order []string
	types, points := map[string]string{}, map[string]bool{}
	for _, s := range objects {
		for _, m := range s.Properties {
			is := g.goType(m.schema)
			was, known := types[m.name]
			_, isEnum := g.enums[is]
			_, wasEnum := g.enums[was]
			switch {
			case !known:
				order = append(order, m.name)
			case was == is:
			case (isEnum || is == "string") && (wasEnum || was == "string"):
				is = "string"
			case strings.HasPrefix(is, "int") && strings.HasPrefix(was, "int"):
				is = "int64"
			default:
				is = "json.RawMessage"
			}
			types[m.name] = is
			points[m.name] = points[m.name] || m.pointsAt(false)
		}
	}
	var b strings.Builder
	b.WriteString("struct {\n")
	for _, name := range order {
		field(&b, name, types[name], points[name] && types[name] != "json.RawMessage", false)
	}
	return b.String() + "}"
}

// goType returns the type of a value. It notes the types that have to be declared for it.
func (g *generator) goType(s *schema) string {
	if s == nil {
		return "json.RawMessage"
	}
	for _, kind := range s.AllOf {
		g.content[kind.Then.Name] = kind.Then
	}
	if s.Const != "" {
		return "ItemKind" // of the content of an item
	}
	if s.Known != nil {
		if known, ok := g.enums[s.Name]; ok && !slices.Equal(known, s.Known) || s.Name == "" {
			g.fail("%s: two enumerations are called %q", g.now, s.Name)
		}
		g.enums[s.Name] = s.Known
		return s.Name
	}
	switch s.kind() {
	case "string":
		return map[bool]string{false: "string", true: "Time"}[s.Format == "date-time"]
	case "integer":
		return cmp.Or(s.Format, "int")
	case "number":
		return "float64"
	case "boolean":
		return "bool"
	case "array":
		return "[]" + g.goType(s.Items)
	case "object":
		if s.isStruct() {
			return g.named(s)
		}
		if s.Others != nil && len(s.AllOf) == 0 {
			return "map[string]" + g.goType(s.Others)
		}
	}
	return "json.RawMessage"
}

// named returns the name of an object. All objects of one name have the same members.
func (g *generator) named(s *schema) string {
	body := g.body(s)
	if was, ok := g.types[s.Name]; ok && was != body || s.Name == "" {
		g.fail("%s: two objects are called %q:\n%s\n%s", g.now, s.Name, was, body)
	}
	g.types[s.Name] = body
	if g.now != "" && !slices.Contains(g.usedBy[s.Name], g.now) {
		g.usedBy[s.Name] = append(g.usedBy[s.Name], g.now)
	}
	return s.Name
}
