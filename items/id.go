package items

import (
	"strings"

	"github.com/google/uuid"
)

const (
	idPrefix = "item_"
	idLen    = len(idPrefix) + 36
)

// NewID is a new item id: "item_" and a UUIDv7, so that ids sort by time of
// making.
func NewID() string { return idPrefix + uuid.Must(uuid.NewV7()).String() }

// Made reports whether the id looks like one of NewID: those that one process
// makes are in the order of their making.
func Made(id string) bool { return len(id) == idLen && strings.HasPrefix(id, idPrefix) }
