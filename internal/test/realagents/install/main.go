// Command install installs agents into the cache of the real agents' tests:
//
//	go run ./internal/test/realagents/install opencode codex
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/seed82539d15/holon/internal/test/realagents"
)

func main() {
	if err := install(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func install(names []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	agents, err := realagents.Named(names...)
	if err != nil {
		return err
	}
	cache, err := realagents.Cache()
	if err != nil {
		return err
	}
	for _, a := range agents {
		if a.Installed(cache) {
			fmt.Printf("%s %s is in %s\n", a.Name, a.Version, cache)
			continue
		}
		fmt.Printf("%s %s: installing into %s\n", a.Name, a.Version, cache)
		if err := a.Install(ctx, cache, os.Stderr); err != nil {
			return err
		}
	}
	return nil
}
