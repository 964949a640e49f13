package tokens

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// The bounds of console tokens.
const (
	// ConsoleLife is how long a console token lives at most: a working day.
	ConsoleLife = 12 * time.Hour
	// MaxSignIns is how many console tokens of one parent are kept, ended ones too. A new one
	// replaces the oldest that has ended, if that was made at least RoomAfter ago. So the rows
	// that a client with the role read can write are bounded.
	MaxSignIns = 100
	RoomAfter  = time.Hour
	// KeptSignIns is how long the row of an ended one is kept after it was made.
	KeptSignIns = 30 * 24 * time.Hour
	// maxRemoved bounds how many rows a sign-in removes; later ones remove the rest.
	maxRemoved = 1000
)

// SignIn asks for a console token: the one that a code describes, or one with the rights of
// its parent.
type SignIn struct {
	Parent string // a named token, or OwnerName
	Code   *Code  // nil = none
	Key    *ledger.Key
}

// SignOut ends console tokens permanently: one, or all.
type SignOut struct {
	Name string `json:"name,omitzero"`
	All  bool   `json:"all,omitzero"`
	// Of is the parent of the console tokens; "" = any parent.
	Of  string      `json:"-"`
	By  By          `json:"-"`
	Key *ledger.Key `json:"-"`
}

// SignOutResult answers signin/delete: which console tokens have ended.
type SignOutResult struct {
	SignIns []Token `json:"signins"`
	Seq     int64   `json:"seq"`
}

// SetSeq sets the seq of the response: see ledger.Result.
func (r *SignOutResult) SetSeq(seq int64) { r.Seq = seq }

// SignIn makes a console token. It ends the code once the token is durable, so only one of
// several concurrent requests with a code succeeds. It removes rows of console tokens that
// have ended and are old or too many. Errors: ErrEnded, ErrTooMany, ErrTaken.
func (s *Service) SignIn(_ context.Context, c SignIn) (Result, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if c.Code != nil && !s.lives(c.Code) {
		return Result{}, ErrEnded // also for a repetition of the request that has used the code
	}
	var made *row
	var text string
	var gone []*held
	r, replayed, err := ledger.Keyed(s.cfg.Log, c.Key, func() (u *ledger.Unit, r Result, err error) {
		u = &ledger.Unit{}
		if made, gone, err = s.newConsole(c); err != nil {
			return u, r, err
		}
		if text, made.hash, err = newText(Prefix); err != nil {
			return u, r, err
		}
		for _, h := range gone {
			u.Rows = append(u.Rows, &ledger.Removal{Of: Table, Key: []any{h.row.Name}})
		}
		u.Rows = append(u.Rows, made)
		u.Drafts = append(u.Drafts, draft(notify.TokenCreated, &CreatedEvent{
			Name: made.Name, Parent: made.Parent, Role: made.Role, LimitedTo: made.ThreadIDs, ExpiresAt: made.ExpiresAt, By: ByName(made.Parent),
		}, made.CreatedAt))
		return u, Result{Token: made.Token}, u.Drafts[0].Encode()
	}, s.cfg.Log.Append)
	if err != nil || replayed {
		return r, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Code != nil {
		delete(s.codes, c.Code.hash)
	}
	for _, h := range gone {
		s.forget(h)
	}
	s.add(made)
	r.Secret = text
	return r, nil
}

func (s *Service) lives(c *Code) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.codeLives(c.hash)
}

// newConsole makes the row of a console token, and returns the ended ones that it replaces.
func (s *Service) newConsole(c SignIn) (made *row, gone []*held, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	role, limitedTo, err := s.parentMay(c.Parent)
	if err != nil {
		return nil, nil, err
	}
	now := s.cfg.Now()
	t := Token{Parent: c.Parent, Role: role, ThreadIDs: slices.Clone(limitedTo), State: Live, CreatedAt: notify.TimeOf(now), ExpiresAt: notify.TimeOf(now.Add(ConsoleLife))}
	if c.Code != nil {
		t.Name, t.Role, t.ThreadIDs = c.Code.Name, c.Code.Role, c.Code.ThreadIDs
	} else {
		t.Name = s.newName(c.Parent, "")
	}
	if s.byName[t.Name] != nil {
		return nil, nil, ErrTaken
	}
	if h := s.byName[c.Parent]; h != nil && !h.row.ExpiresAt.IsZero() && h.row.ExpiresAt.Milli() < t.ExpiresAt.Milli() {
		t.ExpiresAt = h.row.ExpiresAt
	}
	gone, room := s.outdated(c.Parent, now)
	if !room {
		return nil, nil, ErrTooMany
	}
	return &row{Token: t, logID: s.cfg.LogID, createdSeq: notify.Provisional(0)}, gone, nil
}

