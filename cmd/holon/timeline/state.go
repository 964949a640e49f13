package timeline

import (
	"fmt"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// Sign is the sign of a state.
type Sign struct{ l label }

// The signs.
var (
	SignNone        = Sign{labelOther}
	SignQueued      = Sign{label{"○", "o", "queued", styleDim, false}}
	SignRunning     = Sign{label{"▶", ">", "running", styleCyan, false}}
	SignWaiting     = Sign{label{"◔", ".", "waiting", styleCyan, false}}
	SignAsk         = Sign{label{"?", "?", "question", styleYellow, false}}
	SignCompleted   = Sign{labelDone}
	SignInterrupted = Sign{labelStop}
	SignEarly       = SignInterrupted // it has completed, but stopped early
	SignFailed      = Sign{labelFail}
)

// Signs writes signs as the terminal can show them. The zero Signs has no colours.
type Signs struct{ ASCII, Color bool }

// Of returns a sign, one column wide.
func (m Signs) Of(k Sign) string {
	sign := k.l.sign
	if m.ASCII {
		sign = k.l.ascii
	}
	return m.paint(k.l.style, sign)
}

// Dim returns a text of less weight.
func (m Signs) Dim(text string) string { return m.paint(styleDim, text) }

func (m Signs) paint(s style, text string) string {
	if !m.Color || text == "" || s == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// TurnState is what is said of a turn in one line.
type TurnState struct {
	State, Progress string
	WaitsFor        int       // child turns that it waits for
	RetryAt         time.Time // of the next attempt, while it waits for it
	Took            time.Duration
	Background      bool   // nothing waits for its end
	Why             string // it has ended so
	StopReason      string // why its agent stopped
	Review          string // pending, or the verdict about its end; "" = there is none
}

// Words puts it in a few words.
func (s TurnState) Words(now time.Time) (Sign, string) {
	why := ""
	if s.Why != "" {
		why = ": " + OneLine(s.Why)
	}
	behind := ""
	if s.Background {
		behind = ", background"
	}
	time := Elapsed(s.Took)
	completed, done := SignCompleted, "completed in "+time
	if s.State == "completed" && turns.StopsEarly(s.StopReason) {
		completed, done = SignEarly, "stopped early in "+time+": "+OneLine(s.StopReason)
	}
	switch {
	case s.Review == "pending" && s.State == "completed":
		return SignAsk, "in review, " + done
	case s.Review == "pending":
		return SignAsk, "in review, " + s.State + " in " + time
	case s.Review != "" && s.State == "completed":
		return signOfVerdict(s.Review), done + ", " + OneLine(s.Review)
	case s.Review != "" && s.State == "failed":
		return SignFailed, "failed after " + time + ", " + OneLine(s.Review) + why
	case s.State == "queued":
		return SignQueued, "queued" + behind
	case s.State == "completed":
		return completed, done
	case s.State == "interrupted" && s.Took == 0:
		return SignInterrupted, "interrupted" + why
	case s.State == "interrupted":
		return SignInterrupted, "interrupted after " + time + why
	case s.State == "failed":
		return SignFailed, "failed after " + time + why
	case s.WaitsFor > 0:
		return SignWaiting, "waiting for " + CountChildren(s.WaitsFor) + ", " + time + behind
	case s.RetryAt.After(now):
		return SignWaiting, "again in " + Elapsed(s.RetryAt.Sub(now)) + behind
	case s.Progress == "waiting":
		return SignAsk, "asks, " + time + behind
	case s.Progress != "" && s.Progress != "running":
		return SignRunning, OneLine(s.Progress) + ", " + time + behind
	}
	return SignRunning, "running, " + time + behind
}

func signOfVerdict(verdict string) Sign {
	switch verdict {
	case "approved":
		return SignCompleted
	case "blocked":
		return SignInterrupted
	}
	return SignFailed
}

// CountChildren returns "1 child" or "3 children".
func CountChildren(n int) string {
	if n == 1 {
		return "1 child"
	}
	return fmt.Sprintf("%d children", n)
}
