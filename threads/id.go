package threads

import (
	"strings"

	"github.com/google/uuid"
)

// GeneratedID reports whether an id looks like those of NewID.
func GeneratedID(id string) bool {
	rest, ok := strings.CutPrefix(id, "thread_")
	return ok && len(rest) == 36 && uuid.Validate(rest) == nil
}
