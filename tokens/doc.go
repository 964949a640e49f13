// Package tokens makes the tokens of people, programs, consoles and agents, and knows which
// are live. The server's own token is not among them: package admission has it.
//
// A named token is for a person or a program: it has a Role, which says what it may do, and
// may be limited to threads and to a time. This package owns the rows of named tokens, their
// rules, the commands that change them, and the two events that say so. The text of a token
// exists only in the answer to the request that makes it; its row has the hash. A name is
// never used again, so that it means one token in the whole log. A token ends when it is
// revoked, when it expires, and when the log is restored from a backup, because the backup
// may not know what was revoked since.
//
// A console token is for a page in a browser. It has a parent, a named token or the
// owner, and never more rights or a longer life than that; its name is random and its row
// is deleted some time after its end. A code makes one console token, once. Codes are in
// memory only.
//
// The token of an agent has no role: the agent rules of package api say what it may do. It is
// of one thread and one start of the agent's process, or of one attempt of a turn, and ends
// when that does. AgentTokens makes such tokens and keeps the live ones in memory; none is
// in the log or in a file.
//
// It knows no method and no transport: package api says which role a method needs, and
// rpc/admission takes the token from a request. cmd/holon/daemon connects all three.
package tokens
