package tools

import (
	"crypto/sha256"
	"encoding/hex"
)

// ServerName is the name under which an agent gets the server of a thread. It
// differs between threads, because some agents show the servers of one session to
// all sessions of their process.
func ServerName(threadID string) string {
	sum := sha256.Sum256([]byte(threadID))
	return "holon_" + hex.EncodeToString(sum[:3])
}
