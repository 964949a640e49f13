package main

import (
	"context"
	"os"
)

func main() {
	g := &globals{console: console{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ()}, program: os.Args[0]}
	os.Exit(execute(context.Background(), g, os.Args[1:]))
}
