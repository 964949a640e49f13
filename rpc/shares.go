package rpc

import (
	"context"
	"sync"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/notify"
)

// shares counts something of each named token, so that one of them leaves room for the
// others and for the owner, who has no share.
type shares struct {
	most int // of one token

	mu sync.Mutex
	of map[string]int
}

// add counts n for a token, unless its share is used up. An unused share takes any n.
func (s *shares) add(token string, n int) bool {
	if token == "" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if has := s.of[token]; has > 0 && has+n > s.most {
		return false
	}
	s.of[token] += n
	return true
}

func (s *shares) remove(token string, n int) {
	if token == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[token] -= n; s.of[token] == 0 {
		delete(s.of, token)
	}
}

// bounded counts a large answer of a read in the share of its token until it was written:
// clients that do not read hold no more than that. Above it this token alone gets an error
// instead. The answer of a change is never replaced: its client would repeat it. Those are
// small, or wait for a turn, which has a share of its own.
func (s *Server) bounded(ctx context.Context, r api.Reply, m *api.Method) api.Reply {
	token, n := api.ShareOf(ctx), len(r.Result)
	if token == "" || n <= notify.ChunkBytes || r.Err != nil || m == nil || m.Change {
		return r
	}
	if !s.unread.add(token, n) {
		callSent(r.Sent, false)
		return api.Reply{Err: usedUp("the answers that clients of the token %s have not read use up its %d bytes (max_unread_answer_bytes_per_token): read them, and ask again", token, s.unread.most)}
	}
	r.Sent = both(r.Sent, func(bool) { s.unread.remove(token, n) })
	return r
}
