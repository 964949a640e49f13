package acp

import (
	"cmp"
	"path"

	"github.com/seed82539d15/holon/items"
)

// The content blocks that a prompt consists of. block is any of them.
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

// blocks returns a prompt's input as content blocks of the protocol. For an agent
// that takes no images, a text says that there was one. left counts these, so
// that the person learns it too.
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

// image returns the block for an image: its data, a link to it, or else a text that
// names it (ok is false).
func image(p items.Part, takes bool) (b block, ok bool) {
	switch {
	case p.Data != "" && takes:
		return imageBlock{Type: "image", Data: p.Data, MimeType: p.MimeType}, true
	case p.URL != "":
		p.URI = p.URL
		return link(p), true
	}
	return text(p.Words()), false
}

func link(p items.Part) block {
	return linkBlock{Type: "resource_link", URI: p.URI, Name: cmp.Or(p.Name, path.Base(p.URI)), MimeType: p.MimeType}
}
