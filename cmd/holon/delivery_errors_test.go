package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/kindstest"
)

func TestErrorsOfDelivery(t *testing.T) {
	target := kindstest.NewReceiver(t, sendSecret)
	s := startDelivering(t, hook(target.URL+"/x"))
	s.did("thread/start", `{"thread_id":"a"}`)
	s.did("bridge/create", `{"bridge_id":"own","kind":"ntfy","topic":"topic_1234"}`)
	s.did("bridge/create", `{"bridge_id":"chat","kind":"slack","token":"xoxb-12345678","api_url":"https://localhost/api"}`)
	s.did("subscription/create", `{"subscription_id":"s","bridge_id":"own","thread_id":"a"}`)
	s.did("subscription/create", `{"subscription_id":"h","bridge_id":"hook"}`)
	long := strings.Repeat("x", 401)
	for _, c := range []struct{ method, params, want string }{
		{"bridge/create", `{}`, "-32602 invalid_params kind required"},
		{"bridge/create", `{"kind":"mail"}`, "-32602 invalid_params kind invalid"},
		{"bridge/create", `{"kind":"command"}`, "-32602 invalid_params kind invalid"},
		{"bridge/create", `{"kind":"command","command":["x"]}`, "-32602 invalid_params command unknown_field"},
		{"bridge/create", `{"kind":"webhook","url":"https://localhost","allow_private":true}`, "-32602 invalid_params allow_private unknown_field"},
		{"bridge/create", `{"bridge_id":"a b","kind":"ntfy"}`, "-32602 invalid_params bridge_id invalid"},
		{"bridge/create", `{"kind":"ntfy","on_pause":"stop"}`, "-32602 invalid_params on_pause invalid"},
		{"bridge/create", `{"kind":"ntfy","on_pause":null,"url":"https://localhost"}`, "-32602 invalid_params url unknown"},
		{"bridge/create", `{"kind":"ntfy","secret":"whsec_1"}`, "-32602 invalid_params secret unknown"},
		{"bridge/create", `{"kind":"webhook","url":"https://localhost","token":"12345678"}`, "-32602 invalid_params token unknown"},
		{"bridge/create", `{"kind":"webhook"}`, "-32602 invalid_params url required"},
		{"bridge/create", `{"kind":"webhook","url":"http://localhost"}`, "-32602 invalid_params url invalid"},
		{"bridge/create", `{"kind":"webhook","url":"https://localhost:8443"}`, "-32602 invalid_params url invalid"},
		{"bridge/create", `{"kind":"webhook","url":"https://127.0.0.1"}`, "-32602 invalid_params url invalid"},
		{"bridge/create", `{"kind":"webhook","url":"https://169.254.169.254/latest"}`, "-32602 invalid_params url invalid"},
		{"bridge/create", `{"kind":"slack"}`, "-32602 invalid_params token required"},
		{"bridge/create", `{"kind":"github"}`, "-32602 invalid_params token required"},
		{"bridge/create", `{"bridge_id":"own","kind":"ntfy"}`, "-32003 conflict bridge_id in_use"},
		{"bridge/create", `{"bridge_id":"hook","kind":"ntfy"}`, "-32003 conflict bridge_id in_use"},
		{"bridge/read", `{}`, "-32602 invalid_params bridge_id required"},
		{"bridge/read", `{"bridge_id":"none"}`, "-32002 bridge_not_found"},
		{"bridge/update", `{"bridge_id":"none"}`, "-32002 bridge_not_found"},
		{"bridge/update", `{"bridge_id":"hook","on_pause":"drop"}`, "-32003 conflict bridge_id configured"},
		{"bridge/update", `{"bridge_id":"own","on_pause":"x"}`, "-32602 invalid_params on_pause invalid"},
		{"bridge/update", `{"bridge_id":"own","url":"https://localhost"}`, "-32602 invalid_params url unknown"},
		{"bridge/update", `{"bridge_id":"own","server":"http://localhost"}`, "-32602 invalid_params server invalid"},
		{"bridge/update", `{"bridge_id":"own","token":"12345678"}`, "-32602 invalid_params token unknown_field"},
		{"bridge/pause", `{"bridge_id":"none"}`, "-32002 bridge_not_found"},
		{"bridge/pause", `{"bridge_id":"own","reason":"` + long + `"}`, "-32602 invalid_params reason too_large"},
		{"bridge/resume", `{"bridge_id":"none"}`, "-32002 bridge_not_found"},
		{"bridge/test", `{"bridge_id":"none"}`, "-32002 bridge_not_found"},
		{"bridge/test", `{"bridge_id":"chat"}`, "-32602 invalid_params target.channel required"},
		{"bridge/test", `{"bridge_id":"hook","target":{"topic":"x"}}`, "-32602 invalid_params target.topic unknown"},
		{"bridge/rotate_secret", `{"bridge_id":"none"}`, "-32002 bridge_not_found"},
		{"bridge/rotate_secret", `{"bridge_id":"hook"}`, "-32003 conflict bridge_id configured"},
		{"bridge/rotate_secret", `{"bridge_id":"chat"}`, "-32602 invalid_params token required"},
		{"bridge/rotate_secret", `{"bridge_id":"chat","token":"1"}`, "-32602 invalid_params token invalid"},
		{"bridge/delete", `{"bridge_id":"none"}`, "-32002 bridge_not_found"},
		{"bridge/delete", `{"bridge_id":"own"}`, "-32003 conflict bridge_id in_use"},
		{"bridge/delete", `{"bridge_id":"hook","cascade":true}`, "-32003 conflict bridge_id configured"},
		{"bridge/list", `{"order":"up"}`, "-32602 invalid_params order unknown"},
		{"bridge/list", `{"limit":0}`, "-32602 invalid_params limit out_of_range"},

		{"subscription/create", `{}`, "-32602 invalid_params bridge_id required"},
		{"subscription/create", `{"bridge_id":"none"}`, "-32002 bridge_not_found"},
		{"subscription/create", `{"bridge_id":"hook","subscription_id":"a.b"}`, "-32602 invalid_params subscription_id invalid"},
		{"subscription/create", `{"bridge_id":"hook","thread_id":"none"}`, "-32002 thread_not_found"},
		{"subscription/create", `{"bridge_id":"hook","thread_id":"/"}`, "-32602 invalid_params thread_id invalid"},
		{"subscription/create", `{"bridge_id":"hook","on":["all"]}`, "-32602 invalid_params on[0] invalid"},
		{"subscription/create", `{"bridge_id":"hook","methods":["turn/*"]}`, "-32602 invalid_params methods[0] invalid"},
		{"subscription/create", `{"bridge_id":"hook","methods":["item/delta"]}`, "-32602 invalid_params methods[0] invalid"},
		{"subscription/create", `{"bridge_id":"hook","order":"none"}`, "-32602 invalid_params order invalid"},
		{"subscription/create", `{"bridge_id":"hook","from":"yesterday"}`, "-32602 invalid_params from malformed"},
		{"subscription/create", `{"bridge_id":"hook","from":-1}`, "-32602 invalid_params from malformed"},
		{"subscription/create", `{"bridge_id":"hook","from":true}`, "-32602 invalid_params from malformed"},
		{"subscription/create", `{"bridge_id":"hook","from":9007199254740991}`, "-32005 cursor_ahead from at"},
		{"subscription/create", `{"bridge_id":"hook","target":{"topic":"x"}}`, "-32602 invalid_params target.topic unknown"},
		{"subscription/create", `{"bridge_id":"chat"}`, "-32602 invalid_params target.channel required"},
		{"subscription/create", `{"bridge_id":"chat","target":{"channel":"<!here>"}}`, "-32602 invalid_params target.channel invalid"},
		{"subscription/create", `{"bridge_id":"chat","target":{"channels":"C1"}}`, "-32602 invalid_params target.channels unknown_field"},
		{"subscription/create", `{"subscription_id":"s","bridge_id":"hook","thread_id":"a"}`, "-32003 conflict subscription_id moved"},
		{"subscription/create", `{"subscription_id":"s","bridge_id":"own"}`, "-32003 conflict subscription_id moved"},
		{"subscription/create", `{"subscription_id":"s","bridge_id":"own","thread_id":"a","target":{"topic":"x"}}`, "-32003 conflict subscription_id moved"},
		{"subscription/read", `{"subscription_id":"none"}`, "-32002 subscription_not_found"},
		{"subscription/update", `{"subscription_id":"none"}`, "-32002 subscription_not_found"},
		{"subscription/update", `{"subscription_id":"s","on":[]}`, "-32602 invalid_params on invalid"},
		{"subscription/update", `{"subscription_id":"s","thread_id":"a"}`, "-32602 invalid_params thread_id unknown_field"},
		{"subscription/update", `{"subscription_id":"s","bridge_id":"none"}`, "-32002 bridge_not_found"},
		{"subscription/update", `{"subscription_id":"none","bridge_id":"hook"}`, "-32002 subscription_not_found"},
		{"subscription/update", `{"subscription_id":"s","bridge_id":"a b"}`, "-32602 invalid_params bridge_id invalid"},
		{"subscription/update", `{"subscription_id":"s","bridge_id":"chat"}`, "-32602 invalid_params target.channel required"},
		{"subscription/update", `{"subscription_id":"s","bridge_id":"hook","target":{"topic":"x"}}`, "-32602 invalid_params target.topic unknown"},
		{"subscription/create", `{"bridge_id":"hook","turn_id":"turn_none"}`, "-32002 turn_not_found"},
		{"subscription/create", `{"bridge_id":"hook","turn_id":"turn_none","on":["final","inbox"]}`, "-32602 invalid_params on[1] invalid"},
		{"subscription/pause", `{"subscription_id":"none"}`, "-32002 subscription_not_found"},
		{"subscription/resume", `{"subscription_id":"none"}`, "-32002 subscription_not_found"},
		{"subscription/delete", `{"subscription_id":"none"}`, "-32002 subscription_not_found"},
		{"subscription/reset", `{"subscription_id":"none","to_seq":0,"reason":"x"}`, "-32002 subscription_not_found"},
		{"subscription/reset", `{"subscription_id":"s","to_seq":0}`, "-32602 invalid_params reason required"},
		{"subscription/reset", `{"subscription_id":"s","reason":"x"}`, "-32602 invalid_params to_seq required"},
		{"subscription/reset", `{"subscription_id":"s","to_seq":0,"reason":" "}`, "-32602 invalid_params reason required"},
		{"subscription/reset", `{"subscription_id":"s","to_seq":-1,"reason":"x"}`, "-32602 invalid_params to_seq out_of_range"},
		{"subscription/reset", `{"subscription_id":"s","to_seq":9007199254740991,"reason":"x"}`, "-32005 cursor_ahead to_seq at"},
		{"subscription/skip", `{"subscription_id":"none","reason":"x"}`, "-32002 subscription_not_found"},
		{"subscription/skip", `{"subscription_id":"s"}`, "-32602 invalid_params reason required"},
		{"subscription/skip", `{"subscription_id":"s","reason":"x"}`, "-32003 conflict subscription_id not_held"},
		{"subscription/skip", `{"subscription_id":"s","seq":1,"reason":"x"}`, "-32002 delivery_not_found"},
		{"subscription/skip", `{"subscription_id":"s","seq":-1,"reason":"x"}`, "-32602 invalid_params seq out_of_range"},
		{"subscription/list", `{"cursor":"x"}`, "-32602 invalid_cursor cursor"},
		{"delivery/read", `{"delivery_id":"none"}`, "-32002 delivery_not_found"},
		{"delivery/read", `{"delivery_id":"notif:s:1"}`, "-32002 delivery_not_found"},
		{"delivery/redeliver", `{"delivery_id":"notif:s:1"}`, "-32002 delivery_not_found"},
		{"delivery/redeliver", `{"delivery_id":"x"}`, "-32002 delivery_not_found"},
		{"delivery/list", `{"state":"lost"}`, "-32602 invalid_params state unknown"},
		{"delivery/list", `{"cursor":"1"}`, "-32602 invalid_cursor cursor"},
		{"cursor/advance", `{"consumer_id":"subscription:s","stream_name":"events","subject_id":"a","last_sequence":0}`, "-32006 forbidden consumer_id server_consumer"},
	} {
		var answer struct {
			Error struct {
				Code int `json:"code"`
				Data struct {
					Kind     string `json:"kind"`
					Field    string `json:"field"`
					Reason   string `json:"reason"`
					ThreadID string `json:"thread_id"`
					Latest   int64  `json:"latest_seq"`
					LogID    string `json:"log_id"`
				} `json:"data"`
			} `json:"error"`
		}
		text := s.post(c.method, c.params)
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		d := answer.Error.Data
		if d.Kind == "cursor_ahead" && d.Latest > 0 && d.LogID != "" {
			d.Reason = "at"
		}
		if got := strings.TrimSpace(strings.Join([]string{fmt.Sprint(answer.Error.Code), d.Kind, d.Field, d.Reason}, " ")); strings.Join(strings.Fields(got), " ") != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s\n%s", c.method, c.params, got, c.want, text)
		}
	}
	// Nothing of it has changed anything.
	if list := s.did("bridge/list", "{}"); strings.Count(list, `"bridge_id"`) != 3 {
		t.Error(list)
	}
	if list := s.did("subscription/list", `{"include_deleted":true}`); strings.Count(list, `"subscription_id"`) != 2 {
		t.Error(list)
	}
}
