// Package worktree owns what the server shows of directories that are in a git
// repository: the branch, and how many lines differ from the last commit.
//
// Nobody waits for it. Get returns what is known and asks for a refresh; Run does the
// refreshes, with a bound on processes, on their time and on directories. It changes
// nothing in a repository, and runs nothing that a repository names: git gets a
// configuration of our own instead of the repository's, so there are no filters, hooks,
// drivers or monitors (see command.go).
//
// cmd starts it; api asks it.
package worktree
