package items

import (
	"strings"

	"github.com/google/uuid"
)

const (
	idPrefix = "item_"
	idLen    = len(idPrefix) + 36
)

// NewID returns a new item id: "item_" and a UUIDv7, so that ids sort by the
// time they were made.
func NewID() string { return idPrefix + uuid.Must(uuid.NewV7()).String() }

// Made reports whether the id looks like one of NewID. The ids that one process
// makes are in the order in which they were made.
func Made(id string) bool { return len(id) == idLen && strings.HasPrefix(id, idPrefix) }
