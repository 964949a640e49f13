package api

import (
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/tokens"
)

//go:embed protocol.md.tmpl
var protocolTemplate string

// Protocol returns docs/protocol.md: the prose of the template and the tables
// of this package.
func Protocol() (string, error) {
	d, err := describeAll()
	if err != nil {
		return "", err
	}
	content, err := contentSchema()
	if err != nil {
		return "", err
	}
	t, err := template.New("protocol").Parse(protocolTemplate)
	if err != nil {
		return "", fmt.Errorf("parse the template of docs/protocol.md: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, pageOf(d, content)); err != nil {
		return "", fmt.Errorf("make docs/protocol.md: %w", err)
	}
	return b.String(), nil
}

// protocolPage is the data of the template.
type protocolPage struct {
	Version       string
	Limits        []limitRow
	Methods       []protocolRow
	Notifications []protocolRow
	Contents      []protocolRow
	Errors        []KindInfo
	Statuses      string
	Roles         []roleRow
	Limited       []limitedRow
	MaxTokens     int

	CodeSeconds, MaxCodes, MaxCodesOfParent, MaxSignIns, SignInDays int // of sign-ins
}

// roleRow has the methods that need a role.
type roleRow struct{ Name, Methods string }

// limitedRow has the methods that treat tokens that are limited alike.
type limitedRow struct{ Methods, Meaning string }

// The meanings of limits; LimitNamed is that of all other methods.
var limitMeanings = []struct {
	limit   Limit
	meaning string
}{
	{LimitAny, "as for others; `agent/list` has no `last_error` and no `directory`"},
	{LimitNarrowed, "has only the token's threads; others must not be named"},
	{LimitRule, "`thread/start` starts child threads of the token's threads, in their directories; `turn/await` waits for their turns; `item/create` is for leases of their turns; `cursor/*` is for cursors whose subject is one of them, and `cursor/read` and `cursor/advance` also for its own of `restarts`; `signin/code` gives its threads, or some of them and of those below"},
	{LimitRefused, "refused"},
}

// namedTokens fills the tables of named tokens.
func (p *protocolPage) namedTokens(methods []Method) {
	for _, role := range append(slices.Clone(tokens.Roles), tokens.RoleOwner) {
		p.Roles = append(p.Roles, roleRow{string(role), namesOf(methods, func(m *Method) bool { return m.Role == role })})
	}
	for _, l := range limitMeanings {
		p.Limited = append(p.Limited, limitedRow{namesOf(methods, func(m *Method) bool { return m.Limit == l.limit }), l.meaning})
	}
	p.MaxTokens = tokens.MaxTokens
	p.CodeSeconds, p.SignInDays = int(tokens.CodeLife.Seconds()), int(tokens.KeptSignIns.Hours()/24)
	p.MaxCodes, p.MaxCodesOfParent, p.MaxSignIns = tokens.MaxCodes, tokens.MaxCodesOfParent, tokens.MaxSignIns
}

// namesOf lists the methods that belong, with those of one kind in one word if all do.
func namesOf(methods []Method, belongs func(*Method) bool) string {
	all := map[string]bool{}
	kind := func(m *Method) string { k, _, _ := strings.Cut(m.Name, "/"); return k }
	for i := range methods {
		k := kind(&methods[i])
		before, seen := all[k]
		all[k] = (before || !seen) && belongs(&methods[i])
	}
	var names []string
	for i := range methods {
		m := &methods[i]
		name := m.Name
		if k := kind(m); all[k] && k != name {
			name = k + "/*"
		}
		if belongs(m) && !slices.Contains(names, "`"+name+"`") {
			names = append(names, "`"+name+"`")
		}
	}
	return strings.Join(names, ", ")
}

type limitRow struct {
	Name  string
	Value any
}

// protocolRow is a row of a table. Params and Result list members, with a
// question mark after those that may be absent.
type protocolRow struct {
	Name, Summary, Params, Result string
	Bound                         bool
}

func pageOf(d *openRPC, content *jsonschema.Schema) protocolPage {
	p := protocolPage{Version: ProtocolVersion, Errors: d.Errors}
	limits := reflect.ValueOf(Limits{}.withDefaults())
	for i := range limits.NumField() {
		p.Limits = append(p.Limits, limitRow{limits.Type().Field(i).Tag.Get("json"), limits.Field(i).Interface()})
	}
	for _, m := range d.Methods {
		p.Methods = append(p.Methods, protocolRow{Name: m.Name, Summary: m.Summary, Bound: m.Bound,
			Params: members(m.ParamsSchema, "_meta", "extended_context"), Result: members(m.Result.Schema)})
	}
	p.namedTokens((&Handlers{}).methods())
	for _, n := range d.Notifications {
		p.Notifications = append(p.Notifications, protocolRow{Name: n.Name, Summary: n.Summary,
			Params: members(n.Params, eventMembers(n.Name)...)})
	}
	for _, c := range content.AllOf {
		p.Contents = append(p.Contents, protocolRow{Name: fmt.Sprint(*c.If.Properties["type"].Const), Params: members(c.Then, "type")})
	}
	for i, s := range items.Statuses {
		if i > 0 {
			p.Statuses += ", "
		}
		p.Statuses += string(s)
	}
	return p
}

// eventMembers returns the members of a notification that its row leaves out,
// because all events have them.
func eventMembers(name string) []string {
	common := []string{"seq", "thread_seq", "thread_id", "turn_id", "attempt", "timestamp"}
	switch name {
	case notify.StreamOpened, notify.StreamHeartbeat, notify.StreamClosing, notify.HolonLog:
		return nil
	case notify.StreamRewind, notify.TurnLate: // they have their own step
		return common
	case notify.InboxAcked, notify.InboxTold, notify.InboxUntold: // they say which turn
		return slices.DeleteFunc(common, func(name string) bool { return name == "turn_id" })
	}
	return append(common, "step", "epoch", "lineage")
}

// members lists the members of an object.
func members(s *jsonschema.Schema, without ...string) string {
	var b strings.Builder
	for _, name := range orderOf(s) {
		if slices.Contains(without, name) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString("`" + name)
		if !slices.Contains(s.Required, name) {
			b.WriteString("?")
		}
		b.WriteString("`")
		if known, ok := s.Properties[name].Extra[knownValues].([]any); ok && name != "type" {
			words := make([]string, len(known))
			for i, v := range known {
				words[i] = fmt.Sprint(v)
			}
			b.WriteString(" (" + strings.Join(words, ", ") + ")")
		}
	}
	if b.Len() == 0 {
		return "–"
	}
	return b.String()
}
