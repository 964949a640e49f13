package main

import (
	"context"
	"os"
)

func main() {
	g := &globals{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ()}
	os.Exit(execute(context.Background(), g, os.Args[1:]))
}
