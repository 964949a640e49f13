package kinds

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os/exec"

	"github.com/seed82539d15/holon/bridges"
)

// ErrNoProgram says that the program of a bridge is not there.
var ErrNoProgram = errors.New("no_program")

// Reach connects to the target of a bridge, with TLS if the bridge uses it, and sends
// nothing. It may connect where the bridge may. For a bridge that runs a program it looks
// for the program. The error is one word, as in bridges.Result, and has no address. Secrets
// are not needed, except for the webhook_url of Slack.
func (c *Client) Reach(ctx context.Context, config Config) error {
	var text string
	switch config.Kind {
	case bridges.KindWebhook:
		text = config.URL
	case bridges.KindNtfy:
		text = cmp.Or(config.Server, defaultNtfy)
	case bridges.KindSlack:
		text = cmp.Or(config.WebhookURL, config.APIURL, defaultSlack)
	case bridges.KindGitHub:
		text = cmp.Or(config.APIURL, defaultGitHub)
	default:
		if len(config.Command) == 0 {
			return ErrNoProgram
		}
		if _, err := exec.LookPath(config.Command[0]); err != nil {
			return ErrNoProgram
		}
		return nil
	}
	u, err := config.checkURL("url", text)
	if err != nil {
		return errors.New("bad_address")
	}
	transport := c.public
	if config.AllowPrivate {
		transport = c.private
	}
	port := "443"
	if u.Scheme == "http" {
		port = "80"
	}
	conn, err := transport.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)))
	if err != nil {
		return errors.New(failureOf(ctx, err))
	}
	defer conn.Close()
	if u.Scheme == "http" {
		return nil
	}
	settings := transport.TLSClientConfig.Clone()
	settings.ServerName = u.Hostname()
	if err := tls.Client(conn, settings).HandshakeContext(ctx); err != nil {
		return errors.New(failureOf(ctx, err))
	}
	return nil
}
