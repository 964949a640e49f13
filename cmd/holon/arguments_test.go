package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestWrongArgumentsSayWhatACommandTakes(t *testing.T) {
	p := newUser(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"login"}, "holon: arguments are missing: holon login URL\nTry: holon login --help\n"},
		{[]string{"steer"}, "holon: arguments are missing: holon steer THREAD|TURN TEXT…\n"},
		{[]string{"run", "--cwd"}, "holon: --cwd needs a value: the working directory of a new thread's agent\nTry: holon run --help\n"},
		{[]string{"steer", "x"}, `"x" alone is not enough: holon steer THREAD|TURN TEXT…`},
		{[]string{"token", "create", "my", "phone"}, "2 words are given; what belongs together goes in quotes: holon token create NAME"},
		{[]string{"status", "ext\x1b[2Jra"}, `holon status takes no "extra"`},
		{[]string{"thread"}, `there is no command "thread"; did you mean threads?`},
		{[]string{"token", "revok"}, `there is no command "token revok"; did you mean revoke?`},
		{[]string{"bogus"}, "holon: there is no command \"bogus\"; holon run sends a prompt to an agent\nTry: holon --help\n"},
		{[]string{"ls"}, "holon: there is no command \"ls\"; did you mean threads?\n"},
		{[]string{"kill", "x"}, "did you mean interrupt?"},
		{[]string{"rn", "hi"}, "did you mean run?"},
		{[]string{"stop", "my thread"}, `holon stop stops the server, and takes no name; holon interrupt "my thread" stops what a thread does`},
		{[]string{"threads", "--json"}, "there is no flag --json in holon threads; did you mean --output json?"},
		{[]string{"serve", "--port", "8081"}, "there is no flag --port in holon serve; did you mean --listen 127.0.0.1:PORT?"},
		{[]string{"threads", "--port", "8081"}, "holon: there is no flag --port in holon threads\nTry"},
		{[]string{"threads", "--url", "127.0.0.1:8080"}, "--url: server URL: http:// or https:// is missing: give http://HOST:PORT"},
		{[]string{"inbox", "sned", "x", "y"}, `there is no command "inbox sned"; did you mean send?`},
		{[]string{"attach", "x", "--after", "LOG:1"}, `--after "LOG:1": give a seq such as 41`},
		{[]string{"help", "bogus"}, "holon: there is no command \"bogus\"; holon run sends a prompt to an agent\nTry: holon --help\n"},
		{[]string{"respond", "yes"}, "an answer is a flag: holon respond ITEM --allow; holon respond lists what waits"},
		{[]string{"respond", "deadbeef", "No"}, "an answer is a flag: holon respond ITEM --reject; holon respond lists what waits"},
		{[]string{"threads", "--state=blocked"}, "--state: what a review has blocked is among the failed ones: --state failed"},
		{[]string{"threads", "--state=runing"}, `--state: "runing" is not one of waiting, working, failed, idle, closed, running, paused, closing; did you mean running?`},
		{[]string{"help", "token", "revok"}, "did you mean revoke?\nTry: holon token --help\n"},
	} {
		p.fails(exitUsage, "", c.args, c.want)
	}
}

// A script whose variable is not set must not do to all, or to another, what it means for one.
func TestAnEmptyArgumentNamesNothing(t *testing.T) {
	checked := 0
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		_, takes, _ := strings.Cut(cmd.Use, " ")
		for i, word := range wordsOf(takes) {
			args := slices.Repeat([]string{"x"}, i+1)
			args[i] = ""
			err := cmd.ValidateArgs(args)
			usage, isUsage := errors.AsType[*usageError](err)
			switch refused := isUsage && strings.Contains(usage.Error(), word+" is empty"); {
			case slices.Contains(freeTexts, word):
				if refused {
					t.Errorf("%s refuses an empty %s", cmd.CommandPath(), word)
				}
			case !refused:
				t.Errorf("%s takes an empty %s: %v", cmd.CommandPath(), word, err)
			default:
				checked++
			}
		}
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(newRootCommand(&globals{}))
	if checked < 60 {
		t.Errorf("only %d arguments were checked", checked)
	}
	newUser(t).fails(exitUsage, "", []string{"notify", "", "--bridge", "one"}, "holon: THREAD is empty; is it a variable that is not set? holon notify THREAD | TURN | --all\nTry: holon notify --help\n")
}

func TestAnEmptyFlagNamesNothing(t *testing.T) {
	p := newUser(t)
	for _, line := range []string{
		"run x --thread", "run x --parent", "await --owner", "items --thread", "items --turn", "turns --thread", "watch --within", "watch --whole",
		"notify list --bridge", "deliveries --subscription", "review --thread", "inbox ack --all --thread", "token create x --thread", "inbox subscribe me events --thread-id",
	} {
		args := append(strings.Fields(line), "")
		p.fails(exitUsage, "", args, "holon: "+args[len(args)-2]+" is empty; is it a variable that is not set?\n")
	}
}

// What the server says of a member of a request is said of the flag that gave it.
func TestErrorsOfTheServerNameFlags(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=one", "hello")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--max-attempts=1000", "x"}, "--max-attempts: must be between 1 and 100 [invalid_params]"},
		{[]string{"run", "--on-busy=waits", "x"}, `--on-busy: "waits" is not one of queue, reject, interrupt, steer [invalid_params]`},
		{[]string{"watch", "--method=foo"}, `--method: "foo" is neither a notification nor a kind such as item/* [invalid_params]`},
		{[]string{"inbox", "policy", "one", "--wake=sometimes"}, `--wake: "sometimes" is not one of idle, none [invalid_params]`},
		{[]string{"detach", turnIDs.FindString(s.want("turns", "--long"))}, "turn_id: is no child turn: nothing waits for it [invalid_params]"},
	} {
		if r := s.holon(c.args...); r.code != exitFailed || r.err != "holon: "+c.want+"\n" {
			t.Errorf("holon %q: %+v", c.args, r)
		}
	}
	if open := s.want("threads", "--state=running"); strings.Count(open, "\n") != 2 {
		t.Errorf("a run that was refused leaves a thread:\n%s", open)
	}
}
