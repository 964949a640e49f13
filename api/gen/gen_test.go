package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTheTypesOfTheGoClientAreUnchanged(t *testing.T) {
	files, err := wireFiles()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		path := filepath.Join("..", "..", "rpc", "client", "wire", name)
		if name == wireTable {
			path = filepath.Join("..", name)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the document makes: run go generate ./api", path)
		}
	}
}
