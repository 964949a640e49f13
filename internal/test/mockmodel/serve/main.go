// Command serve runs the mock model on 127.0.0.1 until it is interrupted, for
// trying an agent by hand:
//
//	go run ./internal/test/mockmodel/serve -port 8791
//
// The first line on stdout is its URL. Each request is logged as a line on
// stderr.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/seed82539d15/holon/internal/test/mockmodel"
)

func main() {
	port := flag.Int("port", 0, "port on 127.0.0.1, 0 = a free one")
	flag.Parse()
	if err := serve(*port); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(port int) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	model, err := mockmodel.Start(mockmodel.Options{Port: port, Log: os.Stderr})
	if err != nil {
		return err
	}
	fmt.Println(model.URL())
	<-ctx.Done()
	return model.Close()
}
