package mapping

import "github.com/seed82539d15/holon/items"

// output is what the parts of a Session emit to: the ops of the call of the
// Session that runs. The zero value is ready.
type output struct {
	keepRaw bool // Options.KeepRaw
	ops     []items.Op
}

func (o *output) emit(ops ...items.Op) { o.ops = append(o.ops, ops...) }

// take returns what was emitted, in order, and forgets it.
func (o *output) take() []items.Op {
	ops := o.ops
	o.ops = nil
	return ops
}
