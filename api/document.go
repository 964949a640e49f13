package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// The OpenRPC document (https://spec.open-rpc.org). Members that begin with x-
// are extensions: the params as one schema, the notifications, and the table of
// errors with the schema of their data.
type openRPC struct {
	OpenRPC       string             `json:"openrpc"`
	Info          openInfo           `json:"info"`
	Methods       []openMethod       `json:"methods"`
	Notifications []openNotification `json:"x-notifications"`
	Errors        []KindInfo         `json:"x-errors"`
	ErrorData     *jsonschema.Schema `json:"x-error-data"`
}

type openInfo struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description"`
}

type openMethod struct {
	Name           string             `json:"name"`
	Summary        string             `json:"summary"`
	ParamStructure string             `json:"paramStructure"`
	Params         []openParam        `json:"params"`
	Result         openResult         `json:"result"`
	ParamsSchema   *jsonschema.Schema `json:"x-params-schema"`
	Bound          bool               `json:"x-connection-bound,omitempty"`
	Change         bool               `json:"x-change,omitempty"`
	ForAgents      bool               `json:"x-agents,omitempty"`
	ForCodes       bool               `json:"x-codes,omitempty"`
	Role           string             `json:"x-role"`
	Limit          string             `json:"x-limited-tokens"`
}

type openParam struct {
	Name     string             `json:"name"`
	Required bool               `json:"required,omitempty"`
	Schema   *jsonschema.Schema `json:"schema"`
}

type openResult struct {
	Name   string             `json:"name"`
	Schema *jsonschema.Schema `json:"schema"`
}

type openNotification struct {
	Name    string             `json:"name"`
	Summary string             `json:"summary"`
	Params  *jsonschema.Schema `json:"params"`
}

// Document returns the OpenRPC document of all methods, made from the tables of
// methods, notifications and errors. It is the result of rpc.discover and the
// content of docs/openrpc.json. The bytes are shared and must not be changed.
func Document() (jsontext.Value, error) {
	discovered.once.Do(func() {
		d, err := describeAll()
		if err != nil {
			discovered.Err = err
			return
		}
		b, err := json.Marshal(d)
		if err != nil {
			discovered.Err = fmt.Errorf("encode the OpenRPC document: %w", err)
		}
		discovered.document = b
	})
	return discovered.document, discovered.Err
}

// discovered is made once, at the first use.
var discovered struct {
	once     sync.Once
	document jsontext.Value
	Err      error
}

// describeAll makes the document from the tables.
func describeAll() (*openRPC, error) {
	errorData, err := resultSchema(reflect.TypeFor[ErrorData]())
	if err != nil {
		return nil, err
	}
	d := &openRPC{
		OpenRPC: "1.3.2",
		Info: openInfo{"Holon", ProtocolVersion,
			"A durable control plane for agents: JSON-RPC 2.0 over HTTP, NDJSON streams, server-sent events, unix sockets and stdio. docs/protocol.md has the rules."},
		Errors: Kinds, ErrorData: errorData,
	}
	for _, m := range (&Handlers{}).methods() {
		params, err := paramsSchema(m.Params)
		if err != nil {
			return nil, err
		}
		result, err := resultSchema(m.Result)
		if err != nil {
			return nil, err
		}
		om := openMethod{
			Name: m.Name, Summary: m.Summary, ParamStructure: "by-name", Params: []openParam{},
			Result: openResult{"result", result}, ParamsSchema: params, Bound: m.Bound, Change: m.Change, ForAgents: m.ForAgents, ForCodes: m.ForCodes, Role: string(m.Role), Limit: string(m.Limit),
		}
		required := map[string]bool{}
		for _, name := range params.Required {
			required[name] = true
		}
		for _, name := range ownMembers(params) {
			om.Params = append(om.Params, openParam{name, required[name], params.Properties[name]})
		}
		d.Methods = append(d.Methods, om)
	}
	for _, n := range Notifications() {
		s, err := n.schema()
		if err != nil {
			return nil, err
		}
		d.Notifications = append(d.Notifications, openNotification{n.Name, n.Summary, s})
	}
	return d, nil
}

// ownMembers returns a schema's members in their order, without those that all
// params may have.
func ownMembers(s *jsonschema.Schema) (names []string) {
	for _, name := range s.PropertyOrder {
		if name != "_meta" && name != "extended_context" {
			names = append(names, name)
		}
	}
	return names
}

// goName returns the name that a slash method has in Go and in TypeScript:
// turn/interrupt is TurnInterrupt, bridge/rotate_secret is BridgeRotateSecret.
func goName(method string) string {
	if method == "rpc.discover" {
		return "RPCDiscover" // named by another specification
	}
	var b strings.Builder
	for _, word := range strings.FieldsFunc(method, func(r rune) bool { return r == '/' || r == '_' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
