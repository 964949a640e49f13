package holon_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/seed82539d15/holon/"

// mayImport is the table of docs/architecture.md (I9): for each folder, the
// folders of ours that its code may import. A folder's own sub-folders are
// always allowed, and so is cmd everything.
var mayImport = map[string][]string{
	"host":          {},
	"lines":         {},
	"limits":        {},
	"backoff":       {},
	"nearest":       {},
	"strict":        {"nearest"},
	"mend":          {},
	"sanitize":      {},
	"skills":        {},
	"question":      {"sanitize"},
	"worktree":      {},
	"notify":        {"limits"},
	"ledger":        {"notify"},
	"follow":        {"backoff", "notify", "ledger"},
	"items":         {"strict", "notify", "ledger"},
	"threads":       {"notify", "ledger", "items"},
	"turns":         {"backoff", "nearest", "sanitize", "question", "notify", "ledger", "items", "threads"},
	"inbox":         {"sanitize", "notify", "ledger", "items", "threads", "turns"},
	"cursors":       {"notify", "ledger", "threads", "turns"},
	"tokens":        {"nearest", "notify", "ledger", "threads", "turns"},
	"engine":        {"limits", "sanitize", "question", "notify", "ledger", "follow", "items", "threads", "turns", "inbox"},
	"hooks":         {"limits", "strict", "mend", "sanitize", "notify", "ledger", "threads", "turns", "inbox"},
	"bridges":       {"backoff", "nearest", "sanitize", "question", "notify", "ledger", "follow", "items", "threads", "turns", "inbox", "cursors"},
	"bridges/kinds": {"sanitize", "notify", "turns", "bridges", "agents/process"},
	"events":        {"notify", "ledger", "items", "threads", "turns", "inbox", "cursors", "bridges", "tokens"},
	"agents":        {"limits", "nearest", "backoff", "strict", "mend", "lines", "notify", "items", "turns", "host"},
	"persist":       {"limits", "sanitize", "question", "notify", "ledger", "items", "threads", "turns", "inbox", "cursors", "events"},
	"api":           {"limits", "nearest", "strict", "notify", "ledger", "items", "threads", "turns", "inbox", "cursors", "bridges", "tokens", "events", "worktree"},
	"tools":         {"mend", "nearest", "sanitize", "skills", "notify", "items", "threads", "turns", "inbox", "tokens", "api"},
	"rpc":           {"nearest", "limits", "lines", "notify", "threads", "turns", "inbox", "api", "tools"},
	"rpc/client":    {"backoff", "mend", "lines", "notify", "host"},
	"rpc/admission": {"host"},
	"console":       {},
	"clients":       {},
	"conformance":   {},
	"bench":         {"nearest", "rpc/client", "notify", "ledger", "items", "threads", "turns", "persist"},
	testsOnly:       {"question", "notify", "items", "turns", "engine"},
	"cmd":           nil,                      // everything
	"faults":        nil,                      // tests only
	"docs":          {"rpc/client", "notify"}, // examples: whoever copies them has the client and its fold at most

	"rpc/client/wire": {}, // so that who imports the types links nothing of the server
}

// testsOnly is the folder of agents and suites for tests: what is in it is
// imported by tests and by itself.
const testsOnly = "testagents"

// onlyImporter names the folders that alone may import a library.
var onlyImporter = map[string][]string{
	"github.com/mattn/go-sqlite3":                {"persist/sqlite", "bench"},
	"github.com/sourcegraph/jsonrpc2":            {"rpc/client", "bench"},
	"github.com/spf13/cobra":                     {"cmd"},
	"github.com/BurntSushi/toml":                 {"cmd"},
	"github.com/mattn/go-runewidth":              {"cmd"},
	"charm.land":                                 {"cmd"},
	"github.com/charmbracelet/x/ansi":            {"cmd"},                 // tests only
	"github.com/chromedp":                        {"console/browsertest"}, // tests only
	"github.com/adhocore/gronx":                  {"inbox/schedule"},
	"github.com/expr-lang/expr":                  {"hooks"},
	"golang.org/x/time":                          {"hooks"},
	"github.com/standard-webhooks":               {"bridges/kinds/kindstest"}, // tests only
	"code.dny.dev/ssrf":                          {"bridges/kinds"},
	"github.com/google/jsonschema-go/jsonschema": {"api", "conformance", "tools"},
	"github.com/modelcontextprotocol/go-sdk":     {"tools"},
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func TestArrowsBetweenPackagesRunOneWay(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		from, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours {
			continue // the root, which has tests only
		}
		rule, allowed := ruleOf(from)
		if rule == "" {
			t.Errorf("%s has no rule: add it to mayImport and to docs/architecture.md", from)
			continue
		}
		for _, imp := range p.Imports {
			if to, ours := strings.CutPrefix(imp, module); ours {
				if forTests(to) && !forTests(from) {
					t.Errorf("%s imports %s, which is for tests only", from, to)
				}
				if allowed != nil && !within(to, rule) && !slices.ContainsFunc(allowed, func(a string) bool { return within(to, a) }) {
					t.Errorf("%s imports %s", from, to)
				}
				continue
			}
			for lib, only := range onlyImporter {
				if within(imp, lib) && !slices.ContainsFunc(only, func(o string) bool { return within(from, o) }) {
					t.Errorf("%s imports %s, which only %v may", from, imp, only)
				}
			}
		}
	}
}

// ruleOf returns the longest folder of mayImport that from is in.
func ruleOf(from string) (rule string, allowed []string) {
	for r, a := range mayImport {
		if within(from, r) && len(r) > len(rule) {
			rule, allowed = r, a
		}
	}
	return rule, allowed
}

// forTests reports whether a package is for tests only: it is in testsOnly, or
// a suite or helper beside what it tests, whose name ends so, or below one.
func forTests(path string) bool {
	return within(path, testsOnly) || strings.HasSuffix(path, "test") || strings.Contains(path, "test/")
}

func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
