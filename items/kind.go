package items

import "slices"

// Kind is content.type: what an item is. The enumeration is open on the wire.
type Kind string

// The kinds of item (docs/protocol.md, section 4).
const (
	KindUserMessage       Kind = "user_message"
	KindAgentMessage      Kind = "agent_message"
	KindReasoning         Kind = "reasoning"
	KindPlan              Kind = "plan"
	KindToolCall          Kind = "tool_call"
	KindCommandExecution  Kind = "command_execution"
	KindFileChange        Kind = "file_change"
	KindPermissionRequest Kind = "permission_request"
	KindQuestion          Kind = "question"
	KindUsage             Kind = "usage"
	KindNotice            Kind = "notice"
	KindError             Kind = "error"
	KindExtension         Kind = "extension"
)

// Kinds lists all kinds, in the order of the documentation.
var Kinds = []Kind{
	KindUserMessage, KindAgentMessage, KindReasoning, KindPlan, KindToolCall,
	KindCommandExecution, KindFileChange, KindPermissionRequest, KindQuestion,
	KindUsage, KindNotice, KindError, KindExtension,
}

// IsQuestion reports whether items of this kind wait for a person.
func (k Kind) IsQuestion() bool { return slices.Contains(Questions, k) }

// Questions are the kinds that wait for a person.
var Questions = []Kind{KindPermissionRequest, KindQuestion}

// Streams reports whether the kind has text that grows by item/delta.
func (k Kind) Streams() bool {
	switch k {
	case KindAgentMessage, KindReasoning, KindToolCall, KindCommandExecution:
		return true
	}
	return false
}

// Status is where an item is in its life.
type Status string

// The statuses of an item. StatusPending is for questions only.
const (
	StatusPending     Status = "pending"
	StatusInProgress  Status = "in_progress"
	StatusCompleted   Status = "completed"
	StatusFailed      Status = "failed"
	StatusDeclined    Status = "declined"
	StatusCancelled   Status = "cancelled"
	StatusInterrupted Status = "interrupted"
	StatusDeleted     Status = "deleted"
)

// Statuses lists all statuses.
var Statuses = []Status{
	StatusPending, StatusInProgress, StatusCompleted, StatusFailed,
	StatusDeclined, StatusCancelled, StatusInterrupted, StatusDeleted,
}

// Open reports whether the item can still change.
func (s Status) Open() bool { return s == StatusPending || s == StatusInProgress }
