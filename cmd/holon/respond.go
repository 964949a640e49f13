package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/items"
	wording "github.com/seed82539d15/holon/question"
	"github.com/seed82539d15/holon/rpc/client"
)

func newRespondCommand(g *globals) *cobra.Command {
	var allow, reject, always, cancel bool
	var option, answer string
	cmd := &cobra.Command{
		Use:   "respond [ITEM]",
		Short: "Answer a question of an agent; without ITEM list the open ones",
		Long: `Answers a permission request or question. The first answer wins. To be asked, a
thread can be named in place of ITEM, by its id or a title that a client gave, or latest.

  holon respond                          list the open questions
  holon respond item_…                   be asked at the terminal, with all that it is about
  holon respond item_… | less            read all that it is about
  holon respond item_… --allow           the option that allows it once
  holon respond item_… --reject          the option that rejects it once
  holon respond item_… --option ID       an option by its id, or its kind: allow_once
  holon respond item_… --answer '{"name":"x"}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && optionKinds[args[1]] && !givesAnswer(cmd) {
				return nil // as an option
			}
			if flag := answerWord(args); flag != "" && (len(args) > 1 || !givesAnswer(cmd)) {
				return usagef("an answer is a flag: holon respond ITEM %s; holon respond lists what waits", flag)
			}
			return oneName(0)(cmd, args)
		},
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				option = args[1]
			}
			chosen := 0
			if option != "" && !cmd.Flags().Changed("option") {
				chosen++
			}
			for _, name := range answerFlags {
				if cmd.Flags().Changed(name) {
					chosen++
				}
			}
			if len(args) == 0 {
				if chosen > 0 {
					return usagef("which ITEM? `holon respond` lists what waits")
				}
				return listOpen(g, cmd)
			}
			if atTerminal := g.isTerminal(g.in) && g.isTerminal(g.out); chosen == 0 && (atTerminal || g.output == "" || g.output == "text") {
				return showQuestion(g, cmd, args[0], atTerminal)
			}
			if chosen != 1 {
				return usagef("%s", howToRespond)
			}
			params := map[string]any{"item_id": args[0]}
			switch {
			case allow:
				params["kind"] = onceOrAlways("allow", always)
			case reject:
				params["kind"] = onceOrAlways("reject", always)
			case cancel:
				params["outcome"] = "cancelled"
			case option != "":
				params["option_id"] = option
			default:
				if !json.Valid([]byte(answer)) {
					return usagef(`--answer is not JSON; a text goes in quotes: --answer '"yes"'`)
				}
				params["answer"] = json.RawMessage(answer)
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if params["item_id"], err = c.finder().telling().question(args[0], false); err != nil {
				return err
			}
			return respond(c, params)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&allow, "allow", false, "allow it")
	flags.BoolVar(&reject, "reject", false, "reject it")
	flags.BoolVar(&always, "always", false, "with --allow or --reject: this time and from now on")
	flags.BoolVar(&cancel, "cancel", false, "cancel the question")
	flags.StringVar(&option, "option", "", "choose the option with this id, or of this kind: allow_once, reject_always, …")
	flags.StringVar(&answer, "answer", "", "answer a question with this JSON")
	return cmd
}

// optionKinds are the kinds of options: people give them where an option is asked for.
var optionKinds = map[string]bool{"allow_once": true, "allow_always": true, "reject_once": true, "reject_always": true}

var answerFlags = []string{"allow", "reject", "option", "answer", "cancel"}

// givesAnswer reports whether a flag has the answer: a word beside it is a name.
func givesAnswer(cmd *cobra.Command) bool {
	return slices.ContainsFunc(answerFlags, cmd.Flags().Changed)
}

// answerWord returns the flag of the answer that somebody has given as a word, last or alone.
func answerWord(args []string) string {
	if len(args) == 0 || len(args) > 2 {
		return ""
	}
	return map[string]string{
		"yes": "--allow", "y": "--allow", "allow": "--allow", "ok": "--allow", "approve": "--allow", "no": "--reject", "n": "--reject", "reject": "--reject", "deny": "--reject",
	}[strings.ToLower(args[len(args)-1])]
}

func onceOrAlways(verb string, always bool) string {
	if always {
		return verb + "_always"
	}
	return verb + "_once"
}

// howToRespond is said where an answer is missing.
const howToRespond = "give exactly one of --allow, --reject, --option ID, --answer JSON and --cancel"

// showQuestion prints the agent's question with all that it is about, and asks the person
// for the answer if they are at the terminal.
func showQuestion(g *globals, cmd *cobra.Command, id string, atTerminal bool) error {
	c, err := g.caller(cmd)
	if err != nil {
		return err
	}
	defer c.close()
	if id, err = c.finder().telling().question(id, true); err != nil {
		return err
	}
	asked, status, err := readQuestion(c.ctx, c.client, "", id)
	if err != nil {
		return err
	}
	switch kind := asked.content.Type; {
	case status == "pending":
	case kind != "permission_request" && kind != "question":
		return &hintedError{fmt.Errorf("nothing waits for an answer there: it is a %s", timeline.OneLine(kind)), "holon respond lists the open questions."}
	default:
		return &hintedError{items.ErrAlreadyResolved, howItEnded(asked.content, status)}
	}
	fmt.Fprintln(g.out, asked.phrase)
	if err := writeRows(g.out, asked.rows); err != nil {
		return err
	}
	if !atTerminal {
		if _, err := io.WriteString(g.out, optionLines(asked.content.Options)); err != nil {
			return err
		}
		return usagef("%s", howToRespond)
	}
	terminal := questionsAt(&g.console, false)
	defer terminal.end()
	terminal.read()
	for {
		fmt.Fprint(g.out, promptText(asked))
		select {
		case line, open := <-terminal.lines:
			if !open {
				return errors.New("the input ended before there was an answer")
			}
			params, why := readAnswer(asked, line)
			if why != "" {
				fmt.Fprintln(g.out, "  "+why)
			}
			if params != nil {
				params["item_id"] = id
				return respond(c, params)
			}
		case <-c.ctx.Done():
			fmt.Fprintln(g.out)
			return context.Cause(c.ctx)
		}
	}
}

// respond sends an answer and prints the result.
func respond(c *caller, params map[string]any) error {
	raw, r, err := ask[struct {
		Status  string           `json:"status"`
		Outcome timeline.Outcome `json:"outcome"`
	}](c, "item/respond", params)
	if kind, _ := params["option_id"].(string); optionKinds[kind] && client.IsKind(err, "invalid_params") {
		return respond(c, map[string]any{"item_id": params["item_id"], "kind": kind})
	}
	if client.IsKind(err, "invalid_params") {
		if options := optionsOf(c.ctx, c.client, params["item_id"]); options != "" {
			return fmt.Errorf("%w\n  its options are %s", err, options)
		}
	}
	if err != nil {
		return answeredAlready(c, err, params["item_id"])
	}
	if c.format != "text" {
		return c.printData(raw, "")
	}
	text := r.Status
	if r.Outcome.OptionID != "" {
		text += " (" + r.Outcome.OptionID + ")"
	}
	return c.printText(shownID(c.console, fmt.Sprint(params["item_id"]))+": "+timeline.OneLine(text)+"\n", nil)
}

// optionsOf lists an item's options, "" if it cannot be read or has none.
func optionsOf(ctx context.Context, c *client.Client, id any) string {
	var result struct {
		Item itemRow `json:"item"`
	}
	if c.Call(ctx, "item/read", map[string]any{"item_id": id}, &result) != nil {
		return ""
	}
	return optionNames(timeline.ReadContent(result.Item.Content))
}

func optionNames(content timeline.Content) string {
	var names []string
	for _, option := range content.Options {
		var facts []string // what the id does not say
		if option.Kind != option.ID && option.Kind != "" {
			facts = append(facts, option.Kind)
		}
		if longer := wording.Longer(option.Kind); longer != "" {
			facts = append(facts, longer)
		}
		name := option.ID
		if len(facts) > 0 {
			name += " (" + strings.Join(facts, ", ") + ")"
		}
		names = append(names, name)
	}
	return timeline.OneLine(strings.Join(names, ", "))
}

// listOpen lists the open questions in the words of whoever answers them: an agent's own title may
// say less than what it asks for, or something else.
func listOpen(g *globals, cmd *cobra.Command) error {
	c, err := g.caller(cmd)
	if err != nil {
		return err
	}
	defer c.close()
	l := waitingListing
	l.row = func(raw json.RawMessage) ([]string, error) {
		cells, err := waitingListing.row(raw)
		if err != nil {
			return nil, err
		}
		if asked, _, err := readQuestion(c.ctx, c.client, cells[1], cells[0]); err == nil { // else it was withdrawn, or the next command says why
			cells[3] = asked.phrase
		}
		return cells, nil
	}
	_, err = l.list(c, map[string]any{"status": "pending"}, 0)
	return err
}

// waitingListing lists open questions with their possible answers.
var waitingListing = listing{
	method: "item/list", member: "items", flex: 3,
	head: []string{"ITEM", "THREAD", "ASKED", "QUESTION", "OPTIONS"},
	drop: []string{"THREAD", "ASKED", "OPTIONS"},
	none: "No question is open.", then: "Look at one, and answer it: holon respond %s",
	row: func(raw json.RawMessage) ([]string, error) {
		var row itemRow
		err := json.Unmarshal(raw, &row)
		content := timeline.ReadContent(row.Content)
		return []string{row.ID, row.ThreadID, when(row.CreatedAt), content.Summary(row.Status), optionNames(content)}, err
	},
}
