package transcript

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	typedID = regexp.MustCompile(`\b([a-z]+)_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
	// placeholder matches a placeholder in a line of the client.
	placeholder = regexp.MustCompile(`<[a-zA-Z]+(-\d+)?>`)
)

// hidden maps keys whose values differ from run to run or from release to
// release to their placeholders.
var hidden = map[string]string{
	"seq": "<seq>", "thread_seq": "<seq>", "latest_seq": "<seq>", "after_seq": "<seq>", "next_after_seq": "<seq>",
	"as_of_seq": "<seq>", "superseded_after_seq": "<seq>", "superseded_by_seq": "<seq>", "late_seq": "<seq>", "claimed_seq": "<seq>",
	"from_seq": "<seq>", "scanned_seq": "<seq>",
	"events_processed": "<seq>", "created_seq": "<seq>", "updated_seq": "<seq>", "latest_thread_seq": "<seq>", "elapsed_ms": "<ms>", "server": "<server>", "server_info": "<server>",
	"access": "<access>", "version": "<version>", "correlation_id": "<id>", "retry_after_ms": "<ms>",
}

// secrets are the keys whose values get placeholders by their order of
// appearance, like ids, because the client has to send them back.
var secrets = map[string]bool{"token": true}

// names gives ids placeholders by their order of appearance.
type names struct {
	of    map[string]string // id → placeholder
	value map[string]string // placeholder → id or marked seq
	count map[string]int
}

func newNames() *names {
	return &names{map[string]string{}, map[string]string{}, map[string]int{}}
}

// hide replaces the ids within a string.
func (n *names) hide(s string) string {
	return typedID.ReplaceAllStringFunc(s, func(id string) string {
		kind, _, _ := strings.Cut(id, "_")
		return n.name(kind, id)
	})
}

// name returns the placeholder of a value, the next one of its kind if it is new.
func (n *names) name(kind, value string) string {
	if n.of[value] == "" {
		n.count[kind]++
		n.of[value] = fmt.Sprintf("<%s-%d>", kind, n.count[kind])
		n.value[n.of[value]] = value
	}
	return n.of[value]
}

// show replaces the placeholders in a line of the client by their values.
func (n *names) show(line string) (string, error) {
	var missing error
	out := placeholder.ReplaceAllStringFunc(line, func(name string) string {
		v, ok := n.value[name]
		if !ok {
			missing = fmt.Errorf("%s has not been seen yet: %s", name, line)
		}
		return v
	})
	return out, missing
}

// normal rewrites a message of the server with placeholders, keeping the order
// of its keys.
func (n *names) normal(raw []byte) (string, error) {
	var b strings.Builder
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if err := n.rewrite(&b, dec); err != nil {
		return "", fmt.Errorf("%w in the line %q", err, raw)
	}
	return b.String(), nil
}

func (n *names) rewrite(b *strings.Builder, dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '{':
		return n.members(b, dec, '{', '}')
	case '[':
		return n.members(b, dec, '[', ']')
	case '"':
		return n.rewriteString(b, dec)
	default:
		v, err := dec.ReadValue()
		b.Write(v)
		return err
	}
}

// rewriteString keeps the bytes of a string without ids or times, so that the
// transcript shows the escapes of a returned id.
func (n *names) rewriteString(b *strings.Builder, dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	shown := n.hide(s)
	if instant.MatchString(s) {
		shown = "<time>"
	}
	if shown == s {
		b.Write(raw)
		return nil
	}
	quoted, err := json.Marshal(shown)
	b.Write(quoted)
	return err
}

// members rewrites an object or an array.
func (n *names) members(b *strings.Builder, dec *jsontext.Decoder, open, end byte) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	b.WriteByte(open)
	for i := 0; dec.PeekKind() != jsontext.Kind(end); i++ {
		if dec.PeekKind() == 0 {
			_, err := dec.ReadToken()
			return err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if open == '{' {
			tok, err := dec.ReadToken()
			if err != nil {
				return err
			}
			key := tok.String()
			quoted, err := json.Marshal(key)
			if err != nil {
				return err
			}
			b.Write(quoted)
			b.WriteByte(':')
			if instead := hidden[key]; instead != "" && dec.PeekKind() != 'n' {
				if err := dec.SkipValue(); err != nil {
					return err
				}
				b.WriteString(instead)
				continue
			}
			if secrets[key] && dec.PeekKind() == '"' {
				tok, err := dec.ReadToken()
				if err != nil {
					return err
				}
				b.WriteString(`"` + n.name(key, tok.String()) + `"`)
				continue
			}
		}
		if err := n.rewrite(b, dec); err != nil {
			return err
		}
	}
	b.WriteByte(end)
	_, err := dec.ReadToken()
	return err
}
