package items

// RawOf returns what the agent sent about the item in its own protocol; nil if
// that is not kept.
func RawOf(c Content) []Raw {
	switch c := c.(type) {
	case AgentMessage:
		return c.Raw
	case Reasoning:
		return c.Raw
	case Plan:
		return c.Raw
	case ToolCall:
		return c.Raw
	case CommandExecution:
		return c.Raw
	case FileChange:
		return c.Raw
	}
	return nil
}

// WithoutRaw returns content without what RawOf returns.
func WithoutRaw(c Content) Content {
	switch c := c.(type) {
	case AgentMessage:
		c.Raw = nil
		return c
	case Reasoning:
		c.Raw = nil
		return c
	case Plan:
		c.Raw = nil
		return c
	case ToolCall:
		c.Raw = nil
		return c
	case CommandExecution:
		c.Raw = nil
		return c
	case FileChange:
		c.Raw = nil
		return c
	}
	return c
}
