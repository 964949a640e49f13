package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/tokens"
)

func newTokenCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Give a phone, a colleague or a program its own credential",
		Long: `A named token may do what its role says, and nothing else:

  read      read everything, also what agents print: that is reading your code
  respond   also answer questions, allowing things once only, and acknowledge inboxes
  work      also start, steer and stop work: that runs code as you
  operate   everything except tokens, the secrets of bridges, and pruning

  holon token create phone --role respond
  holon token create ci --role work --thread builds --expires 30d
  holon token list
  holon token revoke phone`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTokenCreateCommand(g), newTokenListCommand(g), newTokenRevokeCommand(g))
	return cmd
}

func newTokenCreateCommand(g *globals) *cobra.Command {
	var role, expires string
	var limitedTo []string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a named token, and print it once",
		Args:  cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			params := map[string]any{"name": args[0], "role": role}
			if role == "" {
				return usagef("say what it may do: --role read, respond, work or operate (holon token --help explains them)")
			}
			if !slices.Contains(tokens.Roles, tokens.Role(role)) {
				return usagef("--role: %s (holon token --help explains them)", nearest.NoneOf(tokens.Role(role), tokens.Roles))
			}
			if expires != "" {
				life, err := parseLife(expires)
				if err != nil {
					return &usageError{err: err}
				}
				params["expires_in_seconds"] = life.Seconds()
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if len(limitedTo) > 0 {
				if params["limited_to"], err = each(limitedTo, c.finder().telling().ender().thread); err != nil {
					return err
				}
			}
			raw, r, err := change[tokens.Result](c, "token/create", "", params)
			if err != nil {
				return ofToken(err, args[0])
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			return c.printNewToken(r)
		}),
	}
	cmd.Flags().StringVar(&role, "role", "", "what it may do: read, respond, work or operate")
	cmd.Flags().StringArrayVar(&limitedTo, "thread", nil, "only this thread and those below it; may be repeated")
	cmd.Flags().StringVar(&expires, "expires", "", "when it ends by itself, such as 12h or 30d; without it, it is valid until you revoke it")
	return cmd
}

// printNewToken prints the text alone on stdout, so that it can be put into a file, and
// what it means on stderr.
func (c *caller) printNewToken(r tokens.Result) error {
	t := r.Token
	if r.Secret == "" {
		return fmt.Errorf("the token %s was made by an earlier try of this request, whose answer was lost: revoke it, and choose another name", timeline.OneLine(t.Name))
	}
	if err := c.printText(timeline.OneLine(r.Secret)+"\n", nil); err != nil {
		return err
	}
	c.note("This is the token %s: %s%s. It is shown once, so keep it now.", timeline.OneLine(t.Name), tokenMay(t), tokenEnds(t))
	c.note("Use it as HOLON_TOKEN, or as the header Authorization: Bearer. End it with: holon token revoke %s", timeline.OneLine(t.Name))
	return nil
}

// tokenMay describes what a token may do.
func tokenMay(t tokens.Token) string {
	may := map[tokens.Role]string{
		tokens.RoleRead:    "it may only read, but everything, also what agents print",
		tokens.RoleRespond: "it may read everything, answer questions (allowing things once only), and acknowledge inboxes",
		tokens.RoleWork:    "it may start and stop work, and so RUN CODE AS THE SERVER'S USER",
		tokens.RoleOperate: "it may do everything but change tokens and secrets, and so RUN CODE AS THE SERVER'S USER",
	}[t.Role]
	if len(t.ThreadIDs) > 0 {
		may += ", in " + timeline.OneLine(strings.Join(t.ThreadIDs, ", ")) + " and the threads below"
	}
	return may
}

func tokenEnds(t tokens.Token) string {
	if t.ExpiresAt.IsZero() {
		return ", until you revoke it"
	}
	return ", until " + t.ExpiresAt.Local().Format("2006-01-02 15:04")
}

// parseLife reads how long a token lives: a number of minutes, hours, days or weeks.
func parseLife(text string) (time.Duration, error) {
	units := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	if n := len(text); n > 1 {
		count, err := strconv.ParseUint(text[:n-1], 10, 32)
		if unit := units[text[n-1]]; err == nil && unit > 0 && count > 0 && count <= uint64(tokens.MaxLife/unit) {
			return time.Duration(count) * unit, nil
		}
	}
	return 0, fmt.Errorf("--expires %q: give a number of minutes, hours, days or weeks, such as 90m, 12h, 30d or 4w, and at most ten years", text)
}

// ofToken adds what to do to the error of a command about a token.
func ofToken(err error, name string) error {
	name = timeline.OneLine(name)
	switch {
	case client.IsKind(err, "token_not_found"):
		return &hintedError{err, "See the names: holon token list"}
	case client.IsKind(err, "conflict"):
		return &hintedError{err, fmt.Sprintf("Choose another name, such as %s-2: the log says who did what by these names.", name)}
	}
	return err
}

var tokenListing = listing{
	method: "token/list", member: "tokens", flex: 4,
	head: []string{"NAME", "ROLE", "STATE", "ENDS", "THREADS", "USED"},
	drop: []string{"USED", "ENDS"},
	none: "There is no named token. For your phone: holon token create phone --role respond",
	row: func(raw json.RawMessage) ([]string, error) {
		var t tokens.Token
		err := jsonv2.Unmarshal(raw, &t)
		limited, ends, used := "all", "", ""
		if len(t.ThreadIDs) > 0 {
			limited = strings.Join(t.ThreadIDs, ", ")
		}
		switch {
		case !t.RevokedAt.IsZero():
			ends = whenAt(t.RevokedAt)
		case !t.ExpiresAt.IsZero():
			ends = whenAt(t.ExpiresAt)
		}
		if !t.LastUsedAt.IsZero() {
			used = whenAt(t.LastUsedAt)
		}
		return []string{t.Name, string(t.Role), string(t.State), ends, limited, used}, err
	},
}

func newTokenListCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the named tokens, also those that have ended",
		Args:  cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			return tokenListing.print(g, cmd, nil, 0)
		}),
	}
}

func newTokenRevokeCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke a named token permanently",
		Args:  cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			raw, r, err := change[tokens.Result](c, "token/revoke", "", map[string]any{"name": args[0]})
			if err != nil {
				return ofToken(err, args[0])
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			return c.printText(fmt.Sprintf("%s is revoked: its requests are refused, and its streams have ended.\n", timeline.OneLine(r.Token.Name)), nil)
		}),
	}
}
