// Package idle is the baseline of memory: a streaming handler of net/http that
// has sent its headers and waits.
package idle

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/seed82539d15/holon/internal/bench/baseline"
)

// Run serves GET /stream, and the heap profile, which collects garbage on
// request: the server has that too.
func Run(ctx context.Context, _ []string, in io.Reader, out io.Writer) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		if _, err := io.WriteString(w, "{}\n"); err != nil {
			return
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		<-r.Context().Done()
	})
	mux.Handle("GET /debug/pprof/heap", pprof.Handler("heap"))
	return baseline.Serve(ctx, in, out, func(l net.Listener) error { return http.Serve(l, mux) })
}
