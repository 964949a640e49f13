package hooks

import (
	"errors"
	"fmt"
	"reflect"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/seed82539d15/holon/turns"
)

// The bounds of one expression.
const (
	maxExpressionBytes = 4 << 10
	maxNodes           = 500
	maxPattern         = 1000    // instructions of a regular expression
	maxMemory          = 250_000 // elements of new lists and maps: some 4 MiB
)

// loops are the builtins that run an expression for each element of a list. None
// may be inside another.
var loops = []string{
	"all", "any", "count", "filter", "find", "findIndex", "findLast", "findLastIndex", "map", "none", "one", "reduce", "sum",
}

// functions are the other allowed builtins. Those that read the clock, whose
// result depends on the order of a map, or whose cost cannot be told from the
// size of their arguments are left out.
var functions = []string{
	"abs", "ceil", "first", "float", "floor", "get", "hasPrefix", "hasSuffix", "indexOf", "int", "join", "last", "lastIndexOf", "len",
	"lower", "replace", "round", "split", "string", "take", "trim", "trimPrefix", "trimSuffix", "type", "upper",
}

// expression is a compiled expression over headers and payload. It may be run by
// any number of goroutines.
type expression struct {
	name    string
	program *vm.Program
}

// compile compiles an expression. Its result has the kind, or is only known when
// it runs. The error's text is one line, with a position.
//
// The library checks types on the expression as it is written. What runs is a
// second form of it in which every step pays for what it may cost (meter.go).
func compile(name, source string, kind reflect.Kind) (e *expression, err error) {
	if len(source) > maxExpressionBytes {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(source), maxExpressionBytes)
	}
	// A library that panics on a strange expression must not end the server.
	defer func() {
		if r := recover(); r != nil {
			e, err = nil, errors.New("it cannot be compiled")
		}
	}()
	config := conf.CreateNew()
	config.MaxNodes = maxNodes
	tree, err := parser.ParseWithConfig(source, config)
	if err != nil {
		return nil, oneLine(err)
	}
	if err := allowed(tree); err != nil {
		return nil, err
	}
	options := []expr.Option{
		expr.Env(new(meter).environment(map[string]string{}, map[string]any{})), expr.AsKind(kind),
		expr.MaxNodes(maxNodes), expr.Optimize(false),
	}
	switch kind {
	case reflect.Bool:
		options[1] = expr.AsBool()
	case reflect.Interface: // a text or a whole number: known when it runs
		options[1] = expr.AsAny()
	}
	if _, err := expr.Compile(source, options...); err != nil {
		return nil, oneLine(err)
	}
	program, err := expr.Compile(source, append(options, expr.Patch(pay{}))...)
	if err != nil {
		return nil, oneLine(err)
	}
	return &expression{name, program}, nil
}

// oneLine returns a library's error without its picture of the source.
func oneLine(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(line)
}

// allowed returns an error if the expression has a part that is not allowed.
func allowed(tree *parser.Tree) error {
	v := &allow{}
	ast.Walk(&tree.Node, v)
	if v.err != nil {
		return fmt.Errorf("%s (%s)", v.err, position(tree.Source, v.at))
	}
	return nil
}

func position(source file.Source, at file.Location) string {
	e := (&file.Error{Location: at}).Bind(source)
	return fmt.Sprintf("%d:%d", e.Line, e.Column+1)
}

// allow finds the first part of an expression that is not allowed.
type allow struct {
	inLoop bool
	err    error
	at     file.Location
}

// Visit implements ast.Visitor.
func (v *allow) Visit(node *ast.Node) {
	refuse := func(format string, args ...any) {
		if v.err == nil {
			v.err, v.at = fmt.Errorf(format, args...), (*node).Location()
		}
	}
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value == "$env" {
			refuse("$env is not available")
		}
	case *ast.CallNode:
		if f, ok := n.Callee.(*ast.IdentifierNode); ok {
			refuse("there is no function %s", f.Value)
		}
		refuse("only functions can be called")
	case *ast.BytesNode:
		refuse("bytes are not available")
	case *ast.BuiltinNode:
		switch {
		case v.inLoop && slices.Contains(loops, n.Name):
			refuse("%s is inside another loop; loops cannot be nested", n.Name)
		case n.Name == "trim" && len(n.Arguments) > 1:
			refuse("trim takes one argument here")
		case !slices.Contains(loops, n.Name) && !slices.Contains(functions, n.Name):
			refuse("the function %s is not available", n.Name)
		}
	case *ast.PredicateNode:
		inner := &allow{inLoop: true}
		ast.Walk(&n.Node, inner)
		if inner.err != nil && v.err == nil {
			v.err, v.at = inner.err, inner.at
		}
	case *ast.BinaryNode:
		if n.Operator != "matches" {
			return
		}
		pattern, ok := n.Right.(*ast.StringNode)
		if !ok {
			refuse("a regular expression must be written out")
		} else if size, err := patternSize(pattern.Value); err != nil {
			refuse("the regular expression is invalid")
		} else if size > maxPattern {
			refuse("the regular expression is too large")
		}
	}
}

// patternSize returns the number of instructions of a regular expression.
func patternSize(pattern string) (int, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	program, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0, err
	}
	return len(program.Inst), nil
}

// evalError says which expression failed, where, and in which way. It has
// nothing of the payload, because it is logged and shown.
type evalError struct {
	name, at, why string
}

// Error implements error.
func (e *evalError) Error() string {
	return fmt.Sprintf("the expression %s failed at %s: %s", e.name, e.at, e.why)
}

// run evaluates the expression. The error is an *evalError.
func (e *expression) run(in *input) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, &evalError{e.name, "1:1", "it cannot be evaluated"}
		}
	}()
	budget := min(maxSteps, in.steps)
	in.meter.left = budget
	machine := vm.VM{MemoryBudget: maxMemory}
	result, err = machine.Run(e.program, in.env)
	in.steps -= budget - max(0, in.meter.left)
	if err == nil {
		return result, nil
	}
	bad := &evalError{e.name, "1:1", "a member is absent from this payload or has another type"}
	if f, ok := errors.AsType[*file.Error](err); ok {
		bad.at = fmt.Sprintf("%d:%d", f.Line, f.Column+1)
	}
	if errors.Is(err, errTooMuch) || strings.Contains(err.Error(), "memory budget exceeded") {
		bad.why = "it takes too long or too much memory for this payload"
	}
	return nil, bad
}

// wrong returns a result that cannot be used.
func (e *expression) wrong(format string, args ...any) error {
	return &evalError{e.name, "1:1", fmt.Sprintf(format, args...)}
}

// CheckFilter returns an error if the filter of a subscription does not compile:
// a *turns.InvalidError for the field filter. An empty one is valid.
func CheckFilter(source string) error {
	if source == "" {
		return nil
	}
	if len(source) > maxExpressionBytes {
		return turns.Invalid("filter", turns.ReasonTooLarge, "has %d bytes, at most %d are allowed", len(source), maxExpressionBytes)
	}
	if _, err := compile("filter", source, reflect.Bool); err != nil {
		return turns.Invalid("filter", turns.ReasonInvalid, "does not compile: %v", err)
	}
	return nil
}
