package items

// Lines counts lines of files.
type Lines struct {
	Added   int64 `json:"added"`
	Removed int64 `json:"removed"`
}

// ChangedBy returns the lines that an event of an item says were changed; nil if there
// are none.
func ChangedBy(body any) *Lines {
	switch b := body.(type) {
	case *Created:
		return b.Changed
	case *Updated:
		return b.Changed
	}
	return nil
}
