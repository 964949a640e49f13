package screen

// Retryable reports whether r runs a turn again that ended in a state: what is complete is
// not done twice.
func Retryable(state string) bool { return state == "failed" || state == "interrupted" }

// NothingToRetry says why r does nothing.
const NothingToRetry = "Nothing to retry: r is for a turn that failed, was interrupted or blocked."
