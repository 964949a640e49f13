package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	processes "github.com/seed82539d15/holon/agents/process"
)

// browserPatience is how long the program that starts a browser is watched for failing.
// Some stay until the browser is closed.
const browserPatience = 2 * time.Second

// findBrowser returns the program that opens an address on the screen of this person: the
// first one of BROWSER, or that of the desktop. The error says why there is none.
func findBrowser(c *console) ([]string, error) {
	for _, name := range []string{"SSH_CONNECTION", "SSH_TTY"} {
		if c.env(name) != "" {
			return nil, errors.New("you are here by ssh, so your browser is on another machine")
		}
	}
	first, _, _ := strings.Cut(c.env("BROWSER"), ":") // a list, as in PATH
	if words := strings.Fields(first); len(words) > 0 {
		return words, nil
	}
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	} else if c.env("DISPLAY") == "" && c.env("WAYLAND_DISPLAY") == "" {
		return nil, errors.New("there is no desktop here")
	}
	if _, err := exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("%s is not installed, and BROWSER names no other program", program)
	}
	return []string{program}, nil
}

// startBrowser starts the program with the address, which has no secret, as its argument;
// %s stands for it in a word of BROWSER. It outlives the command.
func startBrowser(ctx context.Context, c *console, browser []string, address string) error {
	args, substituted := []string{}, false
	for _, word := range browser[1:] {
		substituted = substituted || strings.Contains(word, "%s")
		args = append(args, strings.ReplaceAll(word, "%s", address))
	}
	if !substituted {
		args = append(args, address)
	}
	program := exec.Command(browser[0], args...)
	program.Env = processes.WithoutOwn(c.environ)
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it stays when the terminal is closed
	if err := program.Start(); err != nil {
		return fmt.Errorf("%s: %w", browser[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	timer := time.NewTimer(browserPatience)
	defer timer.Stop()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%s: %w", browser[0], err)
		}
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}