// outdated returns the ended console tokens that a new one of the parent replaces; room says
// whether the bound then allows the new one. mu is held.
func (s *Service) outdated(parent string, now time.Time) (gone []*held, room bool) {
	of := 0
	for _, h := range s.signIns {
		if h.row.Parent == parent {
			of++
		}
	}
	for _, h := range s.signIns { // the oldest first
		ended, own := h.state != Live || s.expired(h.row), h.row.Parent == parent
		age := now.Sub(h.row.CreatedAt.Time)
		full := own && of >= MaxSignIns && age >= RoomAfter
		if !ended || age < KeptSignIns && !full || len(gone) >= maxRemoved {
			continue
		}
		if gone = append(gone, h); own {
			of--
		}
	}
	return gone, of < MaxSignIns
}

// forget removes a console token that has ended. mu is held.
func (s *Service) forget(h *held) {
	if h.state == Live {
		s.finish(h, Expired)
	}
	delete(s.byName, h.row.Name)
	s.signIns = slices.DeleteFunc(s.signIns, func(other *held) bool { return other == h })
}

// SignOut ends console tokens: from the commit on their requests are refused and their streams
// end. With All the codes of the parent end too. Ending one again changes nothing. Errors:
// *turns.InvalidError, ErrNotFound, also for a token of another parent.
func (s *Service) SignOut(_ context.Context, c SignOut) (SignOutResult, error) {
	if (c.Name != "") == c.All {
		return SignOutResult{}, turns.Invalid("name", turns.ReasonRequired, "give the name of a sign-in, or all: true")
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	ends, err := s.signOut(c)
	if err != nil {
		return SignOutResult{}, err
	}
	next := map[*held]*row{}
	r, replayed, err := ledger.Keyed(s.cfg.Log, c.Key, func() (*ledger.Unit, SignOutResult, error) {
		u, r, now := &ledger.Unit{}, SignOutResult{SignIns: []Token{}}, notify.TimeOf(s.cfg.Now())
		for _, h := range ends {
			shown := s.shown(h)
			if shown.State == Live {
				changed := *h.row
				changed.RevokedAt = now
				next[h] = &changed
				u.Rows = append(u.Rows, &changed)
				d := draft(notify.TokenRevoked, &RevokedEvent{Name: shown.Name, Parent: shown.Parent, By: c.By}, now)
				d.Header.Seq = notify.Provisional(len(u.Drafts))
				if err := d.Encode(); err != nil {
					return u, r, err
				}
				u.Drafts = append(u.Drafts, d)
				shown.State, shown.RevokedAt = Revoked, now
			}
			r.SignIns = append(r.SignIns, shown)
		}
		return u, r, nil
	}, s.cfg.Log.Append)
	if err != nil || replayed {
		return r, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for h, changed := range next {
		h.row = changed
		s.finish(h, Revoked)
	}
	if c.All {
		s.dropCodes(c.Of)
	}
	return r, nil
}

// signOut returns the console tokens to end: with All the live ones.
func (s *Service) signOut(c SignOut) (list []*held, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.signIns {
		own := c.Of == "" || h.row.Parent == c.Of
		if own && (c.All && h.state == Live && !s.expired(h.row) || h.row.Name == c.Name) {
			list = append(list, h)
		}
	}
	if len(list) == 0 && !c.All {
		return nil, ErrNotFound
	}
	return list, nil
}

// SignIns returns one page of the console tokens of a parent that are kept, in the order in
// which they were made; parent "" = any. cursor is "" for the first page. Errors:
// notify.ErrBadCursor.
func (s *Service) SignIns(parent, cursor string, limit int, newest bool) (out turns.List[Token], err error) {
	var after int64
	if cursor != "" {
		if after, err = strconv.ParseInt(cursor, 10, 64); err != nil || after < 0 {
			return out, fmt.Errorf("cursor %.40q: %w", cursor, notify.ErrBadCursor)
		}
	}
	s.mu.Lock()
	var all []*held
	for _, h := range s.signIns {
		beyond := cursor == "" || h.row.createdSeq > after && !newest || h.row.createdSeq < after && newest
		if beyond && (parent == "" || h.row.Parent == parent) {
			all = append(all, h)
		}
	}
	s.mu.Unlock()
	if newest {
		slices.Reverse(all)
	}
	for i, h := range all {
		if i == limit {
			out.Next = strconv.FormatInt(all[i-1].row.createdSeq, 10)
			break
		}
		out.Rows = append(out.Rows, s.shown(h))
	}
	return out, nil
}
