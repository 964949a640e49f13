// Package mockmodel is a language model that needs no network: an HTTP server
// on 127.0.0.1 that speaks as much of four model APIs as coding agents need to
// do their work, and answers by a script that the prompt chooses. The tests of
// real agents run against it.
//
//   - OpenAI chat completions: POST …/chat/completions
//   - OpenAI responses:        POST …/responses
//   - Anthropic messages:      POST …/messages
//   - Gemini:                  POST …:generateContent, …:streamGenerateContent
//
// Words in capitals, in what the person said last, choose the answer:
//
//	TOOL          a command in the agent's own shell tool, which needs leave
//	HANG          the same with a command that does not end by itself
//	WRITE PATH    a file written by the agent's own tool for that
//	PLAN          a list of steps in the agent's own tool for that
//	ASK           a question to the person, in the agent's own tool for that
//	THINK         thoughts before the answer, where the API has them
//	SLOW [N]      N words (120 unless told), one each 250 ms
//	SAY WORD      an answer with WORD in it
//	LOOK          how many images came with the prompt
//	RECALL        every WORD of SAY that the conversation has had
//
// Anything else, and every request that offers no tools (agents ask for titles
// and summaries on the side), gets a short text. After the result of a tool
// comes a closing text.
//
// It is not a model, keeps no conversation, checks no key, and is never part
// of the holon command.
package mockmodel
