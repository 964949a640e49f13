// Command gen writes what is made from the tables of package api: docs/protocol.md,
// docs/openrpc.json, the types of the JavaScript client, and those of the Go client. Run it
// by go generate ./api.
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
	err := write(filepath.Join("..", "docs"))
	if err == nil {
		err = writeTypes(filepath.Join("..", "clients", "js", "types.d.ts"))
	}
	if err == nil {
		err = writeWire(filepath.Join("..", "rpc", "client", "wire"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func writeTypes(path string) error {
	types, err := api.TypeScript()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(types), 0o644); err != nil {
		return fmt.Errorf("write the types: %w", err)
	}
	return nil
}

func writeWire(folder string) error {
	files, err := wireFiles()
	if err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(folder, name)
		if name == wireTable {
			path = name
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return fmt.Errorf("write the types of the Go client: %w", err)
		}
	}
	return nil
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
