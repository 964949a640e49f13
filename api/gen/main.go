// Command gen writes the documents that are made from the tables of package
// api: docs/protocol.md and docs/openrpc.json. Run it by go generate ./api.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed82539d15/holon/api"
)

func main() {
	if err := write(filepath.Join("..", "docs")); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(docs string) error {
	page, err := api.Protocol()
	if err != nil {
		return err
	}
	document, err := api.Document()
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, document, "", "  "); err != nil {
		return fmt.Errorf("indent the document: %w", err)
	}
	indented.WriteByte('\n')
	if err := os.MkdirAll(docs, 0o755); err != nil {
		return fmt.Errorf("make the folder of documents: %w", err)
	}
	if err := os.WriteFile(filepath.Join(docs, "protocol.md"), []byte(page), 0o644); err != nil {
		return fmt.Errorf("write the protocol: %w", err)
	}
	if err := os.WriteFile(filepath.Join(docs, "openrpc.json"), indented.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	return nil
}
