package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// secretFiles are the flags of a command that takes secrets. There is no flag for a
// secret itself: every user of the machine can read the arguments of a command, and
// the shell keeps them in its history.
type secretFiles struct {
	secret, token, webhookURL, topic string
}

func (f *secretFiles) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.token, "token-file", "", "a file that has the token of ntfy, slack or github; - reads it from stdin. The one for the server goes before the command: holon --token-file FILE bridge …")
	flags.StringVar(&f.secret, "secret-file", "", "a file that has the secret of webhook, whsec_… (default: the server makes one); - reads it from stdin")
	flags.StringVar(&f.webhookURL, "webhook-url-file", "", "a file that has the URL of an incoming webhook, for slack instead of a token; - reads it from stdin")
	flags.StringVar(&f.topic, "topic-file", "", "a file that has the topic of ntfy (default: a new random one); - reads it from stdin")
}

// read reads the files that are named into params.
func (f *secretFiles) read(c *console, params map[string]any) error {
	given := []struct{ member, flag, path string }{
		{"secret", "--secret-file", f.secret}, {"token", "--token-file", f.token},
		{"webhook_url", "--webhook-url-file", f.webhookURL}, {"topic", "--topic-file", f.topic},
	}
	stdin := ""
	for _, s := range given {
		if s.path == "-" && stdin != "" {
			return usagef("%s and %s cannot both read stdin", stdin, s.flag)
		}
		if s.path == "-" {
			stdin = s.flag
		}
	}
	for _, s := range given {
		if s.path == "" {
			continue
		}
		secret, err := secretIn(c, s.path)
		if err != nil {
			return fmt.Errorf("%s: %w", s.flag, err)
		}
		if secret == "" {
			return usagef("%s: nothing is in there", s.flag)
		}
		params[s.member] = secret
	}
	return nil
}

// maxSecretFile bounds what is read of a secret's file, in case it is another file.
const maxSecretFile = 64 << 10

// secretIn reads a secret from a file, or from stdin for "-".
func secretIn(c *console, path string) (string, error) {
	from := c.in
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer file.Close()
		from = file
	}
	raw, err := io.ReadAll(io.LimitReader(from, maxSecretFile))
	return strings.TrimSpace(string(raw)), err
}

// askSecret asks for a secret at the terminal, which does not show it. ok is false if
// stdin is no terminal.
func askSecret(ctx context.Context, c *console, what string) (secret string, ok bool, err error) {
	file, isFile := c.in.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return "", false, nil
	}
	fd := int(file.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", true, err
	}
	fmt.Fprintf(c.err, "%s (not shown): ", what)
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		fmt.Fprintln(c.err)
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", true, fmt.Errorf("read from the terminal: %w", l.err)
		}
		return strings.TrimSpace(string(l.text)), true, nil
	case <-ctx.Done(): // the reader ends with the process
		fmt.Fprintln(c.err)
		_ = term.Restore(fd, before)
		return "", true, context.Cause(ctx)
	}
}
