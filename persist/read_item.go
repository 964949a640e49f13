package persist

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// wholeItem reads an item with its lineage and its text so far; nil if there
// is none.
func wholeItem(s Snapshot, itemID string) (*items.Item, error) {
	it, err := one(s, itemOf, items.ByID, itemID)
	if err != nil || it == nil {
		return nil, err
	}
	return it, newCompletion(s).complete(it)
}

// completion adds to items what their rows do not have: the lineage of their
// try, and text that is still in the log. Each try is read once.
type completion struct {
	s     ledger.Reader
	tries map[int64]*turns.Step
}

func newCompletion(s ledger.Reader) *completion {
	return &completion{s: s, tries: map[int64]*turns.Step{}}
}

func (c *completion) complete(it *items.Item) error {
	if err := c.lineage(it); err != nil {
		return err
	}
	return foldText(c.s, it)
}

// lineage sets the lineage of the item, and whether it is superseded.
func (c *completion) lineage(it *items.Item) (err error) {
	if it.Span == 0 {
		return nil
	}
	try, ok := c.tries[it.Span]
	if !ok {
		if try, err = one(c.s, turns.ReadStep, turns.StepsBySeq, it.Span); err != nil {
			return err
		}
		c.tries[it.Span] = try
	}
	if try == nil {
		return nil // doctor reports it
	}
	it.Step, it.Epoch, it.Lineage = try.Step, try.Epoch, try.Lineage
	if try.HiddenBy != 0 && it.CreatedSeq > try.HiddenAfter {
		it.Superseded, it.SupersededBySeq = true, try.HiddenBy
	}
	return nil
}

// foldText adds to an open item the deltas since its row was written.
func foldText(s ledger.Reader, it *items.Item) error {
	if !it.Status.Open() || !it.Type.Streams() {
		return nil
	}
	var deltas []string
	if err := s.Scan(ledger.Range{Index: items.Deltas, Prefix: []any{it.ItemID}, After: it.UpdatedSeq}, func(v ledger.Values) error {
		var d items.Delta
		if err := json.Unmarshal(v.Blob(0), &d); err != nil {
			return err
		}
		deltas = append(deltas, d.Delta.Text)
		return nil
	}); err != nil {
		return fmt.Errorf("read the text of %s: %w", it.ItemID, err)
	}
	content, err := items.Fold(it.Content, deltas)
	if err != nil {
		return fmt.Errorf("read the text of %s: %w", it.ItemID, err)
	}
	it.Content = content
	return nil
}
