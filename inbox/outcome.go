package inbox

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// Outcomes counts what came of the subjects of a digest, by the outcome of the newest item of
// each. A subject whose newest item has no outcome is not counted.
type Outcomes map[string]int

const (
	// maxOutcomes is how many outcomes a digest names; all others are outcomeOther.
	maxOutcomes  = 8
	outcomeOther = "other"
)

// count adds n, 1 or -1, to the number of subjects with the outcome.
func (o *Outcomes) count(outcome string, n int) {
	if outcome == "" {
		return
	}
	if *o == nil {
		*o = Outcomes{}
	}
	m := *o
	named := len(m)
	if m[outcomeOther] > 0 {
		named--
	}
	if m[outcome] == 0 && (n < 0 || named >= maxOutcomes) {
		outcome = outcomeOther
	}
	if m[outcome] += n; m[outcome] <= 0 {
		delete(m, outcome)
	}
}

// column returns what the column outcomes has.
func (o Outcomes) column() ([]byte, error) {
	if len(o) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]int(o), json.Deterministic(true))
}

// String returns text such as "2 success, 1 failure": the most frequent first.
func (o Outcomes) String() string {
	names := slices.SortedFunc(maps.Keys(o), func(x, y string) int {
		isOther := func(s string) int {
			if s == outcomeOther {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(isOther(x), isOther(y)), cmp.Compare(o[y], o[x]), cmp.Compare(x, y))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", o[name], strings.ReplaceAll(name, "_", " "))
	}
	return strings.Join(names, ", ")
}
