package main

import "testing"

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
		{[]string{"bogus"}, "holon: there is no command \"bogus\"\nTry: holon --help\n"},
		{[]string{"help", "bogus"}, "holon: there is no command \"bogus\"\nTry: holon --help\n"},
		{[]string{"help", "token", "revok"}, "did you mean revoke?\nTry: holon token --help\n"},
	} {
		p.fails(exitUsage, "", c.args, c.want)
	}
}
