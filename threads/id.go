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

// How much of a generated id stands for it in a text that somebody looks for: fewer characters
// are in the ids of most threads. Lists show its last eight, which are random.
const leastOfAnID, shownOfAnID = 4, 8

// IDHas reports whether a word in lower case that somebody looks for is of an id: a part of
// an id that a client has chosen, but of a generated one its beginning or its end, with or
// without the prefix, or the beginning of the end that lists show. The digits of "part 12" are in every second id.
func IDHas(id, word string) bool {
	id = strings.ToLower(id)
	if !GeneratedID(id) {
		return strings.Contains(id, word)
	}
	word, prefixed := strings.CutPrefix(word, "thread_")
	id = strings.TrimPrefix(id, "thread_")
	return len(word) >= leastOfAnID && (strings.HasPrefix(id, word) || !prefixed && (strings.HasSuffix(id, word) || strings.HasPrefix(id[len(id)-shownOfAnID:], word)))
}
