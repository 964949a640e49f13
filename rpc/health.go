package rpc

import (
	"io"
	"net/http"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/api"
)

// serveHealth answers that the process runs.
func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	plain(w, http.StatusOK, "ok\n")
}

// serveReady answers whether the server accepts changes. It needs no token, so
// it answers with the kind of the reason only; the log has the rest.
func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	if s.isClosing() || s.cfg.Engine.State() == "draining" {
		plain(w, http.StatusServiceUnavailable, "draining\n")
		return
	}
	if s.cfg.Ready != nil {
		if err := s.cfg.Ready(r.Context()); err != nil {
			s.log.Warn("not ready", zap.Error(err))
			plain(w, http.StatusServiceUnavailable, "unable to commit: "+string(api.KindOf(err))+"\n")
			return
		}
	}
	plain(w, http.StatusOK, "ready\n")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // an error means that the client has disconnected
}
