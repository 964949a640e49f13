package acp

import (
	"fmt"

	"github.com/seed82539d15/holon/items"
)

// maxDrops is how many dropped lines of a turn have a notice of their own: an agent may
// print its log on stdout.
const maxDrops = 20

// drops tells a turn of the lines that were dropped.
type drops struct {
	turnID string
	told   int
	more   int // since the last notice
}

// add reports a dropped line, as long as the turn has few of them.
func (d *drops) add(turnID, which string) []items.Op {
	if d.turnID != turnID {
		*d = drops{turnID: turnID}
	}
	if d.told == maxDrops {
		d.more++
		return nil
	}
	d.told++
	return []items.Op{notice("warning", "The agent wrote a line that is not a message of the Agent Client Protocol. It was dropped. "+which, nil)}
}

// rest reports how many more there were; it is called at the end of each prompt.
func (d *drops) rest() []items.Op {
	n := d.more
	if d.more = 0; n == 0 {
		return nil
	}
	return []items.Op{notice("warning", fmt.Sprintf("The agent wrote %d more lines that are not messages of the Agent Client Protocol. They were dropped.", n), nil)}
}
