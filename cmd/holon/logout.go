package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/profiles"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

func newLogoutCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "logout URL",
		Short: "Delete the token that holon login has saved",
		Long: `Removes what holon login has saved for this URL. The token itself stays valid at
the server.

  holon logout https://holon.example.com`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			format, err := g.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			url, err := client.NormalURL(args[0])
			if err != nil {
				return &usageError{err: err}
			}
			dir, err := configDir(&g.console)
			if err != nil {
				return err
			}
			removed, err := profiles.In(dir).Remove(url)
			switch {
			case err != nil:
				return err
			case !removed:
				return &hintedError{fmt.Errorf("there is no profile of %s", url), "holon profiles lists them."}
			case format != "text":
				return g.printJSON(map[string]any{"url": url, "removed": true}, format == "json")
			}
			_, err = fmt.Fprintf(g.out, "logged out of %s\n", timeline.OneLine(url))
			return err
		},
	}
}

func newProfilesCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "profiles",
		Short: "List the servers for which holon login has saved tokens",
		Long: `Lists what holon login has saved: URLs, the last characters of the tokens, and the
authorities that are trusted there besides those of the system.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			format, err := g.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			dir, err := configDir(&g.console)
			if err != nil {
				return err
			}
			all, unusable, err := profiles.In(dir).List()
			if err != nil {
				return err
			}
			return printProfiles(&g.console, all, unusable, format)
		},
	}
}

// profileRow is a profile as it is shown.
type profileRow struct {
	URL      string   `json:"url"`
	TokenEnd string   `json:"token_end"`
	CA       []caName `json:"ca"`
	SavedAt  string   `json:"saved_at"`
}

// caName is a certificate that is trusted.
type caName struct {
	Subject string `json:"subject"`
	Until   string `json:"until"`
}

func newProfileRow(p profiles.Profile) (profileRow, error) {
	row := profileRow{URL: p.URL, TokenEnd: p.TokenEnd(), CA: []caName{}, SavedAt: p.SavedAt.Format(time.RFC3339)}
	if p.CA == "" {
		return row, nil
	}
	all, err := client.Certificates([]byte(p.CA))
	if err != nil {
		return row, fmt.Errorf("the profile of %s: %w", p.URL, err)
	}
	for _, c := range all {
		subject := cmp.Or(c.Subject.String(), strings.Join(c.DNSNames, ", "), "a certificate without a name")
		row.CA = append(row.CA, caName{subject, c.NotAfter.UTC().Format(time.RFC3339)})
	}
	return row, nil
}

// authorities names the certificates of a row.
func (r profileRow) authorities() string {
	var names []string
	for _, c := range r.CA {
		day, _, _ := strings.Cut(c.Until, "T")
		names = append(names, fmt.Sprintf("%s until %s", c.Subject, day))
	}
	return strings.Join(names, "; ")
}

func printProfiles(con *console, all []profiles.Profile, unusable []error, format string) error {
	rows := []profileRow{}
	for _, p := range all {
		row, err := newProfileRow(p)
		if err != nil {
			unusable = append(unusable, err)
			continue
		}
		rows = append(rows, row)
	}
	for _, err := range unusable {
		fmt.Fprintln(con.err, "holon: warning:", timeline.Clean(err.Error()))
	}
	switch format {
	case "json":
		return con.printJSON(map[string]any{"profiles": rows}, true)
	case "jsonl":
		for _, row := range rows {
			if err := con.printJSON(row, false); err != nil {
				return err
			}
		}
		return nil
	}
	if len(rows) == 0 {
		con.note("No saved logins. To save a server's token: holon login URL")
		return nil
	}
	t := newTable("URL", "TOKEN", "SAVED", "TRUSTED BESIDE THE SYSTEM")
	for _, row := range rows {
		end := "kept"
		if row.TokenEnd != "" {
			end = "…" + row.TokenEnd
		}
		day, _, _ := strings.Cut(row.SavedAt, "T")
		t.add(row.URL, end, day, row.authorities())
	}
	return t.write(con, 3)
}
