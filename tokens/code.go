package tokens

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// CodePrefix is how the text of every code begins.
const CodePrefix = "holon_code_"

// The bounds of codes.
const (
	// CodeLife is how long a code can be used: long enough to open a page on a phone, and
	// too short to be found in a history of addresses.
	CodeLife = time.Minute
	// MaxCodes is how many codes can be live at once, and MaxCodesOfParent how many of one
	// parent, so that no parent can use up all of them.
	MaxCodes         = 64
	MaxCodesOfParent = 8
	// MaxLabel is how long the name can be that is given to a sign-in.
	MaxLabel = 32
)

// Code allows making the console token that it describes, once. It is in memory only, so a
// restart of the server ends it.
type Code struct {
	Name      string // of the console token
	Parent    string
	Role      Role
	ThreadIDs []string // nil = all
	ExpiresAt notify.Time

	hash [sha256.Size]byte
	made time.Time // with the monotonic clock
}

// MakeCode asks for a code.
type MakeCode struct {
	// Label is a name that people know the sign-in by; "" = console.
	Label     string   `json:"name,omitzero"`
	Role      Role     `json:"role,omitzero"`       // "" = read
	ThreadIDs []string `json:"limited_to,omitzero"` // nil = those of the parent
	Parent    string   `json:"-"`                   // a named token, or OwnerName
}

// CodeResult answers signin/code. Secret is the text of the code, in this answer alone.
type CodeResult struct {
	Secret    string      `json:"code"`
	ExpiresAt notify.Time `json:"expires_at"`
	Name      string      `json:"name"` // of the console token that it makes
	Role      Role        `json:"role"`
	ThreadIDs []string    `json:"limited_to,omitzero"`
}

// check returns what is wrong with the command as a *turns.InvalidError.
func (c *MakeCode) check() error {
	if c.Label != "" && (!ValidName(c.Label) || len(c.Label) > MaxLabel) {
		return turns.Invalid("name", turns.ReasonInvalid, "a name has 1 to %d letters, digits and . _ - and begins with a letter or a digit", MaxLabel)
	}
	if !RoleOperate.Covers(c.Role) {
		return turns.Invalid("role", turns.ReasonUnknown, "%s", nearest.NoneOf(c.Role, Roles))
	}
	return checkThreads(c.ThreadIDs)
}

// MakeCode makes a code for a console token. The caller has checked that a parent with a
// limit may give access to these threads. Errors: *turns.InvalidError, ErrEnded for a parent
// that is not live, ErrTooMany, threads.ErrNotFound.
func (s *Service) MakeCode(ctx context.Context, c MakeCode) (CodeResult, error) {
	if c.Role == "" {
		c.Role = RoleRead
	}
	if err := c.check(); err != nil {
		return CodeResult{}, err
	}
	if err := s.haveThreads(ctx, c.ThreadIDs); err != nil {
		return CodeResult{}, err
	}
	text, hash, err := newText(CodePrefix)
	if err != nil {
		return CodeResult{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	most, limitedTo, err := s.parentMay(c.Parent)
	switch {
	case err != nil:
		return CodeResult{}, err
	case !most.Covers(c.Role):
		return CodeResult{}, turns.Invalid("role", turns.ReasonRange, "it is more than %s, which %s has", most, c.Parent)
	case s.codesFull(c.Parent):
		return CodeResult{}, ErrTooMany
	}
	if c.ThreadIDs != nil {
		limitedTo = c.ThreadIDs
	}
	now := s.cfg.Now()
	made := &Code{
		Name: s.newName(c.Parent, c.Label), Parent: c.Parent, Role: c.Role, ThreadIDs: slices.Clone(limitedTo),
		ExpiresAt: notify.TimeOf(now.Add(CodeLife)), hash: hash, made: now,
	}
	s.codes[hash] = made
	return CodeResult{Secret: text, ExpiresAt: made.ExpiresAt, Name: made.Name, Role: made.Role, ThreadIDs: made.ThreadIDs}, nil
}

// FindCode returns the live code that has this text. mine says that the text looks like that
// of a code; ok, that the code is live. The code stays usable. The text is not kept.
func (s *Service) FindCode(text string) (c Code, mine, ok bool) {
	if !strings.Contains(text, CodePrefix) {
		return c, false, false
	}
	hash := sha256.Sum256([]byte(text))
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.codeLives(hash) {
		return c, true, false
	}
	return *s.codes[hash], true, true
}

// codeLives forgets the code if it has ended. Both clocks count: the monotonic one cannot be
// set back, and the wall clock continues while the machine sleeps. mu is held.
func (s *Service) codeLives(hash [sha256.Size]byte) bool {
	c := s.codes[hash]
	if c == nil {
		return false
	}
	now := s.cfg.Now()
	if now.Sub(c.made) < CodeLife && now.UnixMilli() < c.ExpiresAt.Milli() && s.stateOf(c.Parent) == Live {
		return true
	}
	delete(s.codes, hash)
	return false
}

// codesFull reports whether a bound allows no further code. mu is held.
func (s *Service) codesFull(parent string) bool {
	all, of := 0, 0
	for hash, c := range s.codes {
		if !s.codeLives(hash) {
			continue
		}
		if all++; c.Parent == parent {
			of++
		}
	}
	return all >= MaxCodes || of >= MaxCodesOfParent
}

// dropCodes ends the codes of a parent; "" = all. mu is held.
func (s *Service) dropCodes(parent string) {
	for hash, c := range s.codes {
		if parent == "" || c.Parent == parent {
			delete(s.codes, hash)
		}
	}
}

// parentMay returns the highest role that a code or token of the parent can have, and the
// threads to which it is limited. mu is held.
func (s *Service) parentMay(parent string) (Role, []string, error) {
	if s.stateOf(parent) != Live {
		return "", nil, ErrEnded
	}
	if parent == OwnerName {
		return RoleOperate, nil, nil
	}
	t := s.byName[parent].row
	return t.Role, t.ThreadIDs, nil
}

// newName makes the name of a console token. mu is held.
func (s *Service) newName(parent, label string) string {
	if label == "" {
		label = "console"
	}
	for {
		name := parent + "." + label + "-" + strings.ToLower(rand.Text()[:8])
		if s.byName[name] == nil {
			return name
		}
	}
}
