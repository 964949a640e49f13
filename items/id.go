package items

import "github.com/google/uuid"

// NewID is a new item id: "item_" and a UUIDv7, so that ids sort by time of
// making.
func NewID() string { return "item_" + uuid.Must(uuid.NewV7()).String() }
