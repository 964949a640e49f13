package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRecordingsTellNothingOfTheMachineOrTheRun(t *testing.T) {
	message := `{"sessionId":"0b9ae6ad-9de5-4b2f-8a3c-0123456789ab","again":"0b9ae6ad-9de5-4b2f-8a3c-0123456789ab",
		"other":"1c9ae6ad-9de5-4b2f-8a3c-0123456789ab","message":"msg_f81f3c9d8001","call":"write_file__write_file_1795253523153_0",
		"at":"2026-11-21T09:30:00.123Z","ms":1795253523153,"us":1795253523153123,"day":"Saturday, November 21, 2026",
		"cwd":"/tmp/run-7/project","home":"/tmp/run-7/home/.x","count":1234567890123,"text":"a && b"}`
	got := string(clean([]entry{{"in", json.RawMessage(message)}}, []replacement{
		{"/tmp/run-7/home", "/home/user"}, {"/tmp/run-7/project", "/project"},
	})[0].Msg)
	for _, want := range []string{
		`"sessionId":"id_1","again":"id_1"`, `"other":"id_2"`, `"message":"msg_1"`, `write_file_1767225600000_0"`,
		`"at":"2026-01-01T00:00:00.000Z"`, `"ms":1767225600000,`, `"us":1767225600000,`, `"day":"Thursday, January 1, 2026"`,
		`"cwd":"/project"`, `"home":"/home/user/.x"`, `"count":1234567890123`, `"a && b"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

func TestLongListsAreCutAndOtherMessagesKept(t *testing.T) {
	long := strings.Repeat("ä", 100)
	msg := json.RawMessage(`{"z":1,"availableCommands":[{"name":"a","description":"` + long + `"},{"name":"b"},{"name":"c"}],"text":"<&>"}`)
	got := string(cut(msg))
	if strings.Contains(got, `"c"`) || !strings.Contains(got, `"b"`) || strings.Contains(got, long) || !strings.Contains(got, `ä…"`) || !strings.Contains(got, "<&>") {
		t.Errorf("got %s", got)
	}
	msg = json.RawMessage(`{"b":[1,2,3], "a":"` + long + `"}`)
	if got := cut(msg); string(got) != string(msg) {
		t.Errorf("got %s", got)
	}
}

func TestFormsAreFilledWithFirstChoices(t *testing.T) {
	got := fill(json.RawMessage(`{"requestedSchema":{"properties":{"a":{"oneOf":[{"const":"red"},{"const":"blue"}]},"b":{"enum":[3,4]},"c":{"type":"string"}}}}`))
	if len(got) != 2 || got["a"] != "red" || got["b"] != float64(3) {
		t.Errorf("got %v", got)
	}
}
