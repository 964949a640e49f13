package main

import (
	"testing"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/client"
)

// The end of a job is not shown: a program asks for it.
func TestInboxWatchShowsNoEndsOfJobs(t *testing.T) {
	for method, params := range map[string]string{
		notify.InboxPosted: `{"entry":{"entry_id":"ent_7","source":"turns","count":1,"summary":"completed: build"},"reason":"job","new_raw_ids":["raw_6"]}`,
		notify.InboxAcked:  `{"entry_ids":["ent_7"],"raw_count":1,"by":"job"}`,
	} {
		if got, err := inboxEventText(&console{}, client.Event{Method: method, Params: []byte(params)}); got != "" || err != nil {
			t.Errorf("%s is shown as %q, %v", method, got, err)
		}
	}
}

func TestInboxWatchNamesTheItemsThatWereAcknowledgedAlone(t *testing.T) {
	e := client.Event{Method: notify.InboxAcked, Params: []byte(`{"entry_ids":[],"raw_ids":["raw_3","raw_5"],"raw_count":2,"by":"client"}`)}
	if got, err := inboxEventText(&console{}, e); got != "raw_3, raw_5 acknowledged" || err != nil {
		t.Errorf("shown as %q, %v", got, err)
	}
}
