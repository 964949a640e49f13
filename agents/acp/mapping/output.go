package mapping

import "github.com/seed82539d15/holon/items"

// output collects the ops that the parts of a Session emit during one call of
// the Session. The zero value is ready.
type output struct {
	keepRaw bool // Options.KeepRaw
	ops     []items.Op
}

func (o *output) emit(ops ...items.Op) { o.ops = append(o.ops, ops...) }

// take returns the emitted ops, in order, and forgets them.
func (o *output) take() []items.Op {
	ops := o.ops
	o.ops = nil
	return ops
}
