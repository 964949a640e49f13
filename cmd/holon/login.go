package main

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/profiles"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

// loginPatience bounds the wait for a server, without the time that a person takes.
const loginPatience = 30 * time.Second

// sourceLogin is client.Endpoint.Source of a login.
const sourceLogin = "the argument"

func newLoginCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "login URL",
		Short: "Save the token for a server, such as one on another machine",
		Long: `Asks for the token, checks it at the server and saves it for this URL only. From
then on --url URL and HOLON_URL=URL need no token. It is saved in a file that only
you can read. The token of a server is in the file "token" of its data directory.

  holon login https://holon.example.com
  holon login https://10.0.0.5:8443 --ca ca.pem         with a certificate of your own
  holon login https://holon.example.com --token-file -  reads the token from stdin

The certificates of --ca are saved too. The token goes over https, to this machine
(such as the end of an ssh tunnel) or to a unix socket, never over plain http to
another machine.`,
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			format, err := g.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			l := &login{g: g}
			p, err := l.run(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return l.print(p, format)
		}),
	}
}

// login is one run of holon login.
type login struct {
	g   *globals
	who *api.TokenInfo // nil: the server's own token
}

// run checks a token at a server and keeps it. Nothing is kept if it fails.
func (l *login) run(ctx context.Context, raw string) (p profiles.Profile, err error) {
	if l.g.url != "" {
		return p, usagef("give the URL once: holon login URL")
	}
	if p.URL, err = client.NormalURL(raw); err != nil {
		return p, &usageError{err: err}
	}
	if err := client.MayGetToken(p.URL); err != nil {
		return p, err
	}
	dir, err := configDir(&l.g.console)
	if err != nil {
		return p, err
	}
	store := profiles.In(dir)
	if p.CA, err = l.keptCA(store, p.URL); err != nil {
		return p, err
	}
	endpoint := client.Endpoint{URL: p.URL, CA: []byte(p.CA), Source: sourceLogin}
	// A person is asked for nothing that the server could not get.
	if err := l.findServer(ctx, endpoint); err != nil {
		return p, err
	}
	if p.Token, err = l.askToken(ctx, p.URL); err != nil {
		return p, err
	}
	endpoint.Token = p.Token
	if err := l.tryToken(ctx, endpoint); err != nil {
		return p, err
	}
	p.SavedAt = time.Now().UTC().Truncate(time.Second)
	return p, store.Save(p)
}

// keptCA returns the certificates of --ca, or else those that an earlier login has
// kept. Other blocks of the file, such as a key, are left out.
func (l *login) keptCA(store *profiles.Store, url string) (string, error) {
	text, err := readCA(l.g.caFile)
	if err != nil {
		return "", err
	}
	if text == nil {
		before, err := store.Load(url)
		if err != nil {
			return "", nil // there is none, or one that is replaced
		}
		return before.CA, nil
	}
	all, err := client.Certificates(text)
	var kept []byte
	for _, certificate := range all {
		kept = append(kept, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})...)
	}
	return string(kept), err
}

// ask calls what one request needs of the server of a login.
func (l *login) ask(ctx context.Context, endpoint client.Endpoint, request func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, loginPatience, fmt.Errorf("%s has not answered within %s", endpoint.URL, loginPatience))
	defer cancel()
	c := client.New(func() (client.Endpoint, error) { return endpoint, nil })
	defer c.Close()
	l.g.server = c
	return request(ctx, c)
}

// findServer returns nil if a server of Holon is at the endpoint, ready or not.
func (l *login) findServer(ctx context.Context, endpoint client.Endpoint) error {
	err := l.ask(ctx, endpoint, func(ctx context.Context, c *client.Client) error { return c.Ready(ctx) })
	var answered *client.Error
	if !errors.As(err, &answered) {
		return err
	}
	switch status := answered.HTTPStatus; {
	case status >= 300 && status < 400, status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return &hintedError{fmt.Errorf("%s is not the address of a server of Holon: it answers HTTP %d", endpoint.URL, status),
			"Give the address that the server, or the proxy in front of it, has; a redirect is not followed."}
	}
	return nil
}

// askToken reads the token from --token-file, from stdin, or at the terminal, which
// does not show it.
func (l *login) askToken(ctx context.Context, url string) (string, error) {
	if l.g.tokenFile != "" && l.g.tokenFile != "-" {
		return tokenIn(l.g.tokenFile)
	}
	if l.g.tokenFile == "" {
		token, asked, err := askSecret(ctx, &l.g.console, "Token of "+url)
		switch {
		case err != nil:
			return "", err
		case asked:
			return checkedToken("the terminal", token)
		}
	}
	text, err := io.ReadAll(io.LimitReader(l.g.in, maxTokenFile+1))
	if err != nil {
		return "", fmt.Errorf("read the token from stdin: %w", err)
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", usagef("which token? Give --token-file FILE, or the token on stdin or at a terminal")
	}
	return checkedToken("stdin", string(text))
}

// tryToken asks the server whose token it is.
func (l *login) tryToken(ctx context.Context, endpoint client.Endpoint) error {
	var who api.InitializeResult
	err := l.ask(ctx, endpoint, func(ctx context.Context, c *client.Client) error { return initialize(ctx, c, &who) })
	switch {
	case client.IsKind(err, client.KindUnauthorized):
		return &hintedError{fmt.Errorf("%s does not accept this token, so nothing was saved", endpoint.URL),
			"The token of a server is in the file token of its data directory; holon token create makes others there."}
	case err != nil:
		return fmt.Errorf("nothing was saved: %w", err)
	case who.Agent != nil:
		return &hintedError{errors.New("this is the token of an agent, so nothing was saved"),
			"It ends with the process or attempt that it was given to. Use a token of the server."}
	case who.Token != nil && who.Token.Code:
		return &hintedError{errors.New("this is a code for a browser, so nothing was saved"),
			"It works once, for a minute. Use a token of the server."}
	}
	l.who = who.Token
	return nil
}

// print prints what was kept.
func (l *login) print(p profiles.Profile, format string) error {
	con := &l.g.console
	row, err := newProfileRow(p)
	if err != nil {
		return err
	}
	if format != "text" {
		return con.printJSON(row, format == "json")
	}
	text := "logged in to " + p.URL
	if l.who != nil {
		text += fmt.Sprintf(" as %s (%s)", l.who.Name, l.who.Role)
	}
	if row.TokenEnd != "" {
		text += ", with the token that ends in " + row.TokenEnd
	}
	if len(row.CA) > 0 {
		text += ", trusting " + row.authorities()
	}
	if _, err := fmt.Fprintln(con.out, timeline.OneLine(text)); err != nil {
		return err
	}
	con.note("Use it with: holon --url %s status", p.URL)
	return nil
}
