package conformance

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// discovered is the OpenRPC document, read tolerantly.
type discovered struct {
	raw           object
	methods       []described
	notifications []described
}

// described is one method or notification with its schemas, as JSON values; nil
// if the document has none.
type described struct {
	name           string
	params, result object
}

// named finds what has this name; nothing has no schemas.
func named(all []described, name string) described {
	i := slices.IndexFunc(all, func(d described) bool { return d.name == name })
	if i < 0 {
		return described{}
	}
	return all[i]
}

// discover reads the document from the server.
func (p *probe) discover() *discovered {
	doc := &discovered{raw: p.call(p.http(), "rpc.discover", nil)}
	for _, m := range doc.raw.objs("methods") {
		doc.methods = append(doc.methods, described{m.str("name"), paramsSchema(m), m.obj("result.schema")})
	}
	for _, n := range doc.raw.objs("x-notifications") {
		doc.notifications = append(doc.notifications, described{n.str("name"), paramsSchema(n), nil})
	}
	return doc
}

// paramsSchema returns the schema of the params object of a method or notification.
// OpenRPC lists params by name, each with its schema; other params are unknown.
// An extension x-params-schema, a single parameter named params, or params that
// is itself a schema, describes the whole object.
func paramsSchema(m object) object {
	if s := m.obj("x-params-schema"); s != nil {
		return s
	}
	if whole := m.obj("params"); whole != nil {
		if s := whole.obj("schema"); s != nil {
			return s
		}
		return whole
	}
	list := m.objs("params")
	if len(list) == 1 && list[0].str("name") == "params" {
		return list[0].obj("schema")
	}
	if !m.has("params") {
		return nil
	}
	properties, required := obj{"_meta": true, "extended_context": true}, []any{}
	for _, param := range list {
		properties[param.str("name")] = obj(param.obj("schema"))
		if param.isTrue("required") {
			required = append(required, param.str("name"))
		}
	}
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// resolve resolves a schema. It adds the document's components, so that
// references to them work.
func (d *discovered) resolve(schema object) (*jsonschema.Resolved, error) {
	whole := obj{}
	maps.Copy(whole, schema)
	if c, ok := d.raw["components"]; ok {
		whole["components"] = c
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := s.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

// mustFit validates samples against the schemas of their names.
func (p *probe) mustFit(doc *discovered, what string, samples map[string][]jsontext.Value, schemaOf func(name string) object) {
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		schema := schemaOf(name)
		if schema == nil {
			p.failf("%s of %s were seen, but rpc.discover has no schema for them", what, name)
		}
		ready, err := doc.resolve(schema)
		p.must(err == nil, "the schema of %s of %s: %v", what, name, err)
		for _, raw := range samples[name] {
			var v any
			if err := json.Unmarshal(raw, &v); err != nil {
				p.failf("%s of %s: %v", what, name, err)
			}
			if err := ready.Validate(v); err != nil {
				p.failf("%s of %s break their schema: %v: %s", what, name, err, clip(raw, 400))
			}
		}
	}
}

func schemaChecks() []check {
	return []check{
		{id: "schema.document", sentence: "rpc.discover answers an OpenRPC document whose methods all have params and a result.", source: srcMethods, run: func(p *probe) {
			doc := p.discover()
			p.must(doc.raw.str("openrpc") != "", "the document has no openrpc version")
			p.must(doc.raw.str("info.title") != "" && doc.raw.str("info.version") != "", "info lacks title or version")
			for _, m := range doc.methods {
				p.must(m.params != nil, "%s has no params", m.name)
				p.must(m.result != nil, "%s has no result schema", m.name)
			}
			for i, m := range doc.methods {
				p.must(named(doc.methods[i+1:], m.name).name == "", "%s is listed twice", m.name)
			}
		}},
		{id: "schema.resolves", sentence: "Every schema of the document is valid and its references lead somewhere.", source: srcMethods, run: func(p *probe) {
			doc := p.discover()
			for _, m := range slices.Concat(doc.methods, doc.notifications) {
				for _, schema := range []object{m.params, m.result} {
					if schema == nil {
						continue
					}
					_, err := doc.resolve(schema)
					p.must(err == nil, "%s: %v", m.name, err)
				}
			}
		}},
		{id: "schema.params", sentence: "Every request that was accepted fits the schema of its params.", source: srcMethods, needs: last, run: func(p *probe) {
			p.sample()
			doc := p.discover()
			p.mustFit(doc, "params", p.seen.look().params, func(name string) object { return named(doc.methods, name).params })
		}},
		{id: "schema.results", sentence: "Every result that was seen fits its schema.", source: srcMethods, needs: last, run: func(p *probe) {
			p.sample()
			doc := p.discover()
			p.mustFit(doc, "results", p.seen.look().results, func(name string) object { return named(doc.methods, name).result })
		}},
		{id: "schema.notifications", sentence: "Every notification that was seen fits its schema.", source: srcEvents, needs: last, run: func(p *probe) {
			p.sample()
			doc := p.discover()
			p.mustFit(doc, "params", p.seen.look().notifications, func(name string) object { return named(doc.notifications, name).params })
		}},
		{id: "schema.refuses", sentence: "The schemas of params refuse what the server refuses: unknown keys and missing ones.", source: srcFrames, run: func(p *probe) {
			doc := p.discover()
			m := named(doc.methods, "thread/read")
			p.must(m.params != nil, "thread/read has no schema")
			ready, err := doc.resolve(m.params)
			p.must(err == nil, "%v", err)
			for _, bad := range []string{`{}`, `{"thread_id":"x","nope":1}`, `{"thread_id":5}`} {
				var v any
				if err := json.Unmarshal([]byte(bad), &v); err != nil {
					panic(fmt.Sprint(err))
				}
				p.must(ready.Validate(v) != nil, "the schema of thread/read accepts %s", bad)
			}
		}},
	}
}
