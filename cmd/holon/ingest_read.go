package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/lines"
	"github.com/seed82539d15/holon/internal/mend"
	"github.com/seed82539d15/holon/internal/strict"
	"github.com/seed82539d15/holon/turns"
)

// maxItemLine is the longest line of an item: a payload of the most bytes, room
// for white space, and the other members.
const maxItemLine = 1 << 20

// readItems passes on the items of r until it ends, a line is no item, or ctx
// ends. It cannot be stopped while r blocks.
func readItems(ctx context.Context, r io.Reader, source string, items chan<- numbered) error {
	reader := lines.New(r, lines.Config{Max: maxItemLine, Buffer: 64 << 10})
	for {
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var item inbox.Item
		if err == nil {
			item, err = readItem(line, source)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", reader.Number(), err)
		}
		select {
		case items <- numbered{item, reader.Number()}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// readItem reads an item and checks what the server would check, so that a wrong
// line keeps no other from being stored.
func readItem(line []byte, source string) (item inbox.Item, err error) {
	mended, _ := mend.JSON(line)
	if err := strict.Unmarshal(bytes.Clone(mended), &item); err != nil {
		return item, fmt.Errorf("it is not an item: %w", err)
	}
	if !bytes.Equal(mended, line) && strings.Contains(item.NativeID, mend.Replacement) {
		return item, errors.New("native_id is not UTF-8, and an identity is not changed: it could be that of another item")
	}
	switch item.Source {
	case "", source:
		item.Source = source
	default:
		return item, fmt.Errorf("its source is %q, not %q", item.Source, source)
	}
	if string(item.Payload) == "null" {
		item.Payload = nil
	}
	var invalid *turns.InvalidError
	if err := item.Check("item"); errors.As(err, &invalid) {
		return item, fmt.Errorf("%s %s", strings.TrimPrefix(invalid.Field, "item."), invalid.Text)
	} else if err != nil {
		return item, err
	}
	return item, nil
}
