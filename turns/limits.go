package turns

import "time"

// Bounds that are not worth a setting. Metadata and texts are stored in every
// backup and sent to every stream.
const (
	MaxMetadataBytes = 64 << 10
	MaxTextBytes     = 4 << 10   // titles, reasons, progress messages
	MaxConfigBytes   = 256 << 10 // a thread's settings, as its agent tells them
	MaxInputMessages = 64
	MaxTimeout       = 30 * 24 * time.Hour
)

// MaxEndMessageBytes bounds the message that the end of a turn repeats, as
// JSON: enough for an answer, little beside a frame.
const MaxEndMessageBytes = 16 << 10
