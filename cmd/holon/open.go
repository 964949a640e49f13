package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/tokens"
)

// openPatience bounds how long the server is asked whether it lets a browser in.
const openPatience = 5 * time.Second

func newOpenCommand(g *globals) *cobra.Command {
	o := &opening{}
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Open the console in a browser, here or on a phone",
		Long: `Opens the console in your browser, if the server runs on this machine and needs no
token from you; without a desktop it prints the plain address, which does everything.
Otherwise it prints an address with a code: the first browser that uses it within
60 seconds is signed in for 12 hours.

  holon open
  holon open --qr --public-url https://holon.example.com --role respond   for a phone
  holon open --print --thread builds                 an address for somebody else

A code gives the role of --role, and never more than your own. Without --role the
browser may only read.
To sign out everywhere: holon call signin/delete '{"all":true}'`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			if err := o.check(g); err != nil {
				return err
			}
			c, at, err := o.connect(g, cmd)
			if err != nil {
				return err
			}
			defer c.close()
			var who api.InitializeResult
			if err := initialize(cmd.Context(), c.client, &who); err != nil {
				return err
			}
			if !who.Capabilities.Console {
				return errConsoleOff
			}
			if o.forCode(cmd) {
				return o.printCode(c, at)
			}
			if why := o.needsCode(c, at, who); why != nil {
				c.note("No browser was started: %s.", timeline.OneLine(why.Error()))
				return o.printCode(c, at)
			}
			browser, why := findBrowser(c.console)
			if why == nil {
				why = startBrowser(c.ctx, c.console, browser, at+"/")
			}
			if why != nil {
				c.note("No browser was started: %s.", timeline.OneLine(why.Error()))
				if o.link != "" { // people elsewhere come by that
					return o.printCode(c, at)
				}
				return o.printPlain(c, at)
			}
			return o.printStarted(c, at)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.role, "role", "", "what the browser may do: read (default), respond, work or operate")
	flags.StringArrayVar(&o.limitedTo, "thread", nil, "only this thread and those below it; may be repeated")
	flags.StringVar(&o.name, "name", "", "what the sign-in is called in events and lists, such as phone (default console)")
	flags.StringVar(&o.publicURL, "public-url", "", "the address by which the browser reaches the server, such as that of a proxy (default: public_url of the server)")
	flags.BoolVar(&o.qr, "qr", false, "also draw the address as a QR code, for the camera of a phone")
	flags.BoolVar(&o.print, "print", false, "print an address with a code, and start no browser")
	// It fails only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{"read", "respond", "work", "operate"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// errConsoleOff says what to do where no browser gets in, whatever its code.
var errConsoleOff = &hintedError{errors.New("the console of this server is off"),
	"Restart the server with it: without --console=false, HOLON_CONSOLE=false and console = false (holon config shows which it is).\nIn the terminal, holon shows the same."}

// opening is one run of holon open.
type opening struct {
	role, name, publicURL string
	limitedTo             []string
	qr, print             bool
	// link is the public address: as the flag says, or the record of the server that is
	// asked; "" = neither does.
	link string
}

// check returns what is wrong with the flags.
func (o *opening) check(g *globals) error {
	if o.role != "" && !slices.Contains(tokens.Roles, tokens.Role(o.role)) {
		return usagef("--role: %s (holon token --help explains them)", nearest.NoneOf(tokens.Role(o.role), tokens.Roles))
	}
	if o.qr && g.output != "" && g.output != "text" {
		return usagef("--qr draws on a terminal: leave -o %s out", g.output)
	}
	if o.publicURL == "" {
		return nil
	}
	at, err := config.NormalPublicURL(o.publicURL)
	if err != nil {
		return usagef("--public-url: %w", err)
	}
	o.publicURL = at
	return nil
}

// forCode reports whether the flags ask for an address with a code.
func (o *opening) forCode(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"role", "thread", "name", "public-url", "qr", "print"}, cmd.Flags().Changed)
}

// connect finds the server, and the address by which a browser reaches it. The commands
// prefer a unix socket, which no browser opens: then another address of server.json counts.
func (o *opening) connect(g *globals, cmd *cobra.Command) (c *caller, at string, err error) {
	if c, err = g.caller(cmd); err != nil {
		return nil, "", err
	}
	endpoint, err := c.client.Endpoint()
	if err != nil {
		return nil, "", err
	}
	data := g.loaded.Data
	record := recordOf(data, endpoint.URL)
	if o.link = o.publicURL; o.link == "" {
		o.link, _ = config.NormalPublicURL(record.PublicURL) // "" = it says none
	}
	switch at = endpoint.URL; {
	case o.publicURL != "":
		return c, o.publicURL, nil
	case !strings.HasPrefix(at, "unix:"):
		at, err = client.NormalURL(at)
		return c, at, err
	}
	if at = plainAddress(record); at == "" && o.link != "" {
		return c, o.link, nil
	}
	if at == "" {
		c.close()
		return nil, "", &hintedError{fmt.Errorf("the server listens on %s, and no browser opens a unix socket", endpoint.URL),
			"Start it with another address too: holon serve --listen " + endpoint.URL + " --listen 127.0.0.1:8080\nOr name that of a proxy in front of it: holon open --public-url https://HOST"}
	}
	c.close()
	if c.client, err = g.connectTo(client.At(at, client.ServerFile(data), data, false)); err != nil {
		return nil, "", err
	}
	return c, at, nil
}

