package items

// Lines counts lines of files.
type Lines struct {
	Added   int64 `json:"added"`
	Removed int64 `json:"removed"`
}
