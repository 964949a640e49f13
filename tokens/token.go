package tokens

import (
	"errors"
	"time"

	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// The bounds of tokens.
const (
	// MaxTokens is how many tokens can be live at once: one for each device and
	// program of a team.
	MaxTokens = 1000
	// MaxNames is how many names a log can use, because none is used twice: one a day for 27
	// years.
	MaxNames = 10_000
	// MaxThreads is how many threads one token can be limited to.
	MaxThreads = 100
	// MaxLife is the longest time until a token expires. One without an expiry lives
	// until it is revoked.
	MaxLife = 10 * 365 * 24 * time.Hour
)

// OwnerName names the owner: the server's own user, and who has the server's own token. No
// named token has it.
const OwnerName = "owner"

// State is what a token is now.
type State string

// The states of a token. Only a live one is accepted.
const (
	Live     State = "live"
	Revoked  State = "revoked"
	Expired  State = "expired"
	Restored State = "restored" // the log was restored from a backup that has it
)

// Token is what reads return of a token: its row without the hash.
type Token struct {
	Name string `json:"name"`
	// Parent is the named token of a console token, which ends with it, or OwnerName; "" = this
	// is a named token.
	Parent string `json:"parent,omitzero"`
	Role   Role   `json:"role"`
	// ThreadIDs are the threads that it is limited to, with those below them; none =
	// it is not limited.
	ThreadIDs []string    `json:"limited_to,omitzero"`
	State     State       `json:"state"`
	CreatedAt notify.Time `json:"created_at"`
	ExpiresAt notify.Time `json:"expires_at,omitzero"` // zero = never
	RevokedAt notify.Time `json:"revoked_at,omitzero"`
	// LastUsedAt is when a request last used it; zero = not since the server started.
	LastUsedAt notify.Time `json:"last_used_at,omitzero"`
}

// Create asks for a new token. An empty list of threads and an expiry of 0 are errors; absent
// members are not. So a program that has computed an empty list or no time does not get a
// token for all threads or without an end.
type Create struct {
	Name             string      `json:"name"`
	Role             Role        `json:"role"`
	ThreadIDs        []string    `json:"limited_to,omitzero"`         // nil = it is not limited
	ExpiresInSeconds *float64    `json:"expires_in_seconds,omitzero"` // nil = it never expires
	Key              *ledger.Key `json:"-"`
}

// Revoke ends a token permanently.
type Revoke struct {
	Name string      `json:"name"`
	Key  *ledger.Key `json:"-"`
}

// Result answers token/create and token/revoke. Secret is the text of a new token. It
// is in the first answer only: a repetition with the same idempotency key has none.
type Result struct {
	Token  Token  `json:"token"`
	Seq    int64  `json:"seq"`
	Secret string `json:"secret,omitzero"`
}

// SetSeq sets the seq of the response: see ledger.Result.
func (r *Result) SetSeq(seq int64) { r.Seq = seq }

// Errors of this package. api maps them to the wire.
var (
	ErrNotFound = errors.New("no such token")
	ErrTaken    = errors.New("a token had this name before, and names are not used again")
	ErrTooMany  = errors.New("there are too many tokens")
	// ErrEnded says that a code or its parent has ended.
	ErrEnded = errors.New("the code has been used or has expired, or its token has ended")
)

// Check returns what is wrong with the command as a *turns.InvalidError.
func (c *Create) Check() error {
	switch {
	case !ValidName(c.Name):
		return turns.Invalid("name", turns.ReasonInvalid, "a name has 1 to 64 letters, digits and . _ - and begins with a letter or a digit")
	case c.Name == OwnerName:
		return turns.Invalid("name", turns.ReasonInvalid, "%s is the name of the server's own user", OwnerName)
	case !RoleOperate.Covers(c.Role):
		return turns.Invalid("role", turns.ReasonUnknown, "%s", nearest.NoneOf(c.Role, Roles))
	case c.ExpiresInSeconds != nil && !(*c.ExpiresInSeconds >= 1 && *c.ExpiresInSeconds <= MaxLife.Seconds()):
		return turns.Invalid("expires_in_seconds", turns.ReasonRange, "a token lives for 1 to %.0f seconds; without this member it does not expire", MaxLife.Seconds())
	}
	return checkThreads(c.ThreadIDs)
}

// checkThreads checks the threads that something is limited to; nil = it is not.
func checkThreads(ids []string) error {
	switch {
	case ids != nil && len(ids) == 0:
		return turns.Invalid("limited_to", turns.ReasonRequired, "name at least one thread, or leave this member out")
	case len(ids) > MaxThreads:
		return turns.Invalid("limited_to", turns.ReasonTooLarge, "name at most %d threads", MaxThreads)
	}
	for _, id := range ids {
		if !threads.ValidID(id) {
			return turns.Invalid("limited_to", turns.ReasonInvalid, "%.64q is no id of a thread", id)
		}
	}
	return nil
}

// ValidName reports whether a token can have this name.
func ValidName(name string) bool {
	if len(name) == 0 || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}
