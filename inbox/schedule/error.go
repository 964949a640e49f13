package schedule

// Reasons of an Error.
const (
	Required   = "required"
	Invalid    = "invalid"
	OutOfRange = "out_of_range"
)

// Error says which member of a Spec was refused, and why.
type Error struct {
	// Field is at, every_seconds, cron or timezone.
	Field string
	// Reason is one of the constants above.
	Reason string
	// Text says what is wrong, for a person; it follows the name of the field.
	Text string
}

func (e *Error) Error() string {
	if e.Reason == Required {
		return e.Text
	}
	return e.Field + " " + e.Text
}
