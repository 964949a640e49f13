package acp

// Problem is why an agent cannot be used, for a person.
type Problem struct {
	// Kind is not_installed, not_logged_in, wrong_node_version, wrong_cwd,
	// wrong_protocol, timeout or failed.
	Kind    string
	Message string // what is wrong
	Hint    string // what to do, "" = unknown
}

// Error implements error: the message and the hint.
func (p *Problem) Error() string {
	if p.Hint == "" {
		return p.Message
	}
	return p.Message + ". " + p.Hint
}
