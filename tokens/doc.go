// Package tokens gives clients credentials with a name: what each may do (its
// Role), for which threads, and until when. It owns their rows, their rules, the
// commands that change them, and the two events that say so.
//
// The text of a token exists only in the answer to the request that makes it; its row has the
// hash. A name is never used again, so that it means one credential in the whole log. A token
// ends when it is revoked, when it expires, and when the log is restored from a backup,
// because the backup may not know what was revoked since.
//
// A console token is for a page in a browser. It has a parent, a named token or the
// owner, and never more rights or a longer life than that; its name is random and its row
// is deleted some time after its end. A code makes one console token, once. Codes are in
// memory only.
//
// It knows no method and no transport: package api says which role a method needs, and
// rpc/admission takes the token from a request. cmd/holon/daemon connects all three.
package tokens
