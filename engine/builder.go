package engine

import (
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
)

// builder decides: it makes of a command, or of what an agent says, the change
// that is to be committed, and what follows its commit.
type builder struct {
	a      *actor
	change *change
	after  []func(ledger.Receipt) // what to do once committed: tell agents, answer waiters

	usage *items.Usage // what the command that ends the turn says it has used; nil = what is known
	open  *openItems   // open items as this unit leaves them, nil = they are changed at once: see private
}

func (a *actor) build() *builder { return &builder{a: a, change: newChange(a)} }

// here is the place of what the active turn itself says.
func (b *builder) here() place {
	if root := b.change.root(); root != nil {
		return in(root)
	}
	return place{attempt: b.activeRow().Attempt}
}
