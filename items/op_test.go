package items

import (
	"errors"
	"fmt"
	"testing"
)

// The whole matrix: every status (and absence) × every kind × every verb × every
// wanted status is either refused or leads to the status that model allows.
func TestNextMatrix(t *testing.T) {
	statuses := append([]Status{Absent}, Statuses...)
	wants := append([]Status{"", "nonsense"}, Statuses...)
	for _, status := range statuses {
		for _, kind := range Kinds {
			for _, verb := range Verbs {
				for _, want := range wants {
					name := fmt.Sprintf("%s %s %s want %s", status, kind, verb, want)
					next, err := Next(status, kind, verb, want)
					allowed, expected := model(status, kind, verb, want)
					switch {
					case allowed && err != nil:
						t.Errorf("%s: refused: %v", name, err)
					case !allowed && err == nil:
						t.Errorf("%s: allowed, became %q", name, next)
					case !allowed && (!errors.Is(err, ErrRefused) || next != status):
						t.Errorf("%s: error %v, status %q", name, err, next)
					case allowed && next != expected:
						t.Errorf("%s: became %q, not %q", name, next, expected)
					}
				}
			}
		}
	}
}

// model states the rules of Next as docs/protocol.md, section 4, does.
func model(status Status, kind Kind, verb Verb, want Status) (bool, Status) {
	question := kind == KindPermissionRequest || kind == KindQuestion
	settable := want == StatusInProgress || want == StatusCompleted || want == StatusFailed ||
		want == StatusDeclined || want == StatusCancelled || want == StatusInterrupted
	open := status == StatusPending || status == StatusInProgress
	switch verb {
	case VerbCreate:
		switch {
		case status != Absent || kind == KindUserMessage:
			return false, ""
		case question:
			return want == "" || want == StatusPending, StatusPending
		case want == "":
			return true, StatusInProgress
		}
		return settable, want
	case VerbDelete:
		return status != Absent && status != StatusDeleted, StatusDeleted
	case VerbReopen:
		return kind == KindUserMessage && status == StatusInterrupted, StatusInProgress
	case VerbAppend:
		streams := kind == KindAgentMessage || kind == KindReasoning || kind == KindToolCall || kind == KindCommandExecution
		return open && streams, status
	case VerbUpdate:
		if !open || question {
			return false, ""
		}
		if want == "" {
			return true, status
		}
		return settable, want
	case VerbResolve:
		return status == StatusPending && question, want
	case VerbClose:
		if question {
			return open, StatusCancelled
		}
		return open, want
	}
	return false, ""
}
