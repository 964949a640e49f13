package hooks

import (
	"errors"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/go-json-experiment/json"
)

// maxSteps bounds what one evaluation may cost: about a node that runs, an
// element that is looked at, or a byte that is read or made. They take well
// below a second.
const maxSteps = 8_000_000

// allSteps bounds what all expressions of one webhook may cost, those of its
// source and the filters of its subscriptions: a few seconds. The filters that
// come after it fail, which lets the item in.
const allSteps = 10 * maxSteps

// maxWalk is the deepest value that is looked at. A payload is never so deep,
// but an expression can build such a value, and the library descends into
// values without a bound.
const maxWalk = 256

var (
	errTooMuch = errors.New("too many steps")
	errAbsent  = errors.New("an absent member has no text")
)

// meter counts the steps of one evaluation. The library cannot be interrupted
// and does not bound strings, so expressions call the meter themselves.
type meter struct{ left int }

// The names of the meter's functions. No expression can write them.
const (
	fnTick    = "tick "    // (steps): one round of a loop
	fnTouch   = "touch "   // (value): its text or its list is read
	fnWalk    = "walk "    // (value): all of it is read
	fnText    = "text "    // (value): it becomes a text
	fnWithin  = "within "  // (value): it is searched
	fnSplit   = "split "   // (text): it is split
	fnPattern = "pattern " // (text, size): a regular expression reads it
	fnReplace = "replace "
	fnJoin    = "join "
)

// environment returns what an expression sees, and the functions of the meter.
func (m *meter) environment(headers map[string]string, payload map[string]any) map[string]any {
	one := func(pay func(v any)) func(...any) any {
		return func(args ...any) any { pay(args[0]); return args[0] }
	}
	return map[string]any{
		"headers": headers,
		"payload": payload,
		fnTick:    one(func(v any) { m.pay(v.(int)) }),
		fnTouch:   one(m.touch),
		fnWalk:    one(func(v any) { m.walk(v, 0) }),
		fnText:    func(args ...any) any { return m.text(args[0]) },
		fnWithin:  one(m.within),
		// A part of a text takes 16 bytes.
		fnSplit: one(func(v any) { m.pay(16 * len(v.(string))) }),
		fnPattern: func(args ...any) any {
			if s, ok := args[0].(string); ok {
				m.pay(1 + len(s)*args[1].(int))
			}
			return args[0]
		},
		fnReplace: m.replace,
		fnJoin:    m.join,
	}
}

func (m *meter) pay(steps int) {
	if m.left -= steps; m.left < 0 {
		panic(errTooMuch)
	}
}

func (m *meter) touch(v any) {
	n := 1
	switch v := v.(type) {
	case string:
		n += len(v)
	case []any:
		n += len(v)
	case []string:
		n += len(v)
	case []int:
		n += len(v)
	}
	m.pay(n)
}

func (m *meter) walk(v any, depth int) {
	if depth > maxWalk {
		panic(errTooMuch)
	}
	m.touch(v)
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			m.walk(e, depth+1)
		}
	case map[string]any:
		for k, e := range v {
			m.pay(len(k))
			m.walk(e, depth+1)
		}
	case map[string]string:
		for k, e := range v {
			m.pay(len(k) + len(e))
		}
	case []string:
		for _, e := range v {
			m.pay(len(e))
		}
	}
}

// text pays for a value that becomes a text, and returns what is to be written. An absent
// member has no text: the library writes "<nil>", and webhooks that lack the member would
// all have the same identity. A fraction is written as in JSON, because the library writes
// times since 1970 with an exponent.
func (m *meter) text(v any) any {
	if v == nil {
		panic(errAbsent)
	}
	m.walk(v, 0)
	if f, ok := v.(float64); ok {
		if text, err := json.Marshal(f); err == nil { // not of an infinity
			return string(text)
		}
	}
	return v
}

// within pays for a search: a map is not searched, all of a list may be.
func (m *meter) within(v any) {
	switch v.(type) {
	case map[string]any, map[string]string:
		m.pay(1)
	default:
		m.walk(v, 0)
	}
}

