package exec

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

func TestThePromptOfADirectoryThatIsNotUTF8IsRefused(t *testing.T) {
	c := Config{Command: []string{"true"}, Input: InputJSON}
	if line, err := c.stdin(&turns.Prompt{}, "/src/caf\xe9"); err == nil || !strings.Contains(err.Error(), `caf\xe9`) {
		t.Errorf("%s, %v", line, err)
	}
}

// A command that reads text gets in words what is not text, and the person is told.
func TestWhatIsNotTextIsSaidInWords(t *testing.T) {
	image := items.Part{Type: items.PartImage, MimeType: "image/png", Data: "iVBORw0KGgo="}
	linked := items.Part{Type: items.PartImage, MimeType: "image/png", URL: "https://example.com/x.png"}
	link := items.Part{Type: items.PartResource, URI: "file:///tmp/x", Name: "x"}
	text := items.Part{Type: items.PartText, Text: "what is this?"}
	const wasImage, wasLink = "[Here was an image of type image/png, which this agent does not take.]\n", "[Here was a link to x: file:///tmp/x]\n"
	for name, c := range map[string]struct {
		parts        []items.Part
		want, notice string
	}{
		"text":            {[]items.Part{text}, "what is this?\n", ""},
		"text and image":  {[]items.Part{text, image}, "what is this?\n" + wasImage, "The agent takes no images: it was told of them instead."},
		"an image alone":  {[]items.Part{image}, wasImage, "The agent takes no images: it was told of them instead."},
		"a link alone":    {[]items.Part{link}, wasLink, "The agent takes no links: it was told of them instead."},
		"a link, no name": {[]items.Part{{Type: items.PartResource, URI: "file:///y"}}, "[Here was a link: file:///y]\n", "The agent takes no links: it was told of them instead."},
		"all of them":     {[]items.Part{link, linked, text, image}, wasLink + "[Here was an image, which this agent does not take: https://example.com/x.png]\nwhat is this?\n" + wasImage, "The agent takes no images and no links: it was told of them instead."},
	} {
		p := turns.Prompt{Input: []items.UserMessage{{Type: items.KindUserMessage, Role: "user", Content: c.parts}}}
		sink, out := prompt(t, shell(t, "cat"), p)
		if got := sink.Texts(items.KindAgentMessage); out.State != turns.Completed || len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %+v, said %q", name, out, got)
		}
		if got := strings.Join(notices(t, sink), "|"); got != c.notice {
			t.Errorf("%s: notices %q", name, got)
		}
		if made := sink.Items(); c.notice != "" && made[0].Kind != items.KindNotice {
			t.Errorf("%s: the notice comes after the output", name)
		}
	}
	asJSON := Config{Command: []string{"true"}, Input: InputJSON}
	if which := asJSON.notTaken([]items.UserMessage{{Content: []items.Part{image, link}}}); which != nil {
		t.Errorf("an agent that gets them whole is said to take no %v", which)
	}
}
