package api

import (
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// What schemas say for those who make types from them, besides what they say of values.
// An integer that may need more than 32 bits has the format int64.
const (
	typeName    = "x-name"         // of an object or an enumeration: one name means one type
	zeroDiffers = "x-zero-differs" // of an optional member: 0, false or "" does not mean the same as its absence
)

// typeNames are the names of types that typeNameOf would name badly.
var typeNames = map[reflect.Type]string{
	reflect.TypeFor[AgentInfo]():                "RequestingAgent",
	reflect.TypeFor[SubscriptionView]():         "InboxSubscriptionView",
	reflect.TypeFor[ThreadView]():               "Thread",
	reflect.TypeFor[bridges.SubscriptionView](): "Subscription",
	reflect.TypeFor[bridges.Try]():              "DeliveryTry",
	reflect.TypeFor[inbox.Item]():               "InboxItem",
	reflect.TypeFor[inbox.Subscription]():       "InboxSubscription",
	reflect.TypeFor[items.Cost]():               "Cost",
	reflect.TypeFor[items.Lines]():              "ChangedLines",
	reflect.TypeFor[items.Part]():               "Part",
	reflect.TypeFor[notify.Ref]():               "LineageRef",
	reflect.TypeFor[threads.Parent]():           "Parent",
	reflect.TypeFor[turns.ChangeThreadResult](): "ThreadChangeResult",
	reflect.TypeFor[turns.Delivery]():           "TurnDelivery",
	reflect.TypeFor[turns.EndTurnResult]():      "TurnEndResult",
	reflect.TypeFor[turns.Failure]():            "Failure",
	reflect.TypeFor[turns.InputMessage]():       "InputMessage",
	reflect.TypeFor[turns.Lease]():              "Lease",
	reflect.TypeFor[turns.PauseResult]():        "HolonStateResult",
}

// nouns are what names of types begin with: one that does needs no other prefix.
var nouns = []string{"Agent", "Bridge", "Cursor", "Delivery", "Inbox", "Item", "Step", "Subscription", "Thread", "Timer", "Token", "Turn"}

// typeNameOf returns the name that a type has for clients: turns.State is TurnState.
func typeNameOf(t reflect.Type) string {
	name := t.Name()
	if given, ok := typeNames[t]; ok {
		return given
	}
	if t.Implements(reflect.TypeFor[items.Content]()) {
		return name + "Content"
	}
	owner := path.Base(t.PkgPath())
	if owner == "api" || slices.ContainsFunc(nouns, func(noun string) bool { return strings.HasPrefix(name, noun) }) {
		return name
	}
	owner = strings.TrimSuffix(owner, "s")
	return strings.ToUpper(owner[:1]) + owner[1:] + name
}

// describeTypes adds to a schema what is known of the type that it was inferred from.
func describeTypes(s *jsonschema.Schema, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if _, known := typeSchemas[t]; known || s == nil {
		return
	}
	switch t.Kind() {
	case reflect.Int64:
		s.Format = "int64"
	case reflect.Slice:
		describeTypes(s.Items, t.Elem())
	case reflect.Map:
		describeTypes(s.AdditionalProperties, t.Elem())
	case reflect.Struct:
		extend(s, typeName, typeNameOf(t))
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			p := s.Properties[name]
			if p == nil {
				continue
			}
			describeTypes(p, f.Type)
			if zeroIsGiven(f) && !slices.Contains(s.Required, name) {
				extend(p, zeroDiffers, true)
			}
		}
	}
}

// zeroIsGiven reports whether a member that is 0, false or "" is not taken as absent.
func zeroIsGiven(f reflect.StructField) bool {
	if f.Tag.Get("given") != "" {
		return true // see shapeOf
	}
	if f.Type.Kind() != reflect.Pointer {
		return false
	}
	kind := f.Type.Elem().Kind()
	return kind != reflect.Struct && kind != reflect.Slice && kind != reflect.Map
}

// extend adds an extension keyword to a schema. Others may share the ones that it has.
func extend(s *jsonschema.Schema, keyword string, value any) {
	s.Extra = maps.Clone(s.Extra)
	if s.Extra == nil {
		s.Extra = map[string]any{}
	}
	s.Extra[keyword] = value
}
