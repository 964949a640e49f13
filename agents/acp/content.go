package acp

import (
	"fmt"
	"path"

	"github.com/seed82539d15/holon/items"
)

// The content blocks of the protocol that a prompt is made of. block is any
// of them.
type (
	block     any
	textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	imageBlock struct {
		Type     string `json:"type"`
		Data     string `json:"data"`
		MimeType string `json:"mimeType"`
	}
	linkBlock struct {
		Type     string `json:"type"`
		URI      string `json:"uri"`
		Name     string `json:"name"`
		MimeType string `json:"mimeType,omitzero"`
	}
)

func text(s string) block { return textBlock{Type: "text", Text: s} }

// blocks is a prompt's input as the protocol has it. An agent that takes no
// images is told that there was one, and so is the person: left counts them.
func blocks(input []items.UserMessage, images bool) (out []block, left int) {
	for _, m := range input {
		for _, p := range m.Content {
			switch p.Type {
			case items.PartImage:
				b, ok := image(p, images)
				if !ok {
					left++
				}
				out = append(out, b)
			case items.PartResource:
				out = append(out, link(p))
			default:
				if p.Text != "" {
					out = append(out, text(p.Text))
				}
			}
		}
	}
	if len(out) == 0 {
		out = append(out, text(""))
	}
	return out, left
}

// image has the image, or where it is. Without its data an image cannot be
// sent as one.
func image(p items.Part, takes bool) (b block, ok bool) {
	switch {
	case p.Data != "" && takes:
		return imageBlock{Type: "image", Data: p.Data, MimeType: p.MimeType}, true
	case p.URL != "":
		p.URI = p.URL
		return link(p), true
	}
	return text(fmt.Sprintf("[Here was an image of type %s, which this agent does not take.]", p.MimeType)), false
}

func link(p items.Part) block {
	name := p.Name
	if name == "" {
		name = path.Base(p.URI)
	}
	return linkBlock{Type: "resource_link", URI: p.URI, Name: name, MimeType: p.MimeType}
}
