package turns

import "context"

// Access is what a program that works on turns needs to call the server by itself,
// with the tools for agents or with methods. Its token is limited to the thread and
// those below it. It must not be written to any log.
type Access struct {
	URL    string `json:"url"`     // of the server
	MCPURL string `json:"mcp_url"` // of the tools, as a Model Context Protocol server over HTTP
	Token  string `json:"token"`
}

// Granter gives programs access. Its methods may be called from many goroutines.
type Granter interface {
	// GrantProcess gives access to one start of a process that runs turns of the
	// thread. revoke ends it, and may be called more than once. Errors: too many
	// tokens are live, or the store cannot be read.
	GrantProcess(ctx context.Context, threadID string) (a Access, revoke func(), err error)
	// GrantAttempt gives access to one attempt of a turn of the thread; otherwise it
	// is as GrantProcess. The same attempt is given the same token.
	GrantAttempt(ctx context.Context, threadID, turnID string, attempt int) (a Access, revoke func(), err error)
	// Command is the command that serves the tools on stdin and stdout to a program
	// that does not speak HTTP, and the variables that it needs besides a.
	Command() (argv []string, env map[string]string)
}

// Equipped is a Remote whose workers get access to the server with their claims.
type Equipped interface {
	Remote
	// Access gives it; nil = they get none.
	Access() Granter
}