// replace runs the builtin, with a result that is paid before it is made.
func (m *meter) replace(args ...any) any {
	s, from, to := args[0].(string), args[1].(string), args[2].(string)
	n := -1
	if len(args) == 4 {
		n = args[3].(int)
	}
	m.pay(1 + 2*len(s) + len(from))
	count := strings.Count(s, from)
	if n >= 0 {
		count = min(n, count)
	}
	if len(to) > 0 && count > maxSteps/len(to) {
		panic(errTooMuch)
	}
	m.pay(count * len(to))
	return strings.Replace(s, from, to, n)
}

// join runs the builtin, with a result that is paid before it is made.
func (m *meter) join(args ...any) any {
	glue := ""
	if len(args) == 2 {
		glue = args[1].(string)
	}
	var parts []string
	switch list := args[0].(type) {
	case []string:
		m.touch(list)
		parts = list
	case []any:
		m.pay(16 * len(list))
		for _, e := range list {
			parts = append(parts, e.(string))
		}
	default:
		panic("no list")
	}
	for _, p := range parts {
		m.pay(len(p) + len(glue))
	}
	return strings.Join(parts, glue)
}

// pay rewrites an expression so that it pays for its steps. It never changes
// what is before a member access, because ?. jumps over that.
type pay struct{}

// Visit implements ast.Visitor. The parts of a node are visited before it.
func (pay) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.PredicateNode:
		size := &counter{}
		ast.Walk(&n.Node, size)
		n.Node = at(n.Node, &ast.SequenceNode{Nodes: []ast.Node{
			call(n.Node, fnTick, at(n.Node, &ast.IntegerNode{Value: size.nodes})), n.Node,
		}})
	case *ast.MemberNode:
		switch n.Property.(type) {
		case *ast.StringNode, *ast.IntegerNode:
		default:
			n.Property = call(n.Property, fnTouch, n.Property)
		}
	case *ast.BinaryNode:
		payForOperator(n)
	case *ast.BuiltinNode:
		payForBuiltin(node, n)
	}
}

func payForOperator(n *ast.BinaryNode) {
	switch n.Operator {
	case "==", "!=":
		if !literal(n.Left) && !literal(n.Right) {
			n.Left, n.Right = call(n.Left, fnWalk, n.Left), call(n.Right, fnWalk, n.Right)
		}
	case "in":
		n.Left, n.Right = call(n.Left, fnTouch, n.Left), call(n.Right, fnWithin, n.Right)
	case "matches":
		size, err := patternSize(n.Right.(*ast.StringNode).Value) // allow has checked it
		if err != nil {
			panic(err)
		}
		n.Left = call(n.Left, fnPattern, n.Left, at(n.Left, &ast.IntegerNode{Value: size}))
	case "+", "<", "<=", ">", ">=", "contains", "startsWith", "endsWith":
		n.Left, n.Right = call(n.Left, fnTouch, n.Left), call(n.Right, fnTouch, n.Right)
	}
}

func payForBuiltin(node *ast.Node, n *ast.BuiltinNode) {
	switch n.Name {
	case "replace":
		ast.Patch(node, call(n, fnReplace, n.Arguments...))
	case "join":
		ast.Patch(node, call(n, fnJoin, n.Arguments...))
	case "split":
		n.Arguments[0] = call(n, fnSplit, n.Arguments[0])
		n.Arguments[1] = call(n, fnTouch, n.Arguments[1])
	case "string":
		n.Arguments[0] = call(n, fnText, n.Arguments[0])
	default:
		for i, a := range n.Arguments {
			if _, ok := a.(*ast.PredicateNode); !ok {
				n.Arguments[i] = call(a, fnTouch, a)
			}
		}
	}
}

func literal(n ast.Node) bool {
	switch n.(type) {
	case *ast.NilNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.StringNode:
		return true
	}
	return false
}

// call makes a call of a function of the meter, at the place of a node.
func call(where ast.Node, name string, args ...ast.Node) ast.Node {
	return at(where, &ast.CallNode{Callee: at(where, &ast.IdentifierNode{Value: name}), Arguments: args})
}

func at(where, n ast.Node) ast.Node {
	n.SetLocation(where.Location())
	return n
}

// counter counts nodes.
type counter struct{ nodes int }

// Visit implements ast.Visitor.
func (c *counter) Visit(*ast.Node) { c.nodes++ }
