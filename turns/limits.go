package turns

import "time"

// Bounds that need no setting. Metadata and texts are in every backup and sent
// to every stream.
const (
	MaxMetadataBytes = 64 << 10
	MaxTextBytes     = 4 << 10   // titles, reasons, progress messages
	MaxConfigBytes   = 256 << 10 // a thread's settings, from its agent
	MaxInputMessages = 64
	MaxTimeout       = 30 * 24 * time.Hour
)

// MaxEndMessageBytes bounds the message that the end of a turn repeats, as JSON.
// It is enough for an answer, and small compared with a frame.
const MaxEndMessageBytes = 16 << 10
