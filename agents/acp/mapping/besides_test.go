package mapping

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// An input with very many values is shown whole: comparing each would take the time of their
// product with the length of the changes.
func TestAnInputOfVeryManyValuesIsShownWhole(t *testing.T) {
	changes := []items.Change{{Path: "/p/a", OldText: strings.Repeat("a\n", 100_000), NewText: "b"}}
	var members, list []string
	for i := range 100_000 {
		members = append(members, fmt.Sprintf(`"m%06d":"b"`, i))
		list = append(list, `"b"`)
	}
	all := jsontext.Value("{" + strings.Join(members, ",") + "}")
	if got := besides(changes, nil, all); string(got) != string(all) {
		t.Errorf("of %d bytes %d are shown", len(all), len(got))
	}
	nested := jsontext.Value(`{"a":[` + strings.Join(list, ",") + `]}`)
	if got := besides(changes, nested, nil); string(got) != string(nested) {
		t.Errorf("of %d bytes %d are shown", len(nested), len(got))
	}
	few := jsontext.Value(`{"a":[` + strings.Join(slices.Repeat([]string{`"b"`}, 50), ",") + `]}`)
	if got := besides(changes, few, few); got != nil {
		t.Errorf("it is shown although the changes have it: %s", got)
	}
}
