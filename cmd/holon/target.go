package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/rpc/client"
)

// bindTarget adds --target.
func bindTarget(cmd *cobra.Command, target *string) {
	cmd.Flags().StringVar(target, "target", "", "where to: CHANNEL of Slack, OWNER/REPOSITORY#NUMBER of GitHub, or TOPIC of ntfy")
}

// parseTarget reads a target in the form of the bridge's kind.
func parseTarget(b bridges.Bridge, text string) (t bridges.Target, err error) {
	if text == "" {
		return t, nil
	}
	switch b.Kind {
	case bridges.KindNtfy:
		t.Topic = text
	case bridges.KindSlack:
		t.Channel, t.ThreadTS, _ = strings.Cut(text, "/")
	case bridges.KindGitHub:
		place := text
		if _, path, isURL := strings.Cut(text, "://"); isURL { // https://github.com/octo/hello/pull/12
			parts := strings.Split(strings.TrimRight(path, "/"), "/")
			if len(parts) != 5 || parts[3] != "issues" && parts[3] != "pull" {
				return t, usagef("--target %s: give OWNER/REPOSITORY#NUMBER, or the address of an issue or pull request", text)
			}
			place = parts[1] + "/" + parts[2] + "#" + parts[4]
		}
		repository, number, _ := strings.Cut(place, "#")
		if _, err := fmt.Sscanf(number, "%d", &t.Number); err != nil || fmt.Sprint(t.Number) != number {
			return t, usagef("--target %s: give OWNER/REPOSITORY#NUMBER, such as octo/hello#12", text)
		}
		t.Repository = repository
	default:
		return t, usagef("--target: a bridge of kind %s has its target in itself", b.Kind)
	}
	return t, nil
}

// targetText is a target in the form that parseTarget reads.
func targetText(t bridges.Target) string {
	switch {
	case t.Repository != "":
		return fmt.Sprintf("%s#%d", t.Repository, t.Number)
	case t.ThreadTS != "":
		return t.Channel + "/" + t.ThreadTS
	case t.Channel != "":
		return t.Channel
	}
	return t.Topic
}

// ofTarget adds to the error of a request with a target how one is given.
func ofTarget(err error, b bridges.Bridge) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || !strings.HasPrefix(refused.Field, "target") {
		return err
	}
	switch hint := strings.TrimSpace(targetHint(b)); {
	case refused.Reason != "required":
		return err
	case hint != "":
		return &hintedError{err, "Say where to, as in: " + hint}
	}
	return &hintedError{err, "Say where to: --target TOPIC"}
}
