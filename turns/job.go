package turns

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// A job is a child turn with a name that is unique in its parent turn. A program that is
// tried again asks for its jobs by the same names, and gets those that have completed as they
// are. So a job is bound to the parent turn and not to one of its attempts: the end of an
// attempt neither interrupts nor detaches it.

// MaxJobWords is how many words the name of a job has at most.
const MaxJobWords = 8

var jobName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}(/[A-Za-z0-9_.-]{1,64}){0,7}$`)

// CheckJob checks the name of a job. The error is an *InvalidError.
func CheckJob(field, name string) error {
	if !jobName.MatchString(name) {
		return Invalid(field, ReasonInvalid, "must be 1 to %d words of 1 to 64 letters, digits and _.-, with / between them", MaxJobWords)
	}
	return nil
}

// JobThread returns the id of the child thread of a job: each has one of its own.
func JobThread(parentTurnID, job string) string {
	return threads.IDOf("job\x00" + parentTurnID + "\x00" + job)
}

// JobDigest identifies what a job was asked for, the first 16 bytes of a SHA-256: two requests
// that are the same as JSON values have the same digest.
func JobDigest(input []InputMessage, agent string) (string, error) {
	raw, err := json.Marshal(struct {
		Agent string         `json:"agent"`
		Input []InputMessage `json:"input"`
	}{agent, input}, json.Deterministic(true))
	asked := jsontext.Value(raw)
	if err == nil {
		err = asked.Canonicalize(jsontext.CanonicalizeRawInts(false)) // integers digit by digit
	}
	sum := sha256.Sum256(asked)
	return hex.EncodeToString(sum[:16]), err
}

// JobOf finds the job of a parent turn by its name. The turns that continue it after a
// rejection have its name too, and come after it in the order of their creation.
var JobOf = &ledger.Index{Table: Table, Name: "turns_jobs", Columns: []string{"parent_turn_id", "job", "continues"}}

// ReadJob reads the job of a parent turn; nil if there is none of the name.
func ReadJob(r ledger.Reader, parentTurnID, job string) (t *Turn, err error) {
	err = r.Scan(ledger.Range{Index: JobOf, Prefix: []any{parentTurnID, job, ""}}, func(v ledger.Values) (err error) {
		if t, err = Read(v); err != nil {
			return err
		}
		return ledger.ErrEnough
	})
	return t, err
}

// EndedBadly reports whether the turn has an accepted end that is no success: it failed, or was
// interrupted or blocked.
func (t *Turn) EndedBadly() bool {
	return t.State.Ended() && !t.InReview() && (t.State != Completed || t.WasReviewed() && t.Review.State == Blocked)
}

// AcceptedAt returns the time of the accepted end of a turn: of its verdict, if it was reviewed.
func (t *Turn) AcceptedAt() notify.Time {
	if t.WasReviewed() {
		return t.Review.ReviewedAt
	}
	return t.CompletedAt
}

// EndedBefore reports whether a job ended before the present attempt of its parent turn began.
// An attempt may begin, in the log, with the wait for it: what has ended in the wait came
// before, and only the time says so. What was interrupted because that turn had ended came before
// as well, however long its agent took to stop: the turn is tried again since.
func EndedBefore(r ledger.Reader, job *Turn) (bool, error) {
	if job.State == Interrupted && job.InterruptedBy == ByOwner && job.Reason == ParentEnded {
		return true, nil
	}
	parent, err := readTurn(r, job.Parent.TurnID)
	if parent == nil || err != nil {
		return false, err
	}
	v, err := r.Get(StepsByEpoch, parent.TurnID, "", int64(parent.Attempt))
	if v == nil || err != nil {
		return false, err
	}
	return job.AcceptedSeq < v.Int(stepSeq) || job.AcceptedAt().Before(parent.StartedAt.Time), nil
}

// JobConflictError says that a job of the name was asked for with other input, or of another
// agent. TurnID is that job.
type JobConflictError struct{ Job, TurnID string }

// Error implements error.
func (e *JobConflictError) Error() string {
	return "the job " + e.Job + " of this turn was asked for with other input, or of another agent: a job is the same work each time, so give other work another name"
}
