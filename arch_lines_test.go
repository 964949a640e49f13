package holon_test

import (
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// spare is how many lines a folder may have less than its budget before the budget has to
// follow: so not every commit changes this table.
const spare = 100

// budget is how many lines of product code each folder may have, without comments and blank
// lines, as make lines counts them. A number only falls. A new feature raises it in its own
// commit, whose message says why.
var budget = map[string]int{
	".ci":                 112,
	"agents":              10321,
	"api":                 6727,
	"bridges":             8921,
	"clients":             2333,
	"cmd/holon":           17186,
	"cmd/holon/config":    2622,
	"cmd/holon/daemon":    2236,
	"cmd/holon/dashboard": 11010,
	"cmd/holon/form":      233,
	"cmd/holon/profiles":  188,
	"cmd/holon/relay":     781,
	"cmd/holon/restarts":  108,
	"cmd/holon/servers":   218,
	"cmd/holon/timeline":  2276,
	"cmd/holon/toon":      417,
	"cmd/holon/when":      261,
	"console":             4281,
	"cursors":             624,
	"docs":                895,
	"engine":              11179,
	"follow":              1018,
	"hooks":               2146,
	"inbox":               5238,
	"internal/backoff":    21,
	"internal/events":     48,
	"internal/host":       430,
	"internal/limits":     49,
	"internal/lines":      144,
	"internal/mend":       222,
	"internal/nearest":    75,
	"internal/sanitize":   315,
	"internal/strict":     117,
	"internal/worktree":   401,
	"items":               1126,
	"ledger":              313,
	"notify":              2485,
	"persist":             6910,
	"question":            801,
	"rpc":                 5684,
	"threads":             545,
	"tokens":              1032,
	"tools":               2107,
	"turns":               3382,
}

func TestFoldersKeepTheirBudgetOfLines(t *testing.T) {
	out, err := exec.Command(".ci/lines", "--folders").Output()
	if err != nil {
		t.Fatalf(".ci/lines: %v", err)
	}
	product, _, _ := strings.Cut(string(out), "\nsupport")
	found := map[string]int{}
	for _, row := range regexp.MustCompile(`(?m)^    (\S+) +([\d,]+)$`).FindAllStringSubmatch(product, -1) {
		n, err := strconv.Atoi(strings.ReplaceAll(row[2], ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		found[row[1]] = n
	}
	for _, folder := range slices.Sorted(maps.Keys(found)) {
		switch n, most := found[folder], budget[folder]; {
		case most == 0:
			t.Errorf("%s has no budget: add it with %d lines", folder, n)
		case n > most:
			t.Errorf("%s has %d lines, %d more than its budget", folder, n, n-most)
		case n < most-spare:
			t.Errorf("%s has %d lines: lower its budget of %d", folder, n, most)
		}
	}
	for folder := range budget {
		if found[folder] == 0 {
			t.Errorf("%s has a budget and no lines", folder)
		}
	}
}
