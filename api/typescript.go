package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed82539d15/holon/internal/events"
)

// TypeScript returns type declarations of the whole protocol, made from the
// same tables as the document: params and results by method, params by
// notification, the kinds of item and of error.
func TypeScript() (string, error) {
	d, err := describeAll()
	if err != nil {
		return "", err
	}
	content, err := contentSchema()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("// Types of the Holon protocol, version " + ProtocolVersion + ".\n" +
		"// Made by `holon schema ts`; do not edit. Enumerations are open: every\n" +
		"// string type that lists values also takes others.\n\n")
	b.WriteString("/** One of the values, or another string of a later version. */\nexport type Open<T extends string> = T | (string & {});\n\n")
	writeContent(&b, content)
	for _, m := range d.Methods {
		walk(m.Result.Schema, func(s *jsonschema.Schema) {
			if s.Properties["method"] != nil && s.Properties["params"] != nil { // of event/list
				s.Extra = map[string]any{extraName: "Event"}
			}
		})
		fmt.Fprintf(&b, "/** %s */\nexport interface %sParams %s\n", m.Summary, goName(m.Name), tsObject(m.ParamsSchema, ""))
		fmt.Fprintf(&b, "export type %sResult = %s;\n\n", goName(m.Name), tsType(m.Result.Schema, ""))
	}
	for _, n := range d.Notifications {
		fmt.Fprintf(&b, "/** %s */\nexport interface %sEvent %s\n\n", n.Summary, goName(n.Name), tsObject(n.Params, ""))
	}
	writeMaps(&b, d)
	return b.String(), nil
}

// writeContent declares the kinds of item and their union.
func writeContent(b *strings.Builder, content *jsonschema.Schema) {
	var names []string
	for _, c := range content.AllOf {
		kind := fmt.Sprint(*c.If.Properties["type"].Const)
		var name strings.Builder
		for _, word := range strings.Split(kind, "_") {
			name.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
		name.WriteString("Content")
		names = append(names, name.String())
		fmt.Fprintf(b, "/** content of an item of type %s */\nexport interface %s %s\n\n", kind, name.String(), tsObject(c.Then, ""))
	}
	// A member whose type is any string would keep the compiler from narrowing
	// the union by type, so unknown content is a separate type.
	fmt.Fprintf(b, "/**\n * Content of an item, told apart by its type. A later version may send a kind that is\n"+
		" * not listed: the default of a switch takes it, as UnknownContent.\n */\n"+
		"export type ItemContent =\n  | %s;\n\n", strings.Join(names, "\n  | "))
	b.WriteString("/** Content of an item of a kind that this version does not know. */\n" +
		"export interface UnknownContent {\n  type: string;\n  [member: string]: unknown;\n}\n\n")
}

// writeMaps declares the types that map names to params, results and events.
func writeMaps(b *strings.Builder, d *openRPC) {
	b.WriteString("/** Every method with its params and its result. */\nexport interface Methods {\n")
	for _, m := range d.Methods {
		fmt.Fprintf(b, "  %s: { params: %sParams; result: %sResult };\n", strconv.Quote(m.Name), goName(m.Name), goName(m.Name))
	}
	b.WriteString("}\n\n/** Every notification with its params. */\nexport interface Notifications {\n")
	for _, n := range d.Notifications {
		fmt.Fprintf(b, "  %s: %sEvent;\n", strconv.Quote(n.Name), goName(n.Name))
	}
	b.WriteString("}\n\n/** A notification as a stream sends it, told apart by its method. A later version may send others. */\n" +
		"export type Notification = {\n  [M in keyof Notifications]: { jsonrpc: \"2.0\"; method: M; params: Notifications[M] };\n}[keyof Notifications];\n\n" +
		"/** The methods of the events in the log. */\nexport type EventMethod =")
	for i := range events.All {
		fmt.Fprintf(b, "\n  | %q", events.All[i].Method)
	}
	b.WriteString(";\n\n/** An event as event/list returns it, told apart by its method. A later version may have others. */\n" +
		"export type Event = {\n  [M in EventMethod]: { seq: number; time: string; method: M; params: Notifications[M] };\n}[EventMethod];\n")
	b.WriteString("\n/** data.kind of an error. */\nexport type ErrorKind = Open<\n")
	for _, k := range d.Errors {
		fmt.Fprintf(b, "  | %q\n", string(k.Kind))
	}
	b.WriteString(">;\n\n/** data of an error. */\nexport interface ErrorData {\n  kind: ErrorKind;\n  retryable: boolean;\n" +
		"  method?: string;\n  field?: string;\n  reason?: string;\n  retry_after_ms?: number;\n  correlation_id?: string;\n" +
		"  thread_id?: string;\n  turn_id?: string;\n  item_id?: string;\n  first_seq?: number;\n  latest_seq?: number;\n  log_id?: string;\n" +
		"  attempt?: number;\n  step?: string;\n  epoch?: number;\n  late_seq?: number;\n  turn_ids?: string[];\n" +
		"  /** What is stored, with the reason not_monotonic. */\n  cursor?: Methods[\"cursor/read\"][\"result\"][\"cursor\"];\n" +
		"  /** The least role that is enough, with the reason role. */\n  role?: string;\n}\n")
}

// tsObject returns the body of an interface.
func tsObject(s *jsonschema.Schema, indent string) string {
	if len(s.Properties) == 0 {
		return "{}"
	}
	var b strings.Builder
	b.WriteString("{\n")
	for _, name := range orderOf(s) {
		optional := "?"
		if slices.Contains(s.Required, name) {
			optional = ""
		}
		fmt.Fprintf(&b, "%s  %s%s: %s;\n", indent, name, optional, tsType(s.Properties[name], indent+"  "))
	}
	b.WriteString(indent + "}")
	return b.String()
}

// orderOf lists every property, those with an order first.
func orderOf(s *jsonschema.Schema) []string {
	names := slices.Clone(s.PropertyOrder)
	var rest []string
	for name := range s.Properties {
		if !slices.Contains(names, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return append(names, rest...)
}

// tsType returns the type of one value.
func tsType(s *jsonschema.Schema, indent string) string {
	if s == nil {
		return "unknown"
	}
	if name, ok := s.Extra[extraName].(string); ok {
		return name
	}
	if s.Const != nil {
		return strconv.Quote(fmt.Sprint(*s.Const))
	}
	if known, ok := s.Extra[knownValues].([]any); ok {
		values := make([]string, len(known))
		for i, v := range known {
			values[i] = strconv.Quote(fmt.Sprint(v))
		}
		return orNullType("Open<"+strings.Join(values, " | ")+">", s)
	}
	kinds := s.Types
	if s.Type != "" {
		kinds = []string{s.Type}
	}
	if len(kinds) == 0 {
		return "unknown"
	}
	kind := kinds[len(kinds)-1]
	if kind == "integer" && slices.Contains(kinds, "string") {
		return orNullType("string | number", s)
	}
	switch kind {
	case "integer", "number":
		return orNullType("number", s)
	case "array":
		item := tsType(s.Items, indent)
		if strings.ContainsAny(item, "|& ") && !strings.HasPrefix(item, "{") {
			return orNullType("Array<"+item+">", s)
		}
		return orNullType(item+"[]", s)
	case "object":
		if len(s.Properties) == 0 {
			return orNullType("{ [member: string]: unknown }", s)
		}
		return orNullType(tsObject(s, indent), s)
	}
	return orNullType(kind, s)
}

func orNullType(t string, s *jsonschema.Schema) string {
	if slices.Contains(s.Types, "null") {
		return t + " | null"
	}
	return t
}
