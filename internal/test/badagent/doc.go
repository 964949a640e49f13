// Badagent is an agent without a model. It speaks version 1 of the Agent Client
// Protocol over stdin and stdout and follows the commands in the text of each
// prompt. It can misbehave in every way seen in real agents, and in some ways
// not seen yet. Tests of the peer build and run it (internal/test/acptest). It
// uses the standard library only.
//
// # Options
//
//	badagent [WORD | WORD=VALUE]…
//
// The environment variable BADAGENT may hold more words, separated by white
// space. At the end of stdin it exits with 0.
//
//	state=FILE     keep sessions in FILE for the next process
//	forget         ignore the sessions of earlier processes: session/load, resume
//	               and fork answer -32002 "session not found"
//	by-cwd         session/load, resume and fork find a session only with the cwd it has
//	steering       offer _session/steering (injected, or promptRequired when idle)
//	steering=X     offer it, and answer failed, error (a JSON-RPC error), hang
//	               (never), or end (the prompt ends before the answer
//	               promptRequired)
//	no-load, no-resume, no-fork, no-image, no-close
//	               do not offer the feature, and answer -32601
//	plain          no modes, models or options in session/new
//	old-models     models by "models" and session/set_model; else the option
//	               "model" of category "model"
//	opens=MODE     all sessions open in this mode, also those that are loaded, resumed
//	               or forked, and an update says the mode of before once more before
//	               session/set_mode is answered; there is a third mode, auto
//	mode-option    the mode by the option "agent_mode" of category "mode"
//	mode-option=stays
//	               the same; it answers a change of the mode, and stays as it is
//	refuses=MODE   session/set_mode refuses this mode, although it is offered
//	effort-of=M    the option "effort" only while this is the model
//	late-replay    session/load answers first, then repeats the history
//	replay-ms=N    pause N ms before each repeated turn
//	fork-replay    session/fork repeats the history before its result
//	mute-reject    send no end of a tool call whose permission was rejected
//	early          session/update notifications before the result of session/new
//	one-session    a second session/new answers an error
//	version=V      agentInfo.version; 1.0.0 if left out
//	name=N         agentInfo.name; badagent if left out
//	no-mcp-http    do not offer MCP servers over HTTP
//	claude-code    announce the extension _meta.claudeCode
//
//	banner=TEXT    print TEXT first; it need not be a message
//	start-ms=N     answer initialize after N ms
//	new-ms=N       answer session/new, load, resume and fork after N ms
//	no-init        never answer initialize
//	init=TEXT, new=TEXT
//	               write TEXT as a line instead of the answer to initialize, or to
//	               session/new, with the id of the request in place of $ID
//	protocol=N     answer initialize with protocolVersion N
//	login=KIND     offer the login status, and send it after session/new
//	auth           session/new, load and resume answer auth_required (-32000)
//	               until authenticate was called
//	auth=never     the same, and authenticate fails
//	exit=N:TEXT    write TEXT to stderr and exit with N at once
//	stubborn       ignore TERM, HUP and the end of stdin
//	string-ids     the ids of its own requests are strings, not numbers
//	crlf           end lines with CR LF
//
// # Commands of a prompt
//
// Each line is a command and its argument. The lines run one after the other. A
// line without a known command is answered "you said: LINE". A cancelled prompt
// ends with stopReason cancelled after the current line. Any other ends with
// end_turn. Every message has its own messageId.
//
// Commands of a good agent:
//
//	say TEXT         one agent_message_chunk
//	add TEXT         one more chunk with the same messageId
//	think TEXT       one agent_thought_chunk
//	stream N         N chunks of one message: "1 ", "2 ", …
//	plan             a plan of two entries, then the same with the first completed
//	tool TITLE       a read: tool_call, in_progress, completed with content
//	execute COMMAND  an execute: with output in three updates, and exit_code 0;
//	                 "seq N" has N further lines
//	edit PATH        an edit with a diff, completed
//	fail-tool TITLE  a tool call that ends failed
//	ask TITLE        tool_call, session/request_permission with four options
//	                 (their ids are not their kinds), then the end of the tool call
//	                 and the outcome as text: "selected once", "cancelled", …
//	ask-first TITLE  the same without a tool_call before it
//	ask-two          two permissions at once; says both outcomes at the end
//	usage            a usage_update; the prompt's result has usage as well
//	mode ID, model ID, option ID VALUE, title TEXT, commands
//	                 current_mode_update, config_option_update,
//	                 session_info_update, available_commands_update
//	good             think, say, plan, tool, execute, edit, ask, usage
//	elicit TEXT      elicitation/create with a form of one string; says the answer,
//	                 but nothing if there is no TEXT
//	read-file PATH   fs/read_text_file; says the error code or the text
//	settings         says the current mode, model and options as JSON
//	env NAME         says the variable's value
//	cwd, pid, mcp, meta, blocks, session
//	                 says the session's cwd, its process id, its mcpServers, the
//	                 _meta it was opened with, the types of the prompt's blocks,
//	                 its id and its origin: new, loaded, resumed or forked
//	all-mcp          says the mcpServers of all sessions of the process
//	update JSON      one session/update of this update
//	permit JSON      session/request_permission with these params, and the four
//	                 options if they have none; says the outcome
//	client           says the capabilities that the client has announced, as JSON
//	history          says the texts of the session's earlier prompts
//	await-steer      waits for steered text and says "steered: TEXT"
//	sleep MS         waits; a cancel ends it
//	wait             waits for a cancel
//	stop REASON      ends the prompt with this stopReason
//	error TEXT       ends it with a JSON-RPC error -32603
//	fail ACTION TEXT ends it with end_turn and _meta.jetbrains.air.sessionFailure,
//	                 with TEXT as its title and ACTION (retry, login, …; none) to
//	                 take; its severity is error, with fail-warning warning. A client
//	                 that has not announced the extension gets TEXT as a message
//	violations       says how the client has broken the protocol so far, "none" if
//	                 it has not: a prompt while one ran, a request before
//	                 initialize, a relative cwd, a cancel of an unknown session,
//	                 a cancel before the answers to the agent's questions, …
//
// Steered text that no await-steer takes runs as further lines, after the
// prompt's lines. In TEXT, \n means a line feed.
//
// Commands of a bad agent:
//
//	late N           N numbered chunks ("late 1", …) after the prompt's result
//	junk             lines that are no messages, between two chunks ("before
//	                 junk", "after junk")
//	huge BYTES       one chunk of BYTES characters; 20 MiB if left out
//	no-ids           no messageId from now on in this session
//	stubborn         ignore TERM, HUP and the end of stdin from now on
//	grandchild MARK  start a process that ignores TERM, HUP and the end of its
//	                 stdin; it can be found by its arguments "grandchild MARK"
//	                 and holds stdout and stderr open; says its pid
//	command HOW      start a command that does not end, with an execute tool call,
//	                 and say its pid; a cancel leaves it running. HOW is apart
//	                 (in its own process session), named (the same, with the id of
//	                 the agent's session in its environment) or inside (in the
//	                 agent's process session)
//	die N TEXT       write TEXT to stderr and exit with N
//	kill SIGNAL TEXT write TEXT to stderr and die by this signal (number)
//	half             write half a line, then exit with 1
//	close-stdout     close stdout and keep running
//	lose             drop the session in this process; a session in the state file
//	                 can still be loaded and resumed
//	stop-reading     stop reading stdin after one more line
//	deaf             ignore session/cancel from now on in this session
//	last-words TEXT  say TEXT when the prompt is cancelled, before its result
//	hang-ask TITLE   as ask, but a cancel that comes while the permission is
//	                 unanswered hangs the prompt forever
//	drop-ask TITLE   ask for a permission and end the prompt without waiting
//	open-tool TITLE  a tool call that never ends
//	flood N          N chunks of one message as fast as it can, each the next number
//	                 in ten digits and a space; 50,000 if left out
//	unknown          updates of unknown kinds, and one without a kind
//	unknown-request  a request and a notification with unknown methods; says the
//	                 error code
//	wrong-types      updates whose members have the wrong types
//	twice            the prompt's result twice
//	ghost-response   responses to requests that were never sent
//	ghost-session    an update and a permission request for a session that was
//	                 never opened
//	same-id          two permission requests with one id; says the outcomes
//	bad-utf8         a chunk with bytes that are no UTF-8
//	nul              a chunk with U+0000, a lone surrogate and U+2028
//	halves           a message of two chunks, cut within a surrogate pair
//	deep             an update nested 10,000 deep
//	split            one message written byte by byte
//	stderr TEXT      write TEXT to stderr
//	stderr-flood N   write N bytes to stderr
//	line TEXT        write TEXT as a line, with the id of the prompt's request in place
//	                 of $ID and that of the session in place of $SESSION
//	answer TEXT      the same, and end the prompt without another answer
//	no-result        end the prompt without ever answering it
//
// A process that ignores everything still exits after ten minutes.
package main
