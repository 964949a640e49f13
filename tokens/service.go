package tokens

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Config has the parts of a Service. All but Now are needed.
type Config struct {
	Log   ledger.Log
	LogID string
	// Read calls f with a snapshot of the rows.
	Read func(ctx context.Context, f func(ledger.Reader) error) error
	Now  func() time.Time // nil = time.Now
}

// Service executes the commands and knows the live tokens. All methods may be
// called from many goroutines.
type Service struct {
	cfg      Config
	changing sync.Mutex // one command at a time

	mu      sync.Mutex
	all     []*held                     // named tokens, in the order in which they were made
	signIns []*held                     // console tokens, likewise
	byName  map[string]*held            // of both
	live    map[[sha256.Size]byte]*held // by hash, so that the time of a look-up reveals nothing about the text
	codes   map[[sha256.Size]byte]*Code // by hash too
	wake    chan struct{}               // there is another expiry: see Run
}

// held is a token in memory. Its row never changes: another one replaces it.
type held struct {
	row   *row
	state State
	used  notify.Time
	alive context.Context // ends when the token does
	end   context.CancelFunc
}

// Open reads the tokens of a log. It starts nothing: see Run.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Service{cfg: cfg, byName: map[string]*held{}, live: map[[sha256.Size]byte]*held{}, codes: map[[sha256.Size]byte]*Code{}, wake: make(chan struct{}, 1)}
	err := cfg.Read(ctx, func(r ledger.Reader) error {
		return r.Scan(ledger.Range{Index: InOrder}, func(v ledger.Values) error {
			t, err := read(v)
			if err != nil {
				return err
			}
			s.add(t)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the tokens: %w", err)
	}
	return s, nil
}

// add adds a row to the tables in memory. mu is held, or nobody else has s yet.
func (s *Service) add(t *row) {
	h := &held{row: t, state: Live}
	h.alive, h.end = context.WithCancel(context.Background())
	s.byName[t.Name] = h
	if t.Parent == "" {
		s.all = append(s.all, h)
	} else {
		s.signIns = append(s.signIns, h)
	}
	switch {
	case !t.RevokedAt.IsZero():
		h.state = Revoked
	case t.logID != s.cfg.LogID:
		h.state = Restored
	case s.expired(t):
		h.state = Expired
	case t.Parent != "":
		h.state = s.stateOf(t.Parent)
	}
	if h.state != Live {
		h.end()
		return
	}
	s.live[t.hash] = h
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Service) expired(t *row) bool {
	return !t.ExpiresAt.IsZero() && t.ExpiresAt.Milli() <= s.cfg.Now().UnixMilli()
}

// stateOf returns the state of a parent; that of the owner never ends. mu is held, or nobody
// else has s yet.
func (s *Service) stateOf(parent string) State {
	if parent == OwnerName {
		return Live
	}
	h := s.byName[parent]
	switch {
	case h == nil || h.row.Parent != "":
		return Revoked
	case h.state == Live && s.expired(h.row):
		return Expired
	}
	return h.state
}

// finish ends a live token, and the console tokens of which it is the parent. A code needs no
// end: each use checks its parent. mu is held.
func (s *Service) finish(h *held, state State) {
	h.state = state
	delete(s.live, h.row.hash)
	h.end()
	if h.row.Parent != "" {
		return
	}
	for _, child := range s.signIns {
		if child.row.Parent == h.row.Name && child.state == Live {
			s.finish(child, state)
		}
	}
}

// Create makes a token. Errors: *turns.InvalidError, ErrTaken, ErrTooMany,
// threads.ErrNotFound.
func (s *Service) Create(ctx context.Context, c Create) (Result, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	var made *row
	var text string
	r, replayed, err := ledger.Keyed(s.cfg.Log, c.Key, func() (*ledger.Unit, Result, error) {
		u := &ledger.Unit{}
		if err := s.mayCreate(ctx, c); err != nil {
			return u, Result{}, err
		}
		now := notify.TimeOf(s.cfg.Now())
		made = &row{
			Token: Token{Name: c.Name, Role: c.Role, ThreadIDs: c.ThreadIDs, State: Live, CreatedAt: now},
			logID: s.cfg.LogID, createdSeq: notify.Provisional(0),
		}
		if c.ExpiresInSeconds != nil {
			made.ExpiresAt = notify.TimeOf(s.cfg.Now().Add(time.Duration(*c.ExpiresInSeconds * float64(time.Second))))
		}
		var err error
		if text, made.hash, err = newText(Prefix); err != nil {
			return u, Result{}, err
		}
		u.Rows = append(u.Rows, made)
		u.Drafts = append(u.Drafts, draft(notify.TokenCreated, &CreatedEvent{
			Name: c.Name, Role: c.Role, LimitedTo: c.ThreadIDs, ExpiresAt: made.ExpiresAt, By: ByOwner,
		}, now))
		return u, Result{Token: made.Token}, u.Drafts[0].Encode()
	}, s.cfg.Log.Append)
	if err != nil || replayed {
		return r, err
	}
	s.mu.Lock()
	s.add(made)
	s.mu.Unlock()
	r.Secret = text
	return r, nil
}

// mayCreate checks what depends on other tokens and on threads.
func (s *Service) mayCreate(ctx context.Context, c Create) error {
	if err := c.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	taken, names, live := s.byName[c.Name] != nil, len(s.all), 0
	for _, h := range s.all {
		if h.state == Live {
			live++
		}
	}
	s.mu.Unlock()
	switch {
	case taken:
		return ErrTaken
	case names >= MaxNames || live >= MaxTokens:
		return ErrTooMany
	}
	return s.haveThreads(ctx, c.ThreadIDs)
}

// haveThreads returns threads.ErrNotFound if one of the threads does not exist.
func (s *Service) haveThreads(ctx context.Context, ids []string) error {
	return s.cfg.Read(ctx, func(r ledger.Reader) error {
		for _, id := range ids {
			if v, err := r.Get(threads.ByID, id); err != nil || v == nil {
				return errors.Join(err, fmt.Errorf("%w: %s", threads.ErrNotFound, id))
			}
		}
		return nil
	})
}

// Revoke ends a named token or a console token. From the commit on its requests are refused
// and its streams end. Revoking a token again changes nothing. Errors: ErrNotFound.
func (s *Service) Revoke(_ context.Context, c Revoke) (Result, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	h := s.byName[c.Name]
	s.mu.Unlock()
	if h == nil {
		return Result{}, ErrNotFound
	}
	var next *row
	r, replayed, err := ledger.Keyed(s.cfg.Log, c.Key, func() (*ledger.Unit, Result, error) {
		u, now := &ledger.Unit{}, notify.TimeOf(s.cfg.Now())
		if !h.row.RevokedAt.IsZero() {
			return u, Result{Token: s.shown(h)}, nil
		}
		changed := *h.row
		changed.RevokedAt = now
		next = &changed
		u.Rows = append(u.Rows, next)
		u.Drafts = append(u.Drafts, draft(notify.TokenRevoked, &RevokedEvent{Name: c.Name, Parent: h.row.Parent, By: ByOwner}, now))
		shown := next.Token
		shown.State = Revoked
		return u, Result{Token: shown}, u.Drafts[0].Encode()
	}, s.cfg.Log.Append)
	if err != nil || replayed || next == nil {
		return r, err
	}
	s.mu.Lock()
	h.row = next
	s.finish(h, Revoked)
	s.mu.Unlock()
	return r, nil
}

// shown returns a token as reads return it.
func (s *Service) shown(h *held) Token {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := h.row.Token
	t.State, t.LastUsedAt = h.state, h.used
	if t.State == Live && s.expired(h.row) {
		t.State = Expired
	}
	return t
}

// List returns one page of the named tokens in the order in which they were made. cursor is
// "" for the first page. Errors: notify.ErrBadCursor.
func (s *Service) List(cursor string, limit int, newest bool) (out turns.List[Token], err error) {
	skip := 0
	if cursor != "" {
		if skip, err = strconv.Atoi(cursor); err != nil || skip < 0 {
			return out, fmt.Errorf("cursor %.40q: %w", cursor, notify.ErrBadCursor)
		}
	}
	s.mu.Lock()
	all := slices.Clone(s.all)
	s.mu.Unlock()
	// Rows are only appended, so a position stays valid.
	at := func(i int) *held { return all[i] }
	if newest {
		if cursor == "" {
			skip = len(all)
		}
		for i := min(skip, len(all)) - 1; i >= 0 && len(out.Rows) < limit; i-- {
			out.Rows = append(out.Rows, s.shown(at(i)))
			if out.Next = strconv.Itoa(i); i == 0 {
				out.Next = ""
			}
		}
		return out, nil
	}
	for i := skip; i < len(all) && len(out.Rows) < limit; i++ {
		out.Rows = append(out.Rows, s.shown(at(i)))
		if out.Next = strconv.Itoa(i + 1); i+1 == len(all) {
			out.Next = ""
		}
	}
	return out, nil
}

// newText makes the text of a token or a code: 256 random bits.
func newText(prefix string) (text string, hash [sha256.Size]byte, err error) {
	random := make([]byte, 32)
	if _, err := rand.Read(random); err != nil {
		return "", hash, fmt.Errorf("make a token: %w", err)
	}
	text = prefix + base64.RawURLEncoding.EncodeToString(random)
	return text, sha256.Sum256([]byte(text)), nil
}
