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
	"internal/host":     {},
	"internal/lines":    {},
	"internal/limits":   {},
	"internal/backoff":  {},
	"internal/nearest":  {},
	"internal/strict":   {"internal/nearest"},
	"internal/mend":     {},
	"internal/sanitize": {},
	"question":          {"internal/sanitize"},
	"internal/worktree": {},
	"notify":            {"internal/limits"},
	"ledger":            {"notify"},
	"follow":            {"internal/backoff", "notify", "ledger"},
	"items":             {"internal/strict", "notify", "ledger"},
	"threads":           {"notify", "ledger", "items"},
	"turns":             {"internal/backoff", "internal/nearest", "internal/sanitize", "question", "notify", "ledger", "items", "threads"},
	"inbox":             {"internal/sanitize", "notify", "ledger", "items", "threads", "turns"},
	"cursors":           {"notify", "ledger", "threads", "turns"},
	"tokens":            {"internal/nearest", "notify", "ledger", "threads", "turns"},
	"engine":            {"internal/limits", "internal/sanitize", "question", "notify", "ledger", "follow", "items", "threads", "turns", "inbox"},
	"hooks":             {"internal/limits", "internal/strict", "internal/mend", "internal/sanitize", "notify", "ledger", "threads", "turns", "inbox"},
	"bridges":           {"internal/backoff", "internal/nearest", "internal/sanitize", "question", "notify", "ledger", "follow", "items", "threads", "turns", "inbox", "cursors"},
	"bridges/kinds":     {"internal/sanitize", "notify", "turns", "bridges", "agents/process"},
	"internal/events":   {"notify", "ledger", "items", "threads", "turns", "inbox", "cursors", "bridges", "tokens"},
	"agents":            {"internal/limits", "internal/nearest", "internal/backoff", "internal/strict", "internal/mend", "internal/lines", "notify", "items", "turns", "internal/host"},
	"persist":           {"internal/limits", "internal/sanitize", "question", "notify", "ledger", "items", "threads", "turns", "inbox", "cursors", "internal/events"},
	"api":               {"internal/limits", "internal/nearest", "internal/strict", "notify", "ledger", "items", "threads", "turns", "inbox", "cursors", "bridges", "tokens", "internal/events", "internal/worktree"},
	"tools":             {"internal/mend", "internal/nearest", "internal/sanitize", "notify", "items", "threads", "turns", "inbox", "tokens", "api"},
	"rpc":               {"internal/nearest", "internal/limits", "internal/lines", "notify", "threads", "turns", "inbox", "api", "tools"},
	"rpc/client":        {"internal/backoff", "internal/mend", "internal/lines", "notify", "internal/host"},
	"rpc/admission":     {"internal/host"},
	"console":           {},
	"clients":           {},
	"conformance":       {},
	"internal/bench":    {"internal/nearest", "rpc/client", "notify", "ledger", "items", "threads", "turns", "persist"},
	testsOnly:           nil,
	"cmd":               nil,                      // everything
	"docs":              {"rpc/client", "notify"}, // examples: whoever copies them has the client and its fold at most
	"rpc/client/wire":   {},                       // so that who imports the types links nothing of the server
}

// testsOnly is the folder of what only tests need: agents, suites, helpers, and the tests of
// the real program. Tests and its own packages import it.
const testsOnly = "internal/test"

// onlyImporter names the folders that alone may import a library.
var onlyImporter = map[string][]string{
	"github.com/mattn/go-sqlite3":                {"persist/sqlite", "internal/bench"},
	"github.com/sourcegraph/jsonrpc2":            {"rpc/client", "internal/bench"},
	"github.com/spf13/cobra":                     {"cmd"},
	"github.com/BurntSushi/toml":                 {"cmd"},
	"github.com/mattn/go-runewidth":              {"cmd", testsOnly},
	"charm.land":                                 {"cmd", testsOnly},
	"github.com/charmbracelet/x/ansi":            {"cmd"},                       // tests only
	"github.com/chromedp":                        {"internal/test/browsertest"}, // tests only
	"github.com/adhocore/gronx":                  {"inbox/schedule"},
	"github.com/expr-lang/expr":                  {"hooks"},
	"golang.org/x/time":                          {"hooks"},
	"github.com/standard-webhooks":               {"internal/test/kindstest"}, // tests only
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

// forTests reports whether a package is for tests only.
func forTests(path string) bool { return within(path, testsOnly) }

func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
