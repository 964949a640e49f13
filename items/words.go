package items

import (
	"fmt"
	"strings"
)

// Words returns the part as text, for an agent that does not take parts of its type.
func (p Part) Words() string {
	switch {
	case p.Type == PartImage && p.URL != "":
		return fmt.Sprintf("[Here was an image, which this agent does not take: %s]", p.URL)
	case p.Type == PartImage:
		return fmt.Sprintf("[Here was an image of type %s, which this agent does not take.]", p.MimeType)
	case p.Type == PartResource && p.Name != "":
		return fmt.Sprintf("[Here was a link to %s: %s]", p.Name, p.URI)
	case p.Type == PartResource:
		return fmt.Sprintf("[Here was a link: %s]", p.URI)
	}
	return p.Text
}

// NotTaken returns the notice for the person whose prompt had parts that the agent got in
// words; which names them, such as "images".
func NotTaken(which ...string) Notice {
	return NewNotice("warning", "The agent takes no "+strings.Join(which, " and no ")+": it was told of them instead.")
}
