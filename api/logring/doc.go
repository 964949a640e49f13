// Package logring keeps the newest lines of the server's own log in memory, so
// that holon/logStream can show and follow them. It is a zap core beside the
// one that writes to stderr. Nothing here is durable, and no line waits for a
// reader.
package logring