// recordOf returns what a data directory says about the server at a URL; the zero value if that
// is another server.
func recordOf(data, url string) client.ServerRecord {
	record, err := client.ReadServerFile(data)
	if err != nil || !slices.Contains(record.URLs, url) {
		return client.ServerRecord{}
	}
	return record
}

// plainAddress returns an address of a server that is not a unix socket; "" = it has none.
func plainAddress(record client.ServerRecord) string {
	for _, at := range record.URLs {
		if strings.HasPrefix(at, "http") {
			return at
		}
	}
	return ""
}

// needsCode reports why the plain address lets no browser of this user in, nil if it does. It
// sends a request without a token, which gets what the browser would get. who is the answer
// to a request with the token, for which the client has checked who listens there.
func (o *opening) needsCode(c *caller, at string, who api.InitializeResult) error {
	if u, err := url.Parse(at); err != nil || u.Scheme != "http" || client.MayGetToken(at) != nil {
		return fmt.Errorf("%s is not an address of this machine", at)
	}
	if who.Token != nil || who.Agent != nil {
		return errors.New("your token is not the server's own")
	}
	ctx, cancel := context.WithTimeout(c.ctx, openPatience)
	defer cancel()
	plain := client.New(func() (client.Endpoint, error) { return client.Endpoint{URL: at}, nil })
	defer plain.Close()
	if err := initialize(ctx, plain, &who); err != nil {
		return errors.New("the server lets no browser in without a code")
	}
	return nil
}

// opened is what holon open prints as JSON.
type opened struct {
	URL       string      `json:"url"`
	Opened    bool        `json:"opened"`
	ExpiresAt notify.Time `json:"expires_at,omitzero"` // of the code in the URL
	Name      string      `json:"name,omitzero"`
	Role      tokens.Role `json:"role,omitzero"`
	ThreadIDs []string    `json:"limited_to,omitzero"`
}

func (o *opening) printStarted(c *caller, at string) error {
	if c.format != "text" {
		return c.printValue(opened{URL: at + "/", Opened: true}, "")
	}
	return c.printText("The console opens in your browser: "+at+"/\n", nil)
}

// printPlain prints the plain address, and how a browser elsewhere gets there: it may do all
// that this user may, where a code would give less.
func (o *opening) printPlain(c *caller, at string) error {
	if c.format != "text" {
		return c.printValue(opened{URL: at + "/"}, "")
	}
	if err := c.printText(at+"/\n", nil); err != nil {
		return err
	}
	host := strings.TrimPrefix(at, "http://")
	c.note("Open it in any browser of yours on this machine: it needs no code, and may do all that you may.")
	c.note("From another machine, first: ssh -N -L %s:%s HOST. For a phone or somebody else: holon open --help", portOf(host), host)
	return nil
}

// printCode makes a code and prints the address that has it. It passes it to no program,
// because all users can see the arguments of programs.
func (o *opening) printCode(c *caller, at string) error {
	at = cmp.Or(o.link, at)
	if o.qr && o.publicURL == "" && client.MayGetToken(at) == nil && strings.HasPrefix(at, "http://") {
		return usagef("--qr: a phone does not reach %s; give the address that it reaches, which a proxy or a tunnel with TLS makes: --public-url https://HOST", at)
	}
	params := map[string]any{}
	for name, value := range map[string]string{"role": o.role, "name": o.name} {
		if value != "" {
			params[name] = value
		}
	}
	if len(o.limitedTo) > 0 {
		ids, err := each(o.limitedTo, c.finder().telling().ender().thread)
		if err != nil {
			return err
		}
		params["limited_to"] = ids
	}
	_, made, err := ask[tokens.CodeResult](c, "signin/code", params)
	if err != nil {
		return ofCode(err)
	}
	link := at + "/#code=" + made.Secret
	if c.format != "text" {
		return c.printValue(opened{URL: link, ExpiresAt: made.ExpiresAt, Name: made.Name, Role: made.Role, ThreadIDs: made.ThreadIDs}, "")
	}
	text := timeline.OneLine(link) + "\n"
	if o.qr {
		drawn, err := c.drawQR(link)
		if err != nil {
			c.note("There is no QR code: %s.", err)
		}
		text = drawn + text
	}
	if err := c.printText(text, nil); err != nil {
		return err
	}
	c.note("Open it within %.0f seconds; it works once, and for 12 hours at most: %s.", tokens.CodeLife.Seconds(),
		tokenMay(tokens.Token{Role: made.Role, ThreadIDs: made.ThreadIDs}))
	if o.role == "" {
		c.note("For more: --role respond, work or operate.")
	}
	if host, isPlain := strings.CutPrefix(at, "http://"); isPlain && c.env("SSH_CONNECTION") != "" {
		c.note("Your browser reaches it through a tunnel from its machine: ssh -N -L %s:%s HOST", portOf(host), host)
	}
	return nil
}

// portOf returns the port of a host of a URL, as written.
func portOf(host string) string {
	if u, err := url.Parse("http://" + host); err == nil && u.Port() != "" {
		return u.Port()
	}
	return "80"
}

// ofCode adds what to do about the error of signin/code.
func ofCode(err error) error {
	switch {
	case client.IsKind(err, "overloaded"):
		return &hintedError{err, "Unused codes expire after a minute: try again then."}
	case client.IsKind(err, "method_not_found"):
		return &hintedError{err, "This server is older than the command: restart it."}
	}
	return err
}
