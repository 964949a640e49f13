package conformance

import "time"

// Outcome says how a check ended.
type Outcome string

const (
	// Pass means that the promise held.
	Pass Outcome = "pass"
	// Fail means that the server broke the promise; the evidence shows how.
	Fail Outcome = "fail"
	// Skip means that the promise could not be tested here; the message says why.
	Skip Outcome = "skip"
	// Error means that the check itself or the connection failed.
	Error Outcome = "error"
)

// Result is the outcome of one check.
type Result struct {
	ID       string  `json:"id"`
	Sentence string  `json:"sentence"`
	Source   string  `json:"source"`
	Outcome  Outcome `json:"outcome"`
	// Message says what was wrong or why the check was skipped; empty on pass.
	Message string `json:"message,omitempty"`
	// Evidence is the newest sent and received lines, long ones cut; kept for
	// failures and errors only.
	Evidence []string `json:"evidence,omitempty"`
	Millis   int64    `json:"duration_ms"`
}

// Report is the result of a run. It belongs to the caller.
type Report struct {
	URL string `json:"url"`
	// Server and Protocol come from the answer to initialize; empty without an
	// answer.
	Server    string    `json:"server,omitempty"`
	Protocol  string    `json:"protocol_version,omitempty"`
	StartedAt time.Time `json:"started_at"`
	Millis    int64     `json:"duration_ms"`
	Passed    int       `json:"passed"`
	Failures  int       `json:"failed"`
	Skipped   int       `json:"skipped"`
	Errors    int       `json:"errors"`
	Results   []Result  `json:"results"`
}

// Failed reports whether any check failed or ended with an error. Skipped checks
// do not count: they are listed with their reason.
func (r *Report) Failed() bool { return r.Failures+r.Errors > 0 }

// IDs returns the ids of the checks that ended with the outcome, in the order
// of the report.
func (r *Report) IDs(outcome Outcome) []string {
	var ids []string
	for _, res := range r.Results {
		if res.Outcome == outcome {
			ids = append(ids, res.ID)
		}
	}
	return ids
}

// count fills in the totals from the results.
func (r *Report) count() {
	r.Passed, r.Failures, r.Skipped, r.Errors = 0, 0, 0, 0
	for _, res := range r.Results {
		switch res.Outcome {
		case Pass:
			r.Passed++
		case Fail:
			r.Failures++
		case Skip:
			r.Skipped++
		default:
			r.Errors++
		}
	}
}
