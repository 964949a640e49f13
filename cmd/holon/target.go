package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/rpc/client"
)

// bindTarget adds --target.
func bindTarget(cmd *cobra.Command, target *string) {
	cmd.Flags().StringVar(target, "target", "", "where to: CHANNEL of Slack, OWNER/REPOSITORY#NUMBER of GitHub, or TOPIC of ntfy")
}

// parseTarget reads --target in the form of the bridge's kind.
func parseTarget(b bridges.Bridge, text string) (bridges.Target, error) {
	t, err := bridges.ParseTarget(b.Kind, text)
	if err != nil {
		return t, usagef("--target: %w", err)
	}
	return t, nil
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
