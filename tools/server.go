package tools

import (
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
)

// ProgressEvery is how often a call that waits says so: agents drop calls that are
// silent for 60 seconds.
const ProgressEvery = 10 * time.Second

// Config is what a Server needs. Caller is required.
type Config struct {
	Caller   Caller
	Version  string
	Log      *zap.Logger   // nil: nothing is logged
	Progress time.Duration // 0 = ProgressEvery
}

// Server serves the tools, over HTTP and over a pair of streams. New starts
// nothing. It may be used from many goroutines. Every request must be of an agent
// (api.AgentOf).
type Server struct {
	Config
	mcp     *mcp.Server
	http    http.Handler
	waiting calls
}

// New makes a server.
func New(c Config) *Server {
	s := &Server{Config: c}
	if s.Log == nil {
		s.Log = zap.NewNop()
	}
	if s.Progress == 0 {
		s.Progress = ProgressEvery
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "holon", Title: "Holon", Version: c.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		// Set, not inferred: with listChanged or logging a client holds a stream open.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	s.addWork()
	s.addInbox()
	s.addGuide()
	s.http = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		MaxRequestBodyBytes:          -1,   // the caller of ServeHTTP bounds the body
		DisableLocalhostProtection:   true, // the admission gate knows which hosts are allowed
		PropagateRequestCancellation: true,
	})
	return s
}
