package hooks

import (
	"errors"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// in is an input with this payload.
func in(t testing.TB, payload string) *input {
	t.Helper()
	p, err := parseBody([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	return newInput(http.Header{"X-Event": {"build"}, "Authorization": {"Bearer t0ken"}}, p)
}

// result evaluates an expression, of a text unless it is a condition.
func result(t testing.TB, source string, in *input) (any, error) {
	t.Helper()
	e, err := compile("summary", source, reflect.String)
	if err != nil {
		e, err = compile("filter", source, reflect.Bool)
	}
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return e.run(in)
}

func TestExpressions(t *testing.T) {
	body := `{"id": 9007199254740993, "title": "Fix the parser", "labels": [{"name": "bug"}, {"name": "ci"}], "tags": ["a","b"],
		"run": {"ok": false, "took": 1.5, "null": null}, "big": 1e400, "at": 1767225600.25, "tiny": 1.5e-9, "whole": 3e2, "long": 18446744073709551615}`
	for source, want := range map[string]any{
		`payload.title`:                                         "Fix the parser",
		`payload.id`:                                            9007199254740993,
		`"build " + string(payload.id)`:                         "build 9007199254740993",
		`headers["x-event"] + "!"`:                              "build!",
		`headers["authorization"]`:                              "",
		`payload?.absent?.name`:                                 nil,
		`payload?.absent?.name ?? "none"`:                       "none",
		`payload?.labels[0].name`:                               "bug",
		`payload["title"][0:3]`:                                 "Fix",
		`payload.labels[1]["na" + "me"]`:                        "ci",
		`join(map(payload.labels, .name), ", ")`:                "bug, ci",
		`join(payload.tags, "-")`:                               "a-b",
		`payload.run.ok ? "passed" : "failed"`:                  "failed",
		`let r = payload.run; r.ok == false ? "failed" : "ok"`:  "failed",
		`replace(payload.title, "parser", "lexer")`:             "Fix the lexer",
		`replace("aaa", "a", "b", 2)`:                           "bba",
		`split(payload.title, " ")[2]`:                          "parser",
		`payload.title | lower() | trimPrefix("fix ")`:          "the parser",
		`any(payload.labels, .name == "bug")`:                   true,
		`all(payload.labels, {let n = .name; len(n) < 3})`:      false,
		`"bug" in map(payload.labels, .name)`:                   true,
		`"ok" in payload.run`:                                   true,
		`payload.title matches "(?i)^fix"`:                      true,
		`payload.title startsWith "Fix" and not payload.run.ok`: true,
		`payload.run == payload.run`:                            true,
		`reduce(payload.tags, #acc + #, "") == "ab"`:            true,
		`sum(map(1..10, # * 2)) == 110`:                         true,
		`count(payload.labels, .name contains "c") == 1`:        true,
		`filter(payload.labels, .name == "ci")[0].name`:         "ci",
		`payload.run.null == nil`:                               true,
		`payload.big`:                                           "1e400",
		`payload.long`:                                          "18446744073709551615",
		`"id " + string(payload.long)`:                          "id 18446744073709551615",
		`string(payload?.absent ?? "")`:                         "",
		`"at " + string(payload.at)`:                            "at 1767225600.25",
		`payload.at | string()`:                                 "1767225600.25",
		`join(map([payload.at], string(#)), "")`:                "1767225600.25",
		`string(payload.at / 2)`:                                "883612800.125",
		`string(1767225600.5)`:                                  "1767225600.5",
		`string(payload.tiny)`:                                  "1.5e-9",
		`string(payload.whole)`:                                 "300",
		`string(1 / 0)`:                                         "+Inf",
	} {
		if got, err := result(t, source, in(t, body)); err != nil || got != want {
			t.Errorf("%s = %v (%T), %v, want %v", source, got, got, err, want)
		}
	}
}

// Webhooks without a member must not all have the identity "<nil>".
func TestAbsentMemberHasNoText(t *testing.T) {
	for _, source := range []string{`string(payload.absent)`, `string(payload?.absent?.id) + ":passed"`, `string(payload.null)`} {
		if got, err := result(t, source, in(t, `{"null": null}`)); err == nil {
			t.Errorf("%s = %v, want an error", source, got)
		}
	}
}

func TestExpressionsThatAreNotAllowedDoNotCompile(t *testing.T) {
	for source, want := range map[string]string{
		`payload.`:                             `unexpected end of expression`,
		`nothing`:                              `unknown name nothing (1:1)`,
		`headers.a + 1`:                        `invalid operation: + (mismatched types string and int) (1:11)`,
		`1 + 2`:                                `expected string, but got int`,
		`now()`:                                `the function now is not available (1:1)`,
		`"a" + string(date("2020"))`:           `the function date is not available (1:14)`,
		`repeat("a", 5)`:                       `the function repeat is not available (1:1)`,
		`toJSON(payload)`:                      `the function toJSON is not available (1:1)`,
		`string(keys(payload))`:                `the function keys is not available (1:8)`,
		`uniq(payload.a)[0]`:                   `the function uniq is not available (1:1)`,
		`string(sort(payload.a))`:              `the function sort is not available (1:8)`,
		`exec("rm")`:                           `there is no function exec (1:1)`,
		`payload.a()`:                          `only functions can be called`,
		`string($env)`:                         `$env is not available (1:8)`,
		`$env["tick "]`:                        `$env is not available (1:1)`,
		`trim("a", "b")`:                       `trim takes one argument here`,
		`payload.a matches payload.b`:          `a regular expression must be written out`,
		`payload.a matches "("`:                `the regular expression is invalid`,
		`payload.a matches "(a{999})(b{999})"`: `the regular expression is too large`,
		`any(payload.a, any(payload.b, true))`: `any is inside another loop; loops cannot be nested (1:16)`,
		`any(payload.a, {let n = #; sum(payload.b) > n})`:           `sum is inside another loop`,
		`map(payload.a, ({"b": filter(payload.c, true)}))[0]`:       `filter is inside another loop`,
		strings.Repeat("1+", 600) + "1":                             `compilation failed: expression exceeds maximum allowed nodes`,
		strings.Repeat("(", 2000) + "1" + strings.Repeat(")", 2000): "expected string, but got int",
		strings.Repeat(" ", 5000) + `"a"`:                           `it has 5003 bytes, at most 4096 are allowed`,
	} {
		_, err := compile("summary", source, reflect.String)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: %v, want %s", source, err, want)
		}
	}
}

// However hostile an expression and its payload are, the evaluation ends soon and
// takes little memory.
func TestHostileExpressionsAreCut(t *testing.T) {
	text := strings.Repeat("ab", 400_000)
	texts := `{"a": "` + text + `", "b": "` + text + `"}`
	list := `{"a": [0` + strings.Repeat(",0", 500_000) + `], "b": "x"}`
	words := `{"a": ["x"` + strings.Repeat(`,"x"`, 250_000) + `], "b": "` + strings.Repeat("y", 10_000) + `"}`
	double := `let a0 = payload.a;`
	for i := range 60 {
		n := string(rune('a'+i%26)) + strings.Repeat("z", i/26)
		prev := "a0"
		if i > 0 {
			prev = string(rune('a'+(i-1)%26)) + strings.Repeat("z", (i-1)/26)
		}
		double += " let " + n + "1 = " + prev
		if i > 0 {
			double += "1"
		}
		double += " + " + prev
		if i > 0 {
			double += "1"
		}
		double += ";"
	}
	for name, c := range map[string]struct{ source, payload string }{
		"a huge range":                         {`any(1..1000000000, false)`, `{}`},
		"a range that overflows":               {`len(-9223372036854775807..9223372036854775807) == 0 and any(0..9223372036854775806, false)`, `{}`},
		"many ranges":                          {`sum(0..200000) + sum(0..200000) + sum(0..200000) > 0`, `{}`},
		"doubling a text":                      {double + ` "done"`, `{"a": "x"}`},
		"doubling in a loop":                   {`reduce(1..40, #acc + #acc, "x")`, `{}`},
		"growth by a list in a loop":           {`reduce(1..100000, #acc + payload.a, "")`, texts},
		"a replacement that squares":           {`replace(payload.a, "", payload.b)`, texts},
		"a replacement in a loop":              {`any(1..100000, replace(payload.a, "a", "b") == "")`, texts},
		"a join with a large glue":             {`join(payload.a, payload.b)`, words},
		"a split into many parts":              {`len(split(payload.a, "")) > 0`, texts},
		"splits in a loop":                     {`any(1..100000, len(split(payload.a, "b")) == 0)`, texts},
		"searching in a loop":                  {`any(1..100000, payload.a contains "abc")`, texts},
		"comparing in a loop":                  {`all(1..100000, payload.a == payload.b)`, texts},
		"a search for each element":            {`any(payload.a, 1 in payload.a)`, list},
		"comparing lists for each element":     {`any(payload.a, payload.a == [])`, list},
		"a long text as a name in a loop":      {`any(1..100000, payload[payload.a] == 1)`, texts},
		"an order of long texts in a loop":     {`any(1..100000, payload.a < payload.b)`, texts},
		"a regular expression that backtracks": {`any(1..100000, payload.a matches "^(a|b|ab)*(a|b|ab)*c$")`, `{"a": "` + text[:1000] + `"}`},
		"a large regular expression":           {`payload.a matches "(a?){100}(b?){100}c"`, texts},
		"a value that is very deep":            {`string(reduce(1..100000, [#acc], 0))`, `{}`},
		"comparing values that are very deep":  {`let d = reduce(1..100000, [#acc], 0); let e = reduce(1..100000, [#acc], 0); d == e`, `{}`},
		"writing the payload again and again":  {`any(1..100000, string(payload) == "")`, texts},
		"lists of lists":                       {`let a = [payload, payload]; let b = [a, a, a, a]; let c = [b, b, b, b]; let d = [c, c, c, c]; string([d, d, d, d])`, texts},
		"upper case in a loop":                 {`any(1..100000, upper(payload.a) == "")`, texts},
		"the length of a text in a loop":       {`any(1..100000, len(payload.a) == 0)`, texts},
	} {
		t.Run(name, func(t *testing.T) {
			in := in(t, c.payload)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := result(t, c.source, in)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			bad, ok := errors.AsType[*evalError](err)
			if !ok || bad.why != "it takes too long or too much memory for this payload" {
				t.Errorf("%v", err)
			}
			if took > 10*time.Second { // a second at most on an idle machine
				t.Errorf("it took %s", took)
			}
			if made := after.TotalAlloc - before.TotalAlloc; made > 256<<20 {
				t.Errorf("it allocated %d MiB", made>>20)
			}
		})
	}
}

// An error of an expression is shown and logged, so it has nothing of a payload.
func TestFailuresSayNothingOfThePayload(t *testing.T) {
	for source, at := range map[string]string{
		`payload.secret.name`:                     "1:16",
		`string(int(payload.secret))`:             "1:8",
		`payload[payload.secret].x`:               "1:",
		`payload.list[payload.n]`:                 "1:",
		`payload.n + payload.secret`:              "1:11",
		`payload.secret ? "a" : "b"`:              "1:",
		`join([payload.n, payload.secret])`:       "1:",
		`replace(payload.secret, "a", payload.n)`: "1:",
		`string(1 % payload.zero)`:                "1:10",
	} {
		_, err := result(t, source, in(t, `{"secret": "hunter2", "n": 7, "zero": 0, "list": [1]}`))
		bad, ok := errors.AsType[*evalError](err)
		if !ok || strings.Contains(err.Error(), "hunter2") || !strings.HasPrefix(bad.at, at) ||
			bad.why != "a member is absent from this payload or has another type" {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func TestFilterIsCheckedBeforeItIsSubscribed(t *testing.T) {
	for source, want := range map[string]string{
		"":                         "",
		`payload.a == 1`:           "",
		`payload.a`:                "",
		`"a"`:                      "invalid filter: does not compile: expected bool, but got string",
		`payload.`:                 "invalid filter: does not compile: unexpected end of expression (1:8)",
		`now()`:                    "invalid filter: does not compile: the function now is not available (1:1)",
		strings.Repeat("a", 5<<10): "too_large filter: has 5120 bytes, at most 4096 are allowed",
	} {
		got := ""
		if err := CheckFilter(source); err != nil {
			bad, ok := errors.AsType[*turns.InvalidError](err)
			if !ok {
				t.Fatalf("%T", err)
			}
			got = bad.Reason + " " + bad.Error()
		}
		if got != want {
			t.Errorf("%.30s: %s, want %s", source, got, want)
		}
	}
}

// FuzzExpression checks that neither compiling nor evaluating panics or takes
// long.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{`payload.a`, `any(1..3, # == 2)`, `replace(payload.a, "a", "bb")`, `payload?.x[0]?.y ?? headers["x-event"]`, `join(map(payload.l, string(#)), "")`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		e, err := compile("filter", source, reflect.Bool)
		if err != nil {
			return
		}
		start := time.Now()
		_, err = e.run(in(t, `{"a": "text", "l": [1, "b", {"c": null}], "n": 5}`))
		if bad, ok := errors.AsType[*evalError](err); err != nil && (!ok || bad.why == "it cannot be evaluated") {
			t.Errorf("%s: %v", source, err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s took %s", source, took)
		}
	})
}
