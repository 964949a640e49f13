package screen

// Sure is what stops work and waits for y. Any other key lets it be, and does nothing
// else.
type Sure struct {
	Question string // names what is stopped
	Action   Action
}

// SureKeys are the keys that a help line names meanwhile.
var SureKeys = []Key{{Name: "y", Does: "interrupt"}, {Name: "any other key", Does: "do not"}}

// SureInterrupt asks whether to interrupt a turn of a thread with a title.
func SureInterrupt(title, turn string) *Sure {
	return &Sure{
		Question: "Interrupt “" + OneLine(title) + "” (turn " + ShortID(turn) + ")? y interrupts it.",
		Action:   Interrupt{Turn: turn},
	}
}

// Key takes the answer.
func (s *Sure) Key(name string) []Action {
	if name == "y" {
		return []Action{s.Action}
	}
	return []Action{Say{Text: "Not interrupted."}}
}

// ShortID is the end of an id, as tables show it.
func ShortID(id string) string {
	id = OneLine(id)
	return id[max(0, len(id)-8):]
}
