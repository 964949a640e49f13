// Package mockmodel is a scripted language model without a network. It is an
// HTTP server on 127.0.0.1 that speaks the parts of four model APIs that coding
// agents need. The prompt chooses the answer. The tests of real agents run
// against it.
//
//   - OpenAI chat completions: POST …/chat/completions
//   - OpenAI responses:        POST …/responses
//   - Anthropic messages:      POST …/messages
//   - Gemini:                  POST …:generateContent, …:streamGenerateContent
//
// Words in capitals, in the user's last message, choose the answer:
//
//	TOOL          a command in the agent's own shell tool, which needs permission
//	ENVIRONMENT   the same with a command that writes its environment to a file
//	HANG          the same with a command that does not end by itself
//	WRITE PATH    a file written by the agent's own tool for that
//	PLAN          a list of steps in the agent's own tool for that
//	ASK           a question to the user, in the agent's own tool for that
//	THINK         thoughts before the answer, where the API has them
//	SLOW [N]      N words (default 120), one every 250 ms
//	SAY WORD      an answer with WORD in it
//	LOOK          the number of images in the prompt
//	RECALL        every WORD of SAY earlier in the conversation
//	OVERLOADED    no answer: the error of a model that is overloaded
//	DO STEPS      calls of Holon's own tools, see below
//
// Any other prompt gets a short text. So does every request that offers no
// tools, because agents ask for titles and summaries that way. The answer to
// the result of a tool is a closing text. A prompt that says that the server was
// restarted, and that the answer was a refusal, is answered with a text.
//
// STEPS is a JSON array of calls, [["work_start", {"prompt": "hi"}], ["work_await",
// {"turn_ids": ["$1.turn_id"]}]]: one after the other, each with the tool whose name
// ends so, and at last a text with all results. $1.turn_id and $1.thread_id are of
// the work that the first call has started. AGAIN STEPS behind it has the calls for a
// prompt that says that the turn is tried again.
//
// Text in a prompt between two lines that mark it as written by others
// chooses nothing. A prompt with nothing else is answered with that text.
//
// It keeps no conversation and checks no key. It is never part of the holon
// command.
package mockmodel
