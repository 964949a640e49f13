// Types of the Holon protocol, version 2026-11-23.
// Made by `holon schema ts`; do not edit. Enumerations are open: every
// string type that lists values also takes others.

/** One of the values, or another string of a later version. */
export type Open<T extends string> = T | (string & {});

/** content of an item of type user_message */
export interface UserMessageContent {
  type: "user_message";
  role: string;
  content: {
    type: string;
    text?: string;
    mime_type?: string;
    data?: string;
    url?: string;
    uri?: string;
    name?: string;
  }[];
  origin: string;
  entries?: {
    entry_id: string;
    kind: string;
    source: string;
    count: number;
    summary: string;
    turn_id?: string;
    state?: string;
  }[];
  answers?: {
    item_id: string;
    title: string;
    answer: string;
  }[];
}

/** content of an item of type agent_message */
export interface AgentMessageContent {
  type: "agent_message";
  role: string;
  content: {
    type: string;
    text: string;
  }[];
  phase?: string;
  format?: Open<"markdown" | "plain">;
  raw?: unknown[];
}

/** content of an item of type reasoning */
export interface ReasoningContent {
  type: "reasoning";
  text: string;
  summary?: string;
  raw?: unknown[];
}

/** content of an item of type plan */
export interface PlanContent {
  type: "plan";
  entries: {
    content: string;
    priority?: string;
    status: string;
  }[];
  raw?: unknown[];
}

/** content of an item of type tool_call */
export interface ToolCallContent {
  type: "tool_call";
  tool_call_id: string;
  name?: string;
  title: string;
  kind: string;
  server?: string;
  input?: unknown;
  output: string;
  content?: unknown[];
  locations?: {
    path: string;
    line?: number;
  }[];
  error?: string;
  raw?: unknown[];
}

/** content of an item of type command_execution */
export interface CommandExecutionContent {
  type: "command_execution";
  tool_call_id: string;
  name?: string;
  title: string;
  kind: string;
  server?: string;
  input?: unknown;
  command: string;
  cwd?: string;
  exit_code?: number;
  signal?: string;
  output: string;
  content?: unknown[];
  locations?: {
    path: string;
    line?: number;
  }[];
  error?: string;
  raw?: unknown[];
}

/** content of an item of type file_change */
export interface FileChangeContent {
  type: "file_change";
  tool_call_id?: string;
  title?: string;
  changes: {
    path: string;
    old_path?: string;
    operation: string;
    old_text?: string;
    new_text?: string;
  }[];
  input?: unknown;
  output?: string;
  content?: unknown[];
  locations?: {
    path: string;
    line?: number;
  }[];
  error?: string;
  raw?: unknown[];
}

/** content of an item of type permission_request */
export interface PermissionRequestContent {
  type: "permission_request";
  title: string;
  description?: string;
  subject: {
    type: string;
    item_id?: string;
    command?: string;
    cwd?: string;
  };
  options: {
    option_id: string;
    name: string;
    kind: string;
  }[];
  outcome?: {
    type: string;
    option_id?: string;
    kind?: string;
    reason?: string;
  };
  resolved_by?: string;
  expires_at?: string;
  on_expiry?: string;
}

/** content of an item of type question */
export interface QuestionContent {
  type: "question";
  message: string;
  schema?: unknown;
  url?: string;
  outcome?: {
    type: string;
    option_id?: string;
    kind?: string;
    reason?: string;
  };
  answer?: unknown;
  resolved_by?: string;
  expires_at?: string;
}

/** content of an item of type usage */
export interface UsageContent {
  type: "usage";
  input_tokens: number;
  output_tokens: number;
  cached_tokens?: number;
  reasoning_tokens?: number;
  total_tokens: number;
  context_used?: number;
  context_size?: number;
  cost?: {
    amount: number;
    currency: string;
  };
}

/** content of an item of type notice */
export interface NoticeContent {
  type: "notice";
  severity: string;
  message: string;
  data?: unknown;
}

/** content of an item of type error */
export interface ErrorContent {
  type: "error";
  kind: string;
  message: string;
  data?: unknown;
}

/** content of an item of type extension */
export interface ExtensionContent {
  type: "extension";
  native_kind: string;
  payload: unknown;
}

/**
 * Content of an item, told apart by its type. A later version may send a kind that is
 * not listed: the default of a switch takes it, as UnknownContent.
 */
export type ItemContent =
  | UserMessageContent
  | AgentMessageContent
  | ReasoningContent
  | PlanContent
  | ToolCallContent
  | CommandExecutionContent
  | FileChangeContent
  | PermissionRequestContent
  | QuestionContent
  | UsageContent
  | NoticeContent
  | ErrorContent
  | ExtensionContent;

/** Content of an item of a kind that this version does not know. */
export interface UnknownContent {
  type: string;
  [member: string]: unknown;
}

/** Returns who the server is, what it can do and all its limits. Optional, once per connection. */
export interface InitializeParams {
  client_info?: {
    name?: string | null;
    version?: string | null;
    title?: string | null;
    _meta?: unknown;
  } | null;
  protocol_versions?: string[] | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type InitializeResult = {
  protocol_version: string;
  server_info: {
    name: string;
    version: string;
  };
  log_id: string;
  latest_seq: number;
  capabilities: {
    streams: boolean;
    replay: boolean;
    steering: boolean;
    questions: boolean;
    idempotency: boolean;
    log_stream: boolean;
    prune: boolean;
    workers: boolean;
    collapse: Open<"superseded">[];
    content: Open<"summary">[];
    console: boolean;
  };
  limits: {
    max_frame_bytes: number;
    max_batch_members: number;
    max_depth: number;
    max_in_flight: number;
    max_connections: number;
    max_connections_per_token: number;
    max_unread_answer_bytes_per_token: number;
    max_unadmitted_connections: number;
    max_item_bytes: number;
    max_active_turns: number;
    max_waiting_turns: number;
    max_queued_turns: number;
    max_queued_by_interrupt: number;
    max_steers_per_turn: number;
    max_waiting_commands_per_thread: number;
    max_open_items_per_turn: number;
    max_input_messages: number;
    max_metadata_bytes: number;
    max_text_bytes: number;
    max_end_message_bytes: number;
    max_turn_timeout_seconds: number;
    inbox_bytes_per_thread: number;
    agent_output_bytes_per_process: number;
    agent_input_bytes_per_process: number;
    max_agent_message_bytes: number;
    max_agent_sessions_per_process: number;
    interrupt_seconds: number;
    max_cursors: number;
    max_cursors_per_token: number;
    max_cursor_name_bytes: number;
    max_cursor_text_bytes: number;
    max_list_limit: number;
    max_list_rows_looked_at: number;
    max_page_bytes: number;
    max_log_lines: number;
    max_log_streams: number;
    max_filter_entries: number;
    max_idempotency_key_characters: number;
    max_idempotency_keys: number;
    max_idempotency_keys_per_token: number;
    idempotency_key_seconds: number;
    tail_bytes: number;
    replay_bytes: number;
    heartbeat_seconds: number;
    write_timeout_seconds: number;
    request_timeout_seconds: number;
    agent_request_timeout_seconds: number;
    drain_seconds: number;
    max_attempts: number;
    max_backoff_seconds: number;
    max_step_depth: number;
    max_step_bytes: number;
    max_steps_per_turn: number;
    max_tries_per_turn: number;
    max_late_per_attempt: number;
    max_claim_wait_seconds: number;
    max_waiting_claims_per_agent: number;
    max_item_batch_ops: number;
    max_item_batch_bytes: number;
    max_worker_name_bytes: number;
    max_worker_input_bytes: number;
    max_inbox_payload_bytes: number;
    max_inbox_items_per_ingest: number;
    max_inbox_send_bytes: number;
    max_inbox_summary_characters: number;
    max_inbox_ack_ids: number;
    max_pending_items: number;
    max_unacked_items: number;
    max_unacked_bytes: number;
    max_timers: number;
    max_inbox_subscriptions: number;
    inbox_retention_days: number;
    dedupe_days: number;
    max_told_entries: number;
    max_told_bytes: number;
    max_wakes_per_hour: number;
    max_wake_chain: number;
    max_thread_levels: number;
    max_children_per_turn: number;
    max_children_below_root: number;
    max_prompts_per_turn: number;
    max_child_title_characters: number;
    max_turn_wait_seconds: number;
    max_await_seconds: number;
    max_awaited_turns: number;
    max_waiting_awaits: number;
    max_waiting_awaits_per_token: number;
    max_result_text_bytes: number;
    max_results_bytes: number;
    max_continuations: number;
    max_review_note_bytes: number;
    max_bridges: number;
    max_bridge_tests: number;
    max_bridge_targets: number;
    max_subscriptions: number;
    max_subscriptions_per_token: number;
    max_subscription_methods: number;
    max_reason_bytes: number;
    max_backlog: number;
    max_backlog_days: number;
    max_lane_lag_days: number;
    max_delivery_text_bytes: number;
    max_delivery_event_bytes: number;
    max_delivery_tries: number;
    delivered_days: number;
    dead_days: number;
  };
  agent?: {
    thread_id: string;
    turn_id?: string;
    attempt?: number;
    child_agents: string[];
    work_in?: string[];
  };
  token?: {
    name: string;
    parent?: string;
    code?: boolean;
    role: Open<"read" | "respond" | "work" | "operate">;
    limited_to?: string[];
    expires_at?: string;
  };
};

/** Returns what the server is doing and the position of its log. */
export interface HolonStatusParams {
  _meta?: unknown;
  extended_context?: unknown;
}
export type HolonStatusResult = {
  state: string;
  events_processed: number;
  last_event_at: string | null;
  session_id: string;
  paused_at: string | null;
  resumed_at: string | null;
  version: string;
  started_at: string;
  log_id: string;
  first_seq: number;
  latest_seq: number;
  threads: number;
  turns: {
    queued: number;
    active: number;
    waiting: number;
  };
  streams: number;
  agents: {
    name: string;
    kind: string;
    state: string;
    version?: string;
    protocol?: string;
    capabilities: {
      steering: boolean;
      load: boolean;
      resume: boolean;
      fork: boolean;
      images: boolean;
      modes?: string[];
      models?: string[];
    };
    mode?: string;
    warning?: string;
    processes: number;
    sessions: number;
    memory_bytes?: number;
    last_error?: string;
    directory?: string;
    directory_given?: boolean;
  }[];
};

/** Pauses the runtime: turns are accepted and queued, running ones continue, none starts. The pause survives a restart, unless its reason is stop; with timeout_seconds it ends by itself. */
export interface HolonPauseParams {
  timeout_seconds?: number | null;
  reason?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type HolonPauseResult = {
  success: boolean;
  message: string;
  state: string;
  until?: string;
  seq: number;
};

/** Ends the pause of the runtime. */
export interface HolonResumeParams {
  reason?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type HolonResumeResult = {
  success: boolean;
  message: string;
  state: string;
  until?: string;
  seq: number;
};

/** Returns lines of the server's own log: the newest, or those from a position on. With follow, further lines come as holon/log on this connection. */
export interface HolonLogStreamParams {
  max_lines?: number | null;
  from_position?: number | null;
  follow?: boolean | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type HolonLogStreamResult = {
  stream_id: string;
  logs: {
    level: string;
    time: string;
    message: string;
  }[];
  next_position: number;
};

/** Ends a holon/logStream with follow. */
export interface HolonLogStreamStopParams {
  stream_id: string;
  _meta?: unknown;
  extended_context?: unknown;
}
export type HolonLogStreamStopResult = {
  stopped: boolean;
};

/** Removes the events before a seq from the log, never past text of an open item that only the log has. Rows of threads, turns and items stay. */
export interface HolonPruneParams {
  before_seq: number;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type HolonPruneResult = {
  first_seq: number;
  pruned: number;
  seq: number;
};

/** Lists the agents that threads can have, the default one first, with what each is, can do and is doing. What an agent can do is known once it has been started. */
export interface AgentListParams {
  _meta?: unknown;
  extended_context?: unknown;
}
export type AgentListResult = {
  agents: {
    name: string;
    kind: string;
    state: string;
    version?: string;
    protocol?: string;
    capabilities: {
      steering: boolean;
      load: boolean;
      resume: boolean;
      fork: boolean;
      images: boolean;
      modes?: string[];
      models?: string[];
    };
    mode?: string;
    warning?: string;
    processes: number;
    sessions: number;
    memory_bytes?: number;
    last_error?: string;
    directory?: string;
    directory_given?: boolean;
  }[];
  latest_seq: number;
};

/** Starts a thread, or finds the open one of this id. */
export interface ThreadStartParams {
  thread_id?: string | null;
  agent?: string | null;
  title?: string | null;
  cwd?: string | null;
  metadata?: unknown;
  parent?: {
    thread_id: string;
    turn_id?: string | null;
    attempt?: number | null;
  } | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ThreadStartResult = {
  thread_id: string;
  session_id: string;
  state: Open<"running" | "paused" | "closing" | "closed">;
  agent: string;
  started_at: string;
  created: boolean;
  seq: number;
};

/** Pauses a thread: no further turn of it starts; the active one continues. */
export interface ThreadPauseParams {
  thread_id: string;
  reason?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ThreadPauseResult = {
  thread_id: string;
  state: Open<"running" | "paused" | "closing" | "closed">;
  seq: number;
};

/** Ends the pause of a thread. */
export interface ThreadResumeParams {
  thread_id: string;
  reason?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ThreadResumeResult = {
  thread_id: string;
  state: Open<"running" | "paused" | "closing" | "closed">;
  seq: number;
};

/** Closes a thread: interrupts its active turn and its queue. thread/closed is its last event. */
export interface ThreadCloseParams {
  thread_id: string;
  reason?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ThreadCloseResult = {
  thread_id: string;
  state: Open<"running" | "paused" | "closing" | "closed">;
  seq: number;
};

/** Changes settings of a thread's agent by name: mode, model and others; and the directory in which it works. */
export interface ThreadConfigureParams {
  thread_id: string;
  config?: { [member: string]: unknown } | null;
  cwd?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ThreadConfigureResult = {
  thread_id: string;
  config?: unknown;
  cwd?: string;
  seq: number;
};

/** Gives a thread a title that its agent does not replace. An empty one gives it back: the agent names the thread again. */
export interface ThreadRenameParams {
  thread_id: string;
  title: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ThreadRenameResult = {
  thread_id: string;
  title?: string;
  title_by?: Open<"client">;
  seq: number;
};

/** Starts a thread whose agent continues the conversation of this one, from the end of its newest turn. */
export interface ThreadForkParams {
  thread_id: string;
  after_turn_id?: string | null;
  new_thread_id?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ThreadForkResult = {
  thread_id: string;
  session_id: string;
  state: Open<"running" | "paused" | "closing" | "closed">;
  agent: string;
  started_at: string;
  forked_from: {
    thread_id: string;
    turn_id?: string;
  };
  seq: number;
};

/** Lists threads, the oldest first; with order desc, the newest first. */
export interface ThreadListParams {
  state?: Open<"running" | "paused" | "closing" | "closed"> | null;
  agent?: string | null;
  thread_ids?: string[] | null;
  within_thread_ids?: string[] | null;
  view?: Open<"summary"> | null;
  status?: Array<Open<"needs_you" | "working" | "failed" | "done" | "closed">> | null;
  text?: string | null;
  counts?: boolean | null;
  fold_jobs?: boolean | null;
  limit?: number | null;
  cursor?: string | null;
  order?: Open<"asc" | "desc"> | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ThreadListResult = {
  threads: {
    thread_id: string;
    session_id: string;
    state: Open<"running" | "paused" | "closing" | "closed">;
    agent: string;
    title?: string;
    title_by?: Open<"client">;
    cwd?: string;
    metadata?: unknown;
    config?: unknown;
    agent_session_id?: string;
    parent?: {
      thread_id: string;
      turn_id?: string;
      attempt?: number;
    };
    job?: string;
    level?: number;
    root_thread_id?: string;
    forked_from?: {
      thread_id: string;
      turn_id?: string;
    };
    reason?: string;
    held?: boolean;
    started_at: string;
    closed_at?: string;
    created_seq: number;
    updated_seq: number;
    latest_seq: number;
    latest_thread_seq: number;
    summary?: {
      title: string;
      status: Open<"closed" | "waiting" | "working" | "failed" | "idle">;
      since: string;
      turn_id?: string;
      queued: number;
      waiting?: {
        item_id: string;
        turn_id: string;
        type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
        title: string;
        since: string;
      }[];
      waiting_count: number;
      reviews?: number;
      doing?: {
        item_id: string;
        type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
        kind?: string;
        title: string;
        target?: string;
      };
      progress?: string;
      text: string;
      children: {
        working: number;
        waiting: number;
        failed: number;
        total: number;
      };
      spent?: {
        input_tokens: number;
        output_tokens: number;
        total_tokens: number;
        cost?: {
          amount: number;
          currency: string;
        };
      };
      changed?: {
        added: number;
        removed: number;
      };
      error?: {
        kind: string;
        message: string;
      };
      interrupted?: boolean;
      review?: Open<"pending" | "approved" | "rejected" | "blocked">;
      reason?: string;
      stop_reason?: string;
      updated_at: string;
      seen_seq: number;
      cwd?: string;
      git?: {
        branch: string;
        added: number;
        removed: number;
        new?: number;
      };
      wakes?: {
        state: Open<"held" | "stalled">;
        reason: Open<"interrupted" | "silent" | "rate" | "chain">;
        since: string;
        until?: string;
        waiting: number;
      };
    };
    inbox: {
      unacked: number;
      pending: number;
    };
  }[];
  counts?: {
    needs_you: number;
    working: number;
    failed: number;
    done: number;
    closed: number;
    waiting_since?: string;
    at_least?: boolean;
  };
  next_cursor?: string;
  latest_seq: number;
};

/** Returns one thread and, with include_turns, its newest 20 turns, newest first; with include_inbox also the policy, the subscriptions and the number of timers of its inbox. */
export interface ThreadReadParams {
  thread_id: string;
  include_turns?: boolean | null;
  include_inbox?: boolean | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ThreadReadResult = {
  thread: {
    thread_id: string;
    session_id: string;
    state: Open<"running" | "paused" | "closing" | "closed">;
    agent: string;
    title?: string;
    title_by?: Open<"client">;
    cwd?: string;
    metadata?: unknown;
    config?: unknown;
    agent_session_id?: string;
    parent?: {
      thread_id: string;
      turn_id?: string;
      attempt?: number;
    };
    job?: string;
    level?: number;
    root_thread_id?: string;
    forked_from?: {
      thread_id: string;
      turn_id?: string;
    };
    reason?: string;
    held?: boolean;
    started_at: string;
    closed_at?: string;
    created_seq: number;
    updated_seq: number;
    latest_seq: number;
    latest_thread_seq: number;
    summary?: {
      title: string;
      status: Open<"closed" | "waiting" | "working" | "failed" | "idle">;
      since: string;
      turn_id?: string;
      queued: number;
      waiting?: {
        item_id: string;
        turn_id: string;
        type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
        title: string;
        since: string;
      }[];
      waiting_count: number;
      reviews?: number;
      doing?: {
        item_id: string;
        type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
        kind?: string;
        title: string;
        target?: string;
      };
      progress?: string;
      text: string;
      children: {
        working: number;
        waiting: number;
        failed: number;
        total: number;
      };
      spent?: {
        input_tokens: number;
        output_tokens: number;
        total_tokens: number;
        cost?: {
          amount: number;
          currency: string;
        };
      };
      changed?: {
        added: number;
        removed: number;
      };
      error?: {
        kind: string;
        message: string;
      };
      interrupted?: boolean;
      review?: Open<"pending" | "approved" | "rejected" | "blocked">;
      reason?: string;
      stop_reason?: string;
      updated_at: string;
      seen_seq: number;
      cwd?: string;
      git?: {
        branch: string;
        added: number;
        removed: number;
        new?: number;
      };
      wakes?: {
        state: Open<"held" | "stalled">;
        reason: Open<"interrupted" | "silent" | "rate" | "chain">;
        since: string;
        until?: string;
        waiting: number;
      };
    };
    inbox: {
      unacked: number;
      pending: number;
    };
  };
  turns?: {
    turn_id: string;
    thread_id: string;
    state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
    attempt: number;
    rank?: number;
    progress?: Open<"starting" | "running" | "waiting" | "interrupting">;
    progress_message?: string;
    origin?: Open<"client" | "queue" | "agent" | "retry" | "wake">;
    message?: string;
    message_truncated?: boolean;
    format?: Open<"markdown" | "plain">;
    reason?: string;
    stop_reason?: string;
    error?: {
      kind: string;
      message: string;
    };
    usage?: {
      type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
      input_tokens: number;
      output_tokens: number;
      cached_tokens?: number;
      reasoning_tokens?: number;
      total_tokens: number;
      context_used?: number;
      context_size?: number;
      cost?: {
        amount: number;
        currency: string;
      };
    };
    undelivered_item_ids?: string[];
    metadata?: unknown;
    parent?: {
      thread_id: string;
      turn_id?: string;
      attempt?: number;
    };
    attention_policy?: Open<"blocking_until_terminal" | "notify_on_terminal">;
    title?: string;
    outside?: boolean;
    root_thread_id?: string;
    job?: string;
    waits_for?: string[];
    prompts?: number;
    prompt_seq?: number;
    accepted_seq?: number;
    review?: {
      policy: Open<"none" | "on_success" | "on_failure" | "always">;
      state?: Open<"pending" | "approved" | "rejected" | "blocked">;
      note?: string;
      by?: Open<"client" | "owner" | "server">;
      reason?: string;
      due_at?: string;
      reviewed_at?: string;
      end_seq?: number;
    };
    continues?: string;
    continuations?: number;
    continued_by?: string;
    requested_by?: string;
    restart_seq?: number;
    timeout_seconds?: number;
    retry?: {
      on_crash?: Open<"interrupt" | "retry">;
      max_attempts?: number;
      backoff_seconds?: number;
      backoff_max_seconds?: number;
    };
    retry_at?: string;
    used_ms?: number;
    uncounted?: number;
    resumable?: boolean;
    suspended_seq?: number;
    wake?: boolean;
    interrupted_by?: Open<"client" | "owner" | "server">;
    chain?: number;
    worker?: string;
    claimed_seq?: number;
    queued_at?: string;
    first_started_at?: string;
    started_at?: string;
    completed_at?: string;
    created_seq: number;
    updated_seq: number;
  }[];
  policy?: {
    enabled?: boolean;
    window_ms?: number;
    max_delay_ms?: number;
    max_items?: number;
    max_digest_age_ms?: number;
    wake?: Open<"idle" | "none">;
    ack?: Open<"turn_end" | "explicit">;
    wake_when?: Open<"settled" | "each">;
    wake_max_wait_ms?: number;
    wake_window_ms?: number;
    told_lease_ms?: number;
    fallback?: boolean;
  };
  policy_set?: {
    thread?: {
      enabled?: boolean;
      window_ms?: number;
      max_delay_ms?: number;
      max_items?: number;
      max_digest_age_ms?: number;
      wake?: Open<"idle" | "none">;
      ack?: Open<"turn_end" | "explicit">;
      wake_when?: Open<"settled" | "each">;
      wake_max_wait_ms?: number;
      wake_window_ms?: number;
      told_lease_ms?: number;
      fallback?: boolean;
    };
    agent?: {
      enabled?: boolean;
      window_ms?: number;
      max_delay_ms?: number;
      max_items?: number;
      max_digest_age_ms?: number;
      wake?: Open<"idle" | "none">;
      ack?: Open<"turn_end" | "explicit">;
      wake_when?: Open<"settled" | "each">;
      wake_max_wait_ms?: number;
      wake_window_ms?: number;
      told_lease_ms?: number;
      fallback?: boolean;
    };
    server?: {
      enabled?: boolean;
      window_ms?: number;
      max_delay_ms?: number;
      max_items?: number;
      max_digest_age_ms?: number;
      wake?: Open<"idle" | "none">;
      ack?: Open<"turn_end" | "explicit">;
      wake_when?: Open<"settled" | "each">;
      wake_max_wait_ms?: number;
      wake_window_ms?: number;
      told_lease_ms?: number;
      fallback?: boolean;
    };
  };
  subscriptions?: {
    subscription_id: string;
    source: string;
    filter?: string;
    thread_ids?: string[];
    methods?: string[];
    created_at: string;
    activity: {
      received: number;
      duplicates: number;
      filtered: number;
      failed: number;
      last_error?: string;
      last_error_at?: string;
    };
  }[];
  timers?: number;
  children: {
    blocking: number;
    notify: number;
    untold: number;
    room: number;
  };
  waits_for?: string[];
  wakes?: {
    state: Open<"held" | "stalled">;
    reason: Open<"interrupted" | "silent" | "rate" | "chain">;
    since: string;
    until?: string;
    waiting: number;
  };
  latest_seq: number;
};

/** Starts a turn, or queues it behind the active one; on_busy can choose something else. With parent it is a child turn, whose end enters the inbox of its owner; with background also in a thread that is not below it. */
export interface TurnStartParams {
  thread_id?: string | null;
  job?: string | null;
  agent?: string | null;
  cwd?: string | null;
  input: {
    type: string;
    role: string;
    content: {
      type: string;
      text?: string | null;
      mime_type?: string | null;
      data?: string | null;
      url?: string | null;
      uri?: string | null;
      name?: string | null;
    }[];
  }[];
  on_busy?: Open<"queue" | "reject" | "interrupt" | "steer"> | null;
  metadata?: unknown;
  timeout_seconds?: number | null;
  parent?: {
    thread_id: string;
    turn_id?: string | null;
    attempt?: number | null;
  } | null;
  background?: boolean | null;
  title?: string | null;
  wait_seconds?: number | null;
  retry?: {
    on_crash?: Open<"interrupt" | "retry"> | null;
    max_attempts?: number | null;
    backoff_seconds?: number | null;
    backoff_max_seconds?: number | null;
  } | null;
  review?: Open<"none" | "on_success" | "on_failure" | "always"> | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TurnStartResult = {
  turn_id: string;
  thread_id: string;
  state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
  started_at?: string;
  queued_at?: string;
  position?: number;
  steered?: boolean;
  item_ids?: string[];
  delivery?: Open<"injected" | "queued">;
  parent?: {
    thread_id: string;
    turn_id?: string;
    attempt?: number;
  };
  attention_policy?: Open<"blocking_until_terminal" | "notify_on_terminal">;
  title?: string;
  job?: string;
  found?: boolean;
  outside?: boolean;
  wake?: string;
  results?: {
    turn_id: string;
    thread_id?: string;
    title?: string;
    job?: string;
    outside?: boolean;
    state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
    attempt?: number;
    stop_reason?: string;
    text?: string;
    text_truncated?: boolean;
    format?: Open<"markdown" | "plain">;
    error?: {
      kind: string;
      message: string;
    };
    usage?: {
      type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
      input_tokens: number;
      output_tokens: number;
      cached_tokens?: number;
      reasoning_tokens?: number;
      total_tokens: number;
      context_used?: number;
      context_size?: number;
      cost?: {
        amount: number;
        currency: string;
      };
    };
    started_at?: string;
    completed_at?: string;
    elapsed_ms: number;
    continued_by?: string;
    review?: {
      policy: Open<"none" | "on_success" | "on_failure" | "always">;
      state?: Open<"pending" | "approved" | "rejected" | "blocked">;
      note?: string;
      by?: Open<"client" | "owner" | "server">;
      reason?: string;
      due_at?: string;
      reviewed_at?: string;
      end_seq?: number;
    };
    entry_id?: string;
  }[];
  detached?: {
    reason: Open<"requested" | "timeout" | "queued" | "owner_ended" | "in_review" | "prompt_limit">;
  };
  reason?: Open<"queued" | "steered">;
  waited?: boolean;
  seq: number;
};

/** Adds text to an active turn: into the running agent, or as its next prompt before the turn ends. */
export interface TurnSteerParams {
  turn_id: string;
  input: {
    type: string;
    role: string;
    content: {
      type: string;
      text?: string | null;
      mime_type?: string | null;
      data?: string | null;
      url?: string | null;
      uri?: string | null;
      name?: string | null;
    }[];
  }[];
  mode?: Open<"auto" | "interrupt"> | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TurnSteerResult = {
  turn_id: string;
  state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
  accepted_items: number;
  item_ids: string[];
  accepted_at: string;
  delivery: Open<"injected" | "queued">;
  seq: number;
};

/** Ends a queued or active turn. Once the request is accepted, the turn ends with turn/interrupted, whatever the agent says. */
export interface TurnInterruptParams {
  turn_id: string;
  reason?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TurnInterruptResult = {
  turn_id: string;
  state: string;
  interrupted_at: string;
  message: string;
  seq: number;
};

/** Retries a turn that has failed or was interrupted, or whose end is or was reviewed: at once, or at the end of the queue if the thread is busy. */
export interface TurnRetryParams {
  turn_id: string;
  reason?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TurnRetryResult = {
  turn_id: string;
  thread_id: string;
  state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
  attempt: number;
  started_at?: string;
  queued_at?: string;
  position?: number;
  seq: number;
};

/** Gives a verdict about the end of a turn that waits for a review. A rejected turn is continued by another one, whose input is the note. */
export interface TurnReviewParams {
  turn_id: string;
  attempt: number;
  verdict: Open<"pending" | "approved" | "rejected" | "blocked">;
  note?: string | null;
  continue?: boolean | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TurnReviewResult = {
  turn_id: string;
  thread_id: string;
  attempt: number;
  state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
  review: {
    policy: Open<"none" | "on_success" | "on_failure" | "always">;
    state?: Open<"pending" | "approved" | "rejected" | "blocked">;
    note?: string;
    by?: Open<"client" | "owner" | "server">;
    reason?: string;
    due_at?: string;
    reviewed_at?: string;
    end_seq?: number;
  };
  continued_by?: string;
  seq: number;
};

/** Detaches a child turn: no turn waits for its end any more, and the inbox of its owner will have it. */
export interface TurnDetachParams {
  turn_id: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TurnDetachResult = {
  turn_id: string;
  attention_policy: Open<"blocking_until_terminal" | "notify_on_terminal">;
  state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
  seq: number;
};

/** Waits for the ends of turns, and returns their results. With owner_thread_id those count as told to the owner's agent. */
export interface TurnAwaitParams {
  owner_thread_id?: string | null;
  turn_ids?: string[] | null;
  timeout_seconds?: number | null;
  wait_for?: Open<"any" | "all"> | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TurnAwaitResult = {
  results: {
    turn_id: string;
    thread_id?: string;
    title?: string;
    job?: string;
    outside?: boolean;
    state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
    attempt?: number;
    stop_reason?: string;
    text?: string;
    text_truncated?: boolean;
    format?: Open<"markdown" | "plain">;
    error?: {
      kind: string;
      message: string;
    };
    usage?: {
      type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
      input_tokens: number;
      output_tokens: number;
      cached_tokens?: number;
      reasoning_tokens?: number;
      total_tokens: number;
      context_used?: number;
      context_size?: number;
      cost?: {
        amount: number;
        currency: string;
      };
    };
    started_at?: string;
    completed_at?: string;
    elapsed_ms: number;
    continued_by?: string;
    review?: {
      policy: Open<"none" | "on_success" | "on_failure" | "always">;
      state?: Open<"pending" | "approved" | "rejected" | "blocked">;
      note?: string;
      by?: Open<"client" | "owner" | "server">;
      reason?: string;
      due_at?: string;
      reviewed_at?: string;
      end_seq?: number;
    };
    entry_id?: string;
  }[];
  timed_out: boolean;
  reason?: Open<"queued" | "steered">;
  seq: number;
};

/** Returns one turn and, with include_items, the first page of its items. */
export interface TurnReadParams {
  turn_id: string;
  include_items?: boolean | null;
  include_superseded?: boolean | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TurnReadResult = {
  turn: {
    turn_id: string;
    thread_id: string;
    state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
    attempt: number;
    rank?: number;
    progress?: Open<"starting" | "running" | "waiting" | "interrupting">;
    progress_message?: string;
    origin?: Open<"client" | "queue" | "agent" | "retry" | "wake">;
    message?: string;
    message_truncated?: boolean;
    format?: Open<"markdown" | "plain">;
    reason?: string;
    stop_reason?: string;
    error?: {
      kind: string;
      message: string;
    };
    usage?: {
      type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
      input_tokens: number;
      output_tokens: number;
      cached_tokens?: number;
      reasoning_tokens?: number;
      total_tokens: number;
      context_used?: number;
      context_size?: number;
      cost?: {
        amount: number;
        currency: string;
      };
    };
    undelivered_item_ids?: string[];
    metadata?: unknown;
    parent?: {
      thread_id: string;
      turn_id?: string;
      attempt?: number;
    };
    attention_policy?: Open<"blocking_until_terminal" | "notify_on_terminal">;
    title?: string;
    outside?: boolean;
    root_thread_id?: string;
    job?: string;
    waits_for?: string[];
    prompts?: number;
    prompt_seq?: number;
    accepted_seq?: number;
    review?: {
      policy: Open<"none" | "on_success" | "on_failure" | "always">;
      state?: Open<"pending" | "approved" | "rejected" | "blocked">;
      note?: string;
      by?: Open<"client" | "owner" | "server">;
      reason?: string;
      due_at?: string;
      reviewed_at?: string;
      end_seq?: number;
    };
    continues?: string;
    continuations?: number;
    continued_by?: string;
    requested_by?: string;
    restart_seq?: number;
    timeout_seconds?: number;
    retry?: {
      on_crash?: Open<"interrupt" | "retry">;
      max_attempts?: number;
      backoff_seconds?: number;
      backoff_max_seconds?: number;
    };
    retry_at?: string;
    used_ms?: number;
    uncounted?: number;
    resumable?: boolean;
    suspended_seq?: number;
    wake?: boolean;
    interrupted_by?: Open<"client" | "owner" | "server">;
    chain?: number;
    worker?: string;
    claimed_seq?: number;
    queued_at?: string;
    first_started_at?: string;
    started_at?: string;
    completed_at?: string;
    created_seq: number;
    updated_seq: number;
  };
  attempts?: {
    seq: number;
    thread_id: string;
    turn_id: string;
    step: string;
    epoch: number;
    lineage: {
      step: string;
      epoch: number;
    }[];
    status: Open<"in_progress" | "completed" | "interrupted" | "failed">;
    superseded?: boolean;
    superseded_by_seq?: number;
    late?: number;
    started_at: string;
    ended_at?: string;
    updated_seq: number;
  }[];
  steps?: {
    seq: number;
    thread_id: string;
    turn_id: string;
    step: string;
    epoch: number;
    lineage: {
      step: string;
      epoch: number;
    }[];
    status: Open<"in_progress" | "completed" | "interrupted" | "failed">;
    superseded?: boolean;
    superseded_by_seq?: number;
    late?: number;
    started_at: string;
    ended_at?: string;
    updated_seq: number;
  }[];
  items?: {
    item_id: string;
    thread_id: string;
    turn_id?: string;
    attempt?: number;
    step?: string;
    epoch?: number;
    lineage?: {
      step: string;
      epoch: number;
    }[];
    type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
    status: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted">;
    content: ItemContent;
    truncated?: boolean;
    total_bytes?: number;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
    superseded?: boolean;
    superseded_by_seq?: number;
  }[];
  next_cursor?: string;
  latest_seq: number;
};

/** Lists turns, the oldest first; with order desc, the newest first. */
export interface TurnListParams {
  thread_id?: string | null;
  parent_thread_id?: string | null;
  state?: Open<"queued" | "active" | "completed" | "interrupted" | "failed"> | null;
  review?: Open<"pending" | "approved" | "rejected" | "blocked"> | null;
  ended_by?: string | null;
  after_seq?: number | null;
  limit?: number | null;
  cursor?: string | null;
  order?: Open<"asc" | "desc"> | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TurnListResult = {
  turns: {
    turn_id: string;
    thread_id: string;
    state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
    attempt: number;
    rank?: number;
    progress?: Open<"starting" | "running" | "waiting" | "interrupting">;
    progress_message?: string;
    origin?: Open<"client" | "queue" | "agent" | "retry" | "wake">;
    message?: string;
    message_truncated?: boolean;
    format?: Open<"markdown" | "plain">;
    reason?: string;
    stop_reason?: string;
    error?: {
      kind: string;
      message: string;
    };
    usage?: {
      type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
      input_tokens: number;
      output_tokens: number;
      cached_tokens?: number;
      reasoning_tokens?: number;
      total_tokens: number;
      context_used?: number;
      context_size?: number;
      cost?: {
        amount: number;
        currency: string;
      };
    };
    undelivered_item_ids?: string[];
    metadata?: unknown;
    parent?: {
      thread_id: string;
      turn_id?: string;
      attempt?: number;
    };
    attention_policy?: Open<"blocking_until_terminal" | "notify_on_terminal">;
    title?: string;
    outside?: boolean;
    root_thread_id?: string;
    job?: string;
    waits_for?: string[];
    prompts?: number;
    prompt_seq?: number;
    accepted_seq?: number;
    review?: {
      policy: Open<"none" | "on_success" | "on_failure" | "always">;
      state?: Open<"pending" | "approved" | "rejected" | "blocked">;
      note?: string;
      by?: Open<"client" | "owner" | "server">;
      reason?: string;
      due_at?: string;
      reviewed_at?: string;
      end_seq?: number;
    };
    continues?: string;
    continuations?: number;
    continued_by?: string;
    requested_by?: string;
    restart_seq?: number;
    timeout_seconds?: number;
    retry?: {
      on_crash?: Open<"interrupt" | "retry">;
      max_attempts?: number;
      backoff_seconds?: number;
      backoff_max_seconds?: number;
    };
    retry_at?: string;
    used_ms?: number;
    uncounted?: number;
    resumable?: boolean;
    suspended_seq?: number;
    wake?: boolean;
    interrupted_by?: Open<"client" | "owner" | "server">;
    chain?: number;
    worker?: string;
    claimed_seq?: number;
    queued_at?: string;
    first_started_at?: string;
    started_at?: string;
    completed_at?: string;
    created_seq: number;
    updated_seq: number;
  }[];
  next_cursor?: string;
  latest_seq: number;
};

/** Lists items, the oldest first; with order desc, the newest first. With status pending: every open question. */
export interface ItemListParams {
  thread_id?: string | null;
  turn_id?: string | null;
  status?: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted"> | null;
  type?: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension"> | null;
  include_superseded?: boolean | null;
  limit?: number | null;
  cursor?: string | null;
  order?: Open<"asc" | "desc"> | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ItemListResult = {
  items: {
    item_id: string;
    thread_id: string;
    turn_id?: string;
    attempt?: number;
    step?: string;
    epoch?: number;
    lineage?: {
      step: string;
      epoch: number;
    }[];
    type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
    status: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted">;
    content: ItemContent;
    truncated?: boolean;
    total_bytes?: number;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
    superseded?: boolean;
    superseded_by_seq?: number;
  }[];
  next_cursor?: string;
  latest_seq: number;
};

/** Returns one item; an open one with its text so far. */
export interface ItemReadParams {
  item_id: string;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ItemReadResult = {
  item: {
    item_id: string;
    thread_id: string;
    turn_id?: string;
    attempt?: number;
    step?: string;
    epoch?: number;
    lineage?: {
      step: string;
      epoch: number;
    }[];
    type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
    status: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted">;
    content: ItemContent;
    truncated?: boolean;
    total_bytes?: number;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
    superseded?: boolean;
    superseded_by_seq?: number;
  };
  latest_seq: number;
};

/** Answers a permission_request or a question. The first answer wins. */
export interface ItemRespondParams {
  item_id: string;
  option_id?: string | null;
  kind?: string | null;
  outcome?: string | null;
  answer?: unknown;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ItemRespondResult = {
  item_id: string;
  status: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted">;
  outcome: {
    type: string;
    option_id?: string;
    kind?: string;
    reason?: string;
  };
  seq: number;
};

/** Claims the next turn of an agent of kind worker, and waits for one up to wait_seconds. The worker sends the lease with every request about the turn. */
export interface TurnClaimParams {
  agent: string;
  worker?: string | null;
  wait_seconds?: number | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TurnClaimResult = {
  turn: {
    turn_id: string;
    thread_id: string;
    state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
    attempt: number;
    rank?: number;
    progress?: Open<"starting" | "running" | "waiting" | "interrupting">;
    progress_message?: string;
    origin?: Open<"client" | "queue" | "agent" | "retry" | "wake">;
    message?: string;
    message_truncated?: boolean;
    format?: Open<"markdown" | "plain">;
    reason?: string;
    stop_reason?: string;
    error?: {
      kind: string;
      message: string;
    };
    usage?: {
      type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
      input_tokens: number;
      output_tokens: number;
      cached_tokens?: number;
      reasoning_tokens?: number;
      total_tokens: number;
      context_used?: number;
      context_size?: number;
      cost?: {
        amount: number;
        currency: string;
      };
    };
    undelivered_item_ids?: string[];
    metadata?: unknown;
    parent?: {
      thread_id: string;
      turn_id?: string;
      attempt?: number;
    };
    attention_policy?: Open<"blocking_until_terminal" | "notify_on_terminal">;
    title?: string;
    outside?: boolean;
    root_thread_id?: string;
    job?: string;
    waits_for?: string[];
    prompts?: number;
    prompt_seq?: number;
    accepted_seq?: number;
    review?: {
      policy: Open<"none" | "on_success" | "on_failure" | "always">;
      state?: Open<"pending" | "approved" | "rejected" | "blocked">;
      note?: string;
      by?: Open<"client" | "owner" | "server">;
      reason?: string;
      due_at?: string;
      reviewed_at?: string;
      end_seq?: number;
    };
    continues?: string;
    continuations?: number;
    continued_by?: string;
    requested_by?: string;
    restart_seq?: number;
    timeout_seconds?: number;
    retry?: {
      on_crash?: Open<"interrupt" | "retry">;
      max_attempts?: number;
      backoff_seconds?: number;
      backoff_max_seconds?: number;
    };
    retry_at?: string;
    used_ms?: number;
    uncounted?: number;
    resumable?: boolean;
    suspended_seq?: number;
    wake?: boolean;
    interrupted_by?: Open<"client" | "owner" | "server">;
    chain?: number;
    worker?: string;
    claimed_seq?: number;
    queued_at?: string;
    first_started_at?: string;
    started_at?: string;
    completed_at?: string;
    created_seq: number;
    updated_seq: number;
  } | null;
  cwd?: string;
  input?: {
    item_id: string;
    type: string;
    role: string;
    content: {
      type: string;
      text?: string;
      mime_type?: string;
      data?: string;
      url?: string;
      uri?: string;
      name?: string;
    }[];
  }[];
  lease?: {
    turn_id: string;
    attempt: number;
    prompt?: number;
    token: string;
    expires_at?: string;
  };
  access?: {
    url: string;
    mcp_url: string;
    token: string;
  };
  seq: number;
};

/** Renews a lease for another period, and returns the interrupt and the steers that were requested meanwhile. */
export interface TurnRenewParams {
  lease: {
    turn_id: string;
    attempt: number;
    prompt?: number | null;
    token: string;
    expires_at?: string | null;
  };
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TurnRenewResult = {
  expires_at: string;
  interrupt_requested: boolean;
  steers: {
    item_id: string;
    type: string;
    role: string;
    content: {
      type: string;
      text?: string;
      mime_type?: string;
      data?: string;
      url?: string;
      uri?: string;
      name?: string;
    }[];
  }[];
  seq: number;
};

/** Begins a try of a step of a leased turn. It supersedes an earlier try of the step. */
export interface StepStartParams {
  lease: {
    turn_id: string;
    attempt: number;
    prompt?: number | null;
    token: string;
    expires_at?: string | null;
  };
  step: string;
  reason?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type StepStartResult = {
  step: string;
  epoch: number;
  seq: number;
};

/** Ends a try of a step of a leased turn, and of the steps below it. */
export interface StepEndParams {
  lease: {
    turn_id: string;
    attempt: number;
    prompt?: number | null;
    token: string;
    expires_at?: string | null;
  };
  step: string;
  epoch?: number | null;
  status?: Open<"in_progress" | "completed" | "interrupted" | "failed"> | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type StepEndResult = {
  step: string;
  epoch: number;
  status: Open<"in_progress" | "completed" | "interrupted" | "failed">;
  seq: number;
};

/** Creates an item of a leased turn. */
export interface ItemCreateParams {
  lease: {
    turn_id: string;
    attempt: number;
    prompt?: number | null;
    token: string;
    expires_at?: string | null;
  };
  item_id?: string | null;
  step?: string | null;
  epoch?: number | null;
  status?: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted"> | null;
  content: ItemContent;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ItemCreateResult = {
  item_id: string;
  status: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted">;
  seq: number;
};

/** Adds text to an open item of a leased turn. */
export interface ItemAppendParams {
  lease: {
    turn_id: string;
    attempt: number;
    prompt?: number | null;
    token: string;
    expires_at?: string | null;
  };
  item_id: string;
  text: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ItemAppendResult = {
  item_id: string;
  status: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted">;
  seq: number;
};

/** Changes or ends an open item of a leased turn. */
export interface ItemUpdateParams {
  lease: {
    turn_id: string;
    attempt: number;
    prompt?: number | null;
    token: string;
    expires_at?: string | null;
  };
  item_id: string;
  status?: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted"> | null;
  content?: ItemContent;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ItemUpdateResult = {
  item_id: string;
  status: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted">;
  seq: number;
};

/** Withdraws an item of a leased turn. */
export interface ItemDeleteParams {
  lease: {
    turn_id: string;
    attempt: number;
    prompt?: number | null;
    token: string;
    expires_at?: string | null;
  };
  item_id: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ItemDeleteResult = {
  item_id: string;
  status: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted">;
  seq: number;
};

/** Does several of item/create, append, update and delete in one transaction: all of them or none. */
export interface ItemBatchParams {
  lease: {
    turn_id: string;
    attempt: number;
    prompt?: number | null;
    token: string;
    expires_at?: string | null;
  };
  ops: {
    op: Open<"create" | "append" | "update" | "delete">;
    item_id?: string | null;
    step?: string | null;
    epoch?: number | null;
    status?: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted"> | null;
    content?: ItemContent;
    text?: string | null;
  }[];
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type ItemBatchResult = {
  items: {
    item_id: string;
    status: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted">;
  }[];
  seq: number;
};

/** Ends a leased turn successfully. */
export interface TurnCompleteParams {
  lease: {
    turn_id: string;
    attempt: number;
    prompt?: number | null;
    token: string;
    expires_at?: string | null;
  };
  message?: string | null;
  format?: Open<"markdown" | "plain"> | null;
  usage?: {
    type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
    input_tokens: number;
    output_tokens: number;
    cached_tokens?: number | null;
    reasoning_tokens?: number | null;
    total_tokens: number;
    context_used?: number | null;
    context_size?: number | null;
    cost?: {
      amount: number;
      currency: string;
    } | null;
  } | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TurnCompleteResult = {
  turn_id: string;
  state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
  retry_at?: string;
  waits_for?: string[];
  seq: number;
};

/** Ends the attempt of a lease as failed. If the failure is transient, the turn's policy may retry the turn. */
export interface TurnFailParams {
  lease: {
    turn_id: string;
    attempt: number;
    prompt?: number | null;
    token: string;
    expires_at?: string | null;
  };
  error: {
    kind: string;
    message: string;
  };
  transient?: boolean | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TurnFailResult = {
  turn_id: string;
  state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
  retry_at?: string;
  waits_for?: string[];
  seq: number;
};

/** Stores items in the inbox of a thread, all of them or none. An item whose source and native_id the inbox has seen changes nothing. */
export interface InboxIngestParams {
  thread_id: string;
  items: {
    source: string;
    native_id: string;
    occurred_at?: string | null;
    summary?: string | null;
    payload?: unknown;
    grouping?: {
      resource_ref?: string | null;
      event_family?: string | null;
      flush?: Open<"normal" | "immediate" | "first" | "passive"> | null;
      breaks?: Open<"none" | "before" | "after"> | null;
    } | null;
    about?: string | null;
    outcome?: string | null;
  }[];
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type InboxIngestResult = {
  results: {
    raw_id?: string;
    entry_id?: string;
    digest_id?: string;
    duplicate: boolean;
  }[];
  seq: number;
};

/** Stores a message in the inbox of a thread. */
export interface InboxSendParams {
  thread_id: string;
  text: string;
  sender?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type InboxSendResult = {
  raw_id?: string;
  entry_id?: string;
  digest_id?: string;
  duplicate: boolean;
  seq: number;
};

/** Changes the policy of an inbox: how items are grouped, and what follows from new entries. */
export interface InboxConfigureParams {
  thread_id: string;
  policy?: {
    enabled?: boolean | null;
    window_ms?: number | null;
    max_delay_ms?: number | null;
    max_items?: number | null;
    max_digest_age_ms?: number | null;
    wake?: Open<"idle" | "none"> | null;
    ack?: Open<"turn_end" | "explicit"> | null;
    wake_when?: Open<"settled" | "each"> | null;
    wake_max_wait_ms?: number | null;
    wake_window_ms?: number | null;
    told_lease_ms?: number | null;
    fallback?: boolean | null;
  } | null;
  reset?: string[] | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type InboxConfigureResult = {
  thread_id: string;
  policy: {
    enabled?: boolean;
    window_ms?: number;
    max_delay_ms?: number;
    max_items?: number;
    max_digest_age_ms?: number;
    wake?: Open<"idle" | "none">;
    ack?: Open<"turn_end" | "explicit">;
    wake_when?: Open<"settled" | "each">;
    wake_max_wait_ms?: number;
    wake_window_ms?: number;
    told_lease_ms?: number;
    fallback?: boolean;
  };
  seq: number;
};

/** Returns entries of an inbox: by default those that are neither acknowledged nor superseded, the oldest first. */
export interface InboxReadParams {
  thread_id: string;
  after_entry_id?: string | null;
  include_acked?: boolean | null;
  include_superseded?: boolean | null;
  include_item_ids?: boolean | null;
  limit?: number | null;
  order?: Open<"asc" | "desc"> | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type InboxReadResult = {
  entries: {
    entry_id: string;
    kind: Open<"item" | "snapshot">;
    digest_id?: string;
    revision?: number;
    source: string;
    resource_ref?: string;
    event_family?: string;
    fallback?: boolean;
    summary: string;
    link?: string;
    count: number;
    last_raw_id: string;
    first_at: string;
    last_at: string;
    posted_at: string;
    told_by_turn_id?: string;
    acked_at?: string;
    superseded_by?: string;
    item_ids?: string[];
    more_items?: boolean;
  }[];
  as_of_seq: number;
  next_after_entry_id?: string;
  unacked_entries: number;
  pending_items: number;
};

/** Returns the raw items of an entry with their payloads, the oldest first. */
export interface InboxExpandParams {
  thread_id: string;
  entry_id: string;
  after_raw_id?: string | null;
  limit?: number | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type InboxExpandResult = {
  items: {
    raw_id: string;
    state: string;
    source: string;
    native_id: string;
    occurred_at: string;
    received_at: string;
    sender?: string;
    summary?: string;
    about?: string;
    outcome?: string;
    link?: string;
    payload?: unknown;
    truncated?: boolean;
    total_bytes?: number;
    digest_id?: string;
    subscription_ids?: string[];
    acked_at?: string;
  }[];
  next_after_raw_id?: string;
  as_of_seq: number;
};

/** Returns the raw items of an inbox without their payloads, also those that no entry shows yet: the newest first; with order asc, the oldest first. */
export interface InboxItemsParams {
  thread_id: string;
  state?: string | null;
  source?: string | null;
  digest_id?: string | null;
  limit?: number | null;
  cursor?: string | null;
  order?: Open<"asc" | "desc"> | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type InboxItemsResult = {
  items: {
    raw_id: string;
    state: string;
    source: string;
    native_id: string;
    occurred_at: string;
    received_at: string;
    sender?: string;
    summary?: string;
    about?: string;
    outcome?: string;
    link?: string;
    payload?: unknown;
    truncated?: boolean;
    total_bytes?: number;
    digest_id?: string;
    subscription_ids?: string[];
    acked_at?: string;
  }[];
  next_cursor?: string;
  latest_seq: number;
};

/** Acknowledges exactly the raw items of entries, or exactly those that are named. What has arrived since stays. */
export interface InboxAckParams {
  thread_id: string;
  entry_ids?: string[] | null;
  raw_ids?: string[] | null;
  through_entry_id?: string | null;
  all?: boolean | null;
  as_of_seq?: number | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type InboxAckResult = {
  acked_entries: number;
  acked_items: number;
  remainder_entry_ids: string[];
  seq: number;
};

/** Posts what is pending in one digest, or in all of an inbox, at once. */
export interface InboxFlushParams {
  thread_id: string;
  digest_id?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type InboxFlushResult = {
  entry_ids: string[];
  seq: number;
};

/** Makes entries new again that an agent was told and that are not acknowledged, and ends held and stalled. */
export interface InboxWakeParams {
  thread_id: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type InboxWakeResult = {
  entry_ids: string[];
  seq: number;
};

/** Connects a source to an inbox: a configured one, or the events of other threads. */
export interface InboxSubscribeParams {
  thread_id: string;
  subscription_id?: string | null;
  source: string;
  filter?: string | null;
  thread_ids?: string[] | null;
  methods?: string[] | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type InboxSubscribeResult = {
  subscription: {
    subscription_id: string;
    source: string;
    filter?: string;
    thread_ids?: string[];
    methods?: string[];
    created_at: string;
  };
  created: boolean;
  seq: number;
};

/** Disconnects a source from an inbox. */
export interface InboxUnsubscribeParams {
  thread_id: string;
  subscription_id: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type InboxUnsubscribeResult = {
  subscription_id: string;
  seq: number;
};

/** Creates a timer of a thread. Each firing is an item in the thread's inbox. */
export interface TimerCreateParams {
  thread_id: string;
  timer_id?: string | null;
  at?: string | null;
  every_seconds?: number | null;
  cron?: string | null;
  timezone?: string | null;
  text: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TimerCreateResult = {
  timer: {
    timer_id: string;
    at?: string;
    every_seconds?: number;
    cron?: string;
    timezone?: string;
    text: string;
    next_at: string;
    created_at: string;
    last_fired_at?: string;
  };
  created: boolean;
  seq: number;
};

/** Lists the timers of a thread, the oldest first. */
export interface TimerListParams {
  thread_id: string;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TimerListResult = {
  timers: {
    timer_id: string;
    at?: string;
    every_seconds?: number;
    cron?: string;
    timezone?: string;
    text: string;
    next_at: string;
    created_at: string;
    last_fired_at?: string;
  }[];
  latest_seq: number;
};

/** Deletes a timer. */
export interface TimerDeleteParams {
  thread_id: string;
  timer_id: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TimerDeleteResult = {
  timer_id: string;
  seq: number;
};

/** Confirms what a consumer has handled of a stream. A cursor only advances. */
export interface CursorAdvanceParams {
  consumer_id: string;
  stream_name: string;
  subject_id?: string | null;
  last_sequence: number;
  delivery_id?: string | null;
  delivered_at?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type CursorAdvanceResult = {
  cursor: {
    consumer_id: string;
    stream_name: string;
    subject_id: string;
    exists: boolean;
    last_sequence: number;
    last_delivery_id?: string;
    last_delivered_at?: string;
    last_error?: string;
    scanned_seq?: number;
    updated_at?: string;
  };
  seq: number;
};

/** Records in a cursor that its consumer has failed. */
export interface CursorErrorParams {
  consumer_id: string;
  stream_name: string;
  subject_id?: string | null;
  error: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type CursorErrorResult = {
  cursor: {
    consumer_id: string;
    stream_name: string;
    subject_id: string;
    exists: boolean;
    last_sequence: number;
    last_delivery_id?: string;
    last_delivered_at?: string;
    last_error?: string;
    scanned_seq?: number;
    updated_at?: string;
  };
  seq: number;
};

/** Sets a cursor to another sequence: the only way down. */
export interface CursorResetParams {
  consumer_id: string;
  stream_name: string;
  subject_id?: string | null;
  last_sequence: number;
  reason: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type CursorResetResult = {
  cursor: {
    consumer_id: string;
    stream_name: string;
    subject_id: string;
    exists: boolean;
    last_sequence: number;
    last_delivery_id?: string;
    last_delivered_at?: string;
    last_error?: string;
    scanned_seq?: number;
    updated_at?: string;
  };
  seq: number;
};

/** Deletes a cursor. */
export interface CursorDeleteParams {
  consumer_id: string;
  stream_name: string;
  subject_id?: string | null;
  reason: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type CursorDeleteResult = {
  cursor: {
    consumer_id: string;
    stream_name: string;
    subject_id: string;
    exists: boolean;
    last_sequence: number;
    last_delivery_id?: string;
    last_delivered_at?: string;
    last_error?: string;
    scanned_seq?: number;
    updated_at?: string;
  };
  seq: number;
};

/** Returns a cursor, or its zero state. */
export interface CursorReadParams {
  consumer_id: string;
  stream_name: string;
  subject_id?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type CursorReadResult = {
  cursor: {
    consumer_id: string;
    stream_name: string;
    subject_id: string;
    exists: boolean;
    last_sequence: number;
    last_delivery_id?: string;
    last_delivered_at?: string;
    last_error?: string;
    scanned_seq?: number;
    updated_at?: string;
  };
  latest_seq: number;
};

/** Lists cursors, those of the server's own consumers too. */
export interface CursorListParams {
  consumer_id?: string | null;
  stream_name?: string | null;
  subject_id?: string | null;
  limit?: number | null;
  cursor?: string | null;
  order?: Open<"asc" | "desc"> | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type CursorListResult = {
  cursors: {
    consumer_id: string;
    stream_name: string;
    subject_id: string;
    exists: boolean;
    last_sequence: number;
    last_delivery_id?: string;
    last_delivered_at?: string;
    last_error?: string;
    scanned_seq?: number;
    updated_at?: string;
  }[];
  next_cursor?: string;
  latest_seq: number;
};

/** Creates a bridge: a channel to where people are, with its credentials. Without a secret for a webhook the server makes one, and answers it once. */
export interface BridgeCreateParams {
  bridge_id?: string | null;
  kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
  on_pause?: Open<"wait" | "drop"> | null;
  url?: string | null;
  server?: string | null;
  api_url?: string | null;
  targets?: {
    topic?: string | null;
    channel?: string | null;
    thread_ts?: string | null;
    repository?: string | null;
    number?: number | null;
  }[] | null;
  secret?: string | null;
  token?: string | null;
  webhook_url?: string | null;
  topic?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type BridgeCreateResult = {
  bridge: {
    bridge_id: string;
    kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    configured: boolean;
    on_pause: Open<"wait" | "drop">;
    url?: string;
    server?: string;
    api_url?: string;
    targets?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    }[];
    secret_hint?: string;
    rotated_at?: string;
    held_until?: string;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
  };
  seq: number;
  secret?: string;
};

/** Lists bridges by their ids, those of the configuration too. */
export interface BridgeListParams {
  limit?: number | null;
  cursor?: string | null;
  order?: Open<"asc" | "desc"> | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type BridgeListResult = {
  bridges: {
    bridge_id: string;
    kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    configured: boolean;
    on_pause: Open<"wait" | "drop">;
    url?: string;
    server?: string;
    api_url?: string;
    targets?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    }[];
    secret_hint?: string;
    rotated_at?: string;
    held_until?: string;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
  }[];
  next_cursor?: string;
  latest_seq: number;
};

/** Returns one bridge, without its secrets. */
export interface BridgeReadParams {
  bridge_id: string;
  _meta?: unknown;
  extended_context?: unknown;
}
export type BridgeReadResult = {
  bridge: {
    bridge_id: string;
    kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    configured: boolean;
    on_pause: Open<"wait" | "drop">;
    url?: string;
    server?: string;
    api_url?: string;
    targets?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    }[];
    secret_hint?: string;
    rotated_at?: string;
    held_until?: string;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
  };
  latest_seq: number;
};

/** Changes members of a bridge that are not secret. */
export interface BridgeUpdateParams {
  bridge_id: string;
  on_pause?: Open<"wait" | "drop"> | null;
  url?: string | null;
  server?: string | null;
  api_url?: string | null;
  targets?: {
    topic?: string | null;
    channel?: string | null;
    thread_ts?: string | null;
    repository?: string | null;
    number?: number | null;
  }[] | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type BridgeUpdateResult = {
  bridge: {
    bridge_id: string;
    kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    configured: boolean;
    on_pause: Open<"wait" | "drop">;
    url?: string;
    server?: string;
    api_url?: string;
    targets?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    }[];
    secret_hint?: string;
    rotated_at?: string;
    held_until?: string;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
  };
  seq: number;
  secret?: string;
};

/** Pauses a bridge: nothing is sent through it. */
export interface BridgePauseParams {
  bridge_id: string;
  reason?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type BridgePauseResult = {
  bridge: {
    bridge_id: string;
    kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    configured: boolean;
    on_pause: Open<"wait" | "drop">;
    url?: string;
    server?: string;
    api_url?: string;
    targets?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    }[];
    secret_hint?: string;
    rotated_at?: string;
    held_until?: string;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
  };
  seq: number;
  secret?: string;
};

/** Lets a bridge send again that was paused or disabled. */
export interface BridgeResumeParams {
  bridge_id: string;
  reason?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type BridgeResumeResult = {
  bridge: {
    bridge_id: string;
    kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    configured: boolean;
    on_pause: Open<"wait" | "drop">;
    url?: string;
    server?: string;
    api_url?: string;
    targets?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    }[];
    secret_hint?: string;
    rotated_at?: string;
    held_until?: string;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
  };
  seq: number;
  secret?: string;
};

/** Sends a message that says that it is a test, once, and returns what came of it. */
export interface BridgeTestParams {
  bridge_id: string;
  target?: {
    topic?: string | null;
    channel?: string | null;
    thread_ts?: string | null;
    repository?: string | null;
    number?: number | null;
  } | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type BridgeTestResult = {
  delivered: boolean;
  status?: number;
  error?: string;
  latency_ms: number;
};

/** Gives a bridge new secrets. For 24 hours webhooks are signed with both. Without a secret for a webhook the server makes one, and answers it once. */
export interface BridgeRotateSecretParams {
  bridge_id: string;
  secret?: string | null;
  token?: string | null;
  webhook_url?: string | null;
  topic?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type BridgeRotateSecretResult = {
  bridge: {
    bridge_id: string;
    kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    configured: boolean;
    on_pause: Open<"wait" | "drop">;
    url?: string;
    server?: string;
    api_url?: string;
    targets?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    }[];
    secret_hint?: string;
    rotated_at?: string;
    held_until?: string;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
  };
  seq: number;
  secret?: string;
};

/** Deletes a bridge, and with cascade its subscriptions. */
export interface BridgeDeleteParams {
  bridge_id: string;
  cascade?: boolean | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type BridgeDeleteResult = {
  bridge: {
    bridge_id: string;
    kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    configured: boolean;
    on_pause: Open<"wait" | "drop">;
    url?: string;
    server?: string;
    api_url?: string;
    targets?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    }[];
    secret_hint?: string;
    rotated_at?: string;
    held_until?: string;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
  };
  seq: number;
  secret?: string;
};

/** Creates a subscription, which sends the news of one thread, of one turn, or of all, through a bridge to one target; or finds the one of this id. */
export interface SubscriptionCreateParams {
  subscription_id?: string | null;
  bridge_id: string;
  target?: {
    topic?: string | null;
    channel?: string | null;
    thread_ts?: string | null;
    repository?: string | null;
    number?: number | null;
  } | null;
  thread_id?: string | null;
  turn_id?: string | null;
  on?: Array<Open<"final" | "questions" | "progress" | "inbox">> | null;
  methods?: string[] | null;
  from?: string | number | null;
  include_text?: boolean | null;
  order?: Open<"turn" | "strict"> | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type SubscriptionCreateResult = {
  subscription: {
    subscription_id: string;
    bridge_id: string;
    target?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    };
    thread_id?: string;
    turn_id?: string;
    on?: Array<Open<"final" | "questions" | "progress" | "inbox">>;
    methods?: string[];
    include_text?: boolean;
    order: Open<"turn" | "strict">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    generation: number;
    from_seq: number;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
    cursor: {
      consumer_id: string;
      stream_name: string;
      subject_id: string;
      exists: boolean;
      last_sequence: number;
      last_delivery_id?: string;
      last_delivered_at?: string;
      last_error?: string;
      scanned_seq?: number;
      updated_at?: string;
    };
    blocked?: {
      seq: number;
      delivery_id: string;
      count: number;
      holds: string;
      since: string;
    };
    pending: number;
    dead: number;
    next_attempt_at?: string;
  };
  created?: boolean;
  seq: number;
  latest_seq: number;
};

/** Changes what a subscription chooses from now on, or where it sends: at the same position, and what was not sent yet goes there. */
export interface SubscriptionUpdateParams {
  subscription_id: string;
  bridge_id?: string | null;
  target?: {
    topic?: string | null;
    channel?: string | null;
    thread_ts?: string | null;
    repository?: string | null;
    number?: number | null;
  } | null;
  on?: Array<Open<"final" | "questions" | "progress" | "inbox">> | null;
  methods?: string[] | null;
  include_text?: boolean | null;
  order?: Open<"turn" | "strict"> | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type SubscriptionUpdateResult = {
  subscription: {
    subscription_id: string;
    bridge_id: string;
    target?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    };
    thread_id?: string;
    turn_id?: string;
    on?: Array<Open<"final" | "questions" | "progress" | "inbox">>;
    methods?: string[];
    include_text?: boolean;
    order: Open<"turn" | "strict">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    generation: number;
    from_seq: number;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
    cursor: {
      consumer_id: string;
      stream_name: string;
      subject_id: string;
      exists: boolean;
      last_sequence: number;
      last_delivery_id?: string;
      last_delivered_at?: string;
      last_error?: string;
      scanned_seq?: number;
      updated_at?: string;
    };
    blocked?: {
      seq: number;
      delivery_id: string;
      count: number;
      holds: string;
      since: string;
    };
    pending: number;
    dead: number;
    next_attempt_at?: string;
  };
  created?: boolean;
  seq: number;
  latest_seq: number;
};

/** Lists subscriptions, the oldest first; with order desc, the newest first. */
export interface SubscriptionListParams {
  bridge_id?: string | null;
  thread_id?: string | null;
  include_deleted?: boolean | null;
  include_ended?: boolean | null;
  limit?: number | null;
  cursor?: string | null;
  order?: Open<"asc" | "desc"> | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type SubscriptionListResult = {
  subscriptions: {
    subscription_id: string;
    bridge_id: string;
    target?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    };
    thread_id?: string;
    turn_id?: string;
    on?: Array<Open<"final" | "questions" | "progress" | "inbox">>;
    methods?: string[];
    include_text?: boolean;
    order: Open<"turn" | "strict">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    generation: number;
    from_seq: number;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
    cursor: {
      consumer_id: string;
      stream_name: string;
      subject_id: string;
      exists: boolean;
      last_sequence: number;
      last_delivery_id?: string;
      last_delivered_at?: string;
      last_error?: string;
      scanned_seq?: number;
      updated_at?: string;
    };
    blocked?: {
      seq: number;
      delivery_id: string;
      count: number;
      holds: string;
      since: string;
    };
    pending: number;
    dead: number;
    next_attempt_at?: string;
  }[];
  next_cursor?: string;
  latest_seq: number;
};

/** Returns one subscription with its cursor, one that was deleted or has ended too. */
export interface SubscriptionReadParams {
  subscription_id: string;
  _meta?: unknown;
  extended_context?: unknown;
}
export type SubscriptionReadResult = {
  subscription: {
    subscription_id: string;
    bridge_id: string;
    target?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    };
    thread_id?: string;
    turn_id?: string;
    on?: Array<Open<"final" | "questions" | "progress" | "inbox">>;
    methods?: string[];
    include_text?: boolean;
    order: Open<"turn" | "strict">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    generation: number;
    from_seq: number;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
    cursor: {
      consumer_id: string;
      stream_name: string;
      subject_id: string;
      exists: boolean;
      last_sequence: number;
      last_delivery_id?: string;
      last_delivered_at?: string;
      last_error?: string;
      scanned_seq?: number;
      updated_at?: string;
    };
    blocked?: {
      seq: number;
      delivery_id: string;
      count: number;
      holds: string;
      since: string;
    };
    pending: number;
    dead: number;
    next_attempt_at?: string;
  };
  latest_seq: number;
};

/** Deletes a subscription and its target. Its cursor stays. */
export interface SubscriptionDeleteParams {
  subscription_id: string;
  reason?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type SubscriptionDeleteResult = {
  subscription: {
    subscription_id: string;
    bridge_id: string;
    target?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    };
    thread_id?: string;
    turn_id?: string;
    on?: Array<Open<"final" | "questions" | "progress" | "inbox">>;
    methods?: string[];
    include_text?: boolean;
    order: Open<"turn" | "strict">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    generation: number;
    from_seq: number;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
    cursor: {
      consumer_id: string;
      stream_name: string;
      subject_id: string;
      exists: boolean;
      last_sequence: number;
      last_delivery_id?: string;
      last_delivered_at?: string;
      last_error?: string;
      scanned_seq?: number;
      updated_at?: string;
    };
    blocked?: {
      seq: number;
      delivery_id: string;
      count: number;
      holds: string;
      since: string;
    };
    pending: number;
    dead: number;
    next_attempt_at?: string;
  };
  created?: boolean;
  seq: number;
  latest_seq: number;
};

/** Pauses a subscription: it sends nothing. */
export interface SubscriptionPauseParams {
  subscription_id: string;
  reason?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type SubscriptionPauseResult = {
  subscription: {
    subscription_id: string;
    bridge_id: string;
    target?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    };
    thread_id?: string;
    turn_id?: string;
    on?: Array<Open<"final" | "questions" | "progress" | "inbox">>;
    methods?: string[];
    include_text?: boolean;
    order: Open<"turn" | "strict">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    generation: number;
    from_seq: number;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
    cursor: {
      consumer_id: string;
      stream_name: string;
      subject_id: string;
      exists: boolean;
      last_sequence: number;
      last_delivery_id?: string;
      last_delivered_at?: string;
      last_error?: string;
      scanned_seq?: number;
      updated_at?: string;
    };
    blocked?: {
      seq: number;
      delivery_id: string;
      count: number;
      holds: string;
      since: string;
    };
    pending: number;
    dead: number;
    next_attempt_at?: string;
  };
  created?: boolean;
  seq: number;
  latest_seq: number;
};

/** Lets a subscription send again that was paused, held or disabled. What was held is sent. */
export interface SubscriptionResumeParams {
  subscription_id: string;
  reason?: string | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type SubscriptionResumeResult = {
  subscription: {
    subscription_id: string;
    bridge_id: string;
    target?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    };
    thread_id?: string;
    turn_id?: string;
    on?: Array<Open<"final" | "questions" | "progress" | "inbox">>;
    methods?: string[];
    include_text?: boolean;
    order: Open<"turn" | "strict">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    generation: number;
    from_seq: number;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
    cursor: {
      consumer_id: string;
      stream_name: string;
      subject_id: string;
      exists: boolean;
      last_sequence: number;
      last_delivery_id?: string;
      last_delivered_at?: string;
      last_error?: string;
      scanned_seq?: number;
      updated_at?: string;
    };
    blocked?: {
      seq: number;
      delivery_id: string;
      count: number;
      holds: string;
      since: string;
    };
    pending: number;
    dead: number;
    next_attempt_at?: string;
  };
  created?: boolean;
  seq: number;
  latest_seq: number;
};

/** Makes a subscription go on after a seq. What it has sent since is sent again under the same ids. */
export interface SubscriptionResetParams {
  subscription_id: string;
  to_seq: number;
  reason: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type SubscriptionResetResult = {
  subscription: {
    subscription_id: string;
    bridge_id: string;
    target?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    };
    thread_id?: string;
    turn_id?: string;
    on?: Array<Open<"final" | "questions" | "progress" | "inbox">>;
    methods?: string[];
    include_text?: boolean;
    order: Open<"turn" | "strict">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    generation: number;
    from_seq: number;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
    cursor: {
      consumer_id: string;
      stream_name: string;
      subject_id: string;
      exists: boolean;
      last_sequence: number;
      last_delivery_id?: string;
      last_delivered_at?: string;
      last_error?: string;
      scanned_seq?: number;
      updated_at?: string;
    };
    blocked?: {
      seq: number;
      delivery_id: string;
      count: number;
      holds: string;
      since: string;
    };
    pending: number;
    dead: number;
    next_attempt_at?: string;
  };
  created?: boolean;
  seq: number;
  latest_seq: number;
};

/** Gives up one mismatch, or everything that a subscription holds. */
export interface SubscriptionSkipParams {
  subscription_id: string;
  seq?: number | null;
  reason: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type SubscriptionSkipResult = {
  subscription: {
    subscription_id: string;
    bridge_id: string;
    target?: {
      topic?: string;
      channel?: string;
      thread_ts?: string;
      repository?: string;
      number?: number;
    };
    thread_id?: string;
    turn_id?: string;
    on?: Array<Open<"final" | "questions" | "progress" | "inbox">>;
    methods?: string[];
    include_text?: boolean;
    order: Open<"turn" | "strict">;
    state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
    reason?: string;
    generation: number;
    from_seq: number;
    created_at: string;
    updated_at: string;
    created_seq: number;
    updated_seq: number;
    cursor: {
      consumer_id: string;
      stream_name: string;
      subject_id: string;
      exists: boolean;
      last_sequence: number;
      last_delivery_id?: string;
      last_delivered_at?: string;
      last_error?: string;
      scanned_seq?: number;
      updated_at?: string;
    };
    blocked?: {
      seq: number;
      delivery_id: string;
      count: number;
      holds: string;
      since: string;
    };
    pending: number;
    dead: number;
    next_attempt_at?: string;
  };
  created?: boolean;
  seq: number;
  latest_seq: number;
};

/** Lists deliveries, the oldest first; with order desc, the newest first. */
export interface DeliveryListParams {
  subscription_id?: string | null;
  bridge_id?: string | null;
  state?: Open<"pending" | "mismatch" | "delivered" | "suppressed" | "superseded" | "dead"> | null;
  limit?: number | null;
  cursor?: string | null;
  order?: Open<"asc" | "desc"> | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type DeliveryListResult = {
  deliveries: {
    delivery_id: string;
    subscription_id: string;
    bridge_id: string;
    seq: number;
    generation: number;
    event_type: Open<"final" | "question" | "answer" | "progress" | "superseded" | "inbox" | "stalled" | "event">;
    method: string;
    thread_id?: string;
    turn_id?: string;
    state: Open<"pending" | "mismatch" | "delivered" | "suppressed" | "superseded" | "dead">;
    reason?: string;
    attempts: number;
    next_attempt_at?: string;
    created_at: string;
    settled_at?: string;
    supersedes?: string[];
    tries?: {
      attempt: number;
      at: string;
      outcome?: Open<"delivered" | "failed" | "refused" | "wait" | "gone">;
      status?: number;
      error?: string;
      latency_ms: number;
      answer?: string;
    }[];
  }[];
  next_cursor?: string;
  latest_seq: number;
};

/** Returns one delivery with its attempts. */
export interface DeliveryReadParams {
  delivery_id: string;
  _meta?: unknown;
  extended_context?: unknown;
}
export type DeliveryReadResult = {
  delivery: {
    delivery_id: string;
    subscription_id: string;
    bridge_id: string;
    seq: number;
    generation: number;
    event_type: Open<"final" | "question" | "answer" | "progress" | "superseded" | "inbox" | "stalled" | "event">;
    method: string;
    thread_id?: string;
    turn_id?: string;
    state: Open<"pending" | "mismatch" | "delivered" | "suppressed" | "superseded" | "dead">;
    reason?: string;
    attempts: number;
    next_attempt_at?: string;
    created_at: string;
    settled_at?: string;
    supersedes?: string[];
    tries?: {
      attempt: number;
      at: string;
      outcome?: Open<"delivered" | "failed" | "refused" | "wait" | "gone">;
      status?: number;
      error?: string;
      latency_ms: number;
      answer?: string;
    }[];
  };
  latest_seq: number;
};

/** Sends a delivery again, or at once if it waits. It moves no cursor and changes no message. */
export interface DeliveryRedeliverParams {
  delivery_id: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type DeliveryRedeliverResult = {
  delivery: {
    delivery_id: string;
    subscription_id: string;
    bridge_id: string;
    seq: number;
    generation: number;
    event_type: Open<"final" | "question" | "answer" | "progress" | "superseded" | "inbox" | "stalled" | "event">;
    method: string;
    thread_id?: string;
    turn_id?: string;
    state: Open<"pending" | "mismatch" | "delivered" | "suppressed" | "superseded" | "dead">;
    reason?: string;
    attempts: number;
    next_attempt_at?: string;
    created_at: string;
    settled_at?: string;
    supersedes?: string[];
    tries?: {
      attempt: number;
      at: string;
      outcome?: Open<"delivered" | "failed" | "refused" | "wait" | "gone">;
      status?: number;
      error?: string;
      latency_ms: number;
      answer?: string;
    }[];
  };
  seq: number;
};

/** Creates a named token: a credential that may do what its role says, in all threads or in some. Its text is in this answer alone. */
export interface TokenCreateParams {
  name: string;
  role: Open<"read" | "respond" | "work" | "operate">;
  limited_to?: string[] | null;
  expires_in_seconds?: number | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TokenCreateResult = {
  token: {
    name: string;
    parent?: string;
    role: Open<"read" | "respond" | "work" | "operate">;
    limited_to?: string[];
    state: Open<"live" | "revoked" | "expired" | "restored">;
    created_at: string;
    expires_at?: string;
    revoked_at?: string;
    last_used_at?: string;
  };
  seq: number;
  secret?: string;
};

/** Lists named tokens, those that have ended too, without their texts. */
export interface TokenListParams {
  limit?: number | null;
  cursor?: string | null;
  order?: Open<"asc" | "desc"> | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TokenListResult = {
  tokens: {
    name: string;
    parent?: string;
    role: Open<"read" | "respond" | "work" | "operate">;
    limited_to?: string[];
    state: Open<"live" | "revoked" | "expired" | "restored">;
    created_at: string;
    expires_at?: string;
    revoked_at?: string;
    last_used_at?: string;
  }[];
  next_cursor?: string;
  latest_seq: number;
};

/** Revokes a named token for good: its requests are refused, and its streams end. */
export interface TokenRevokeParams {
  name: string;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type TokenRevokeResult = {
  token: {
    name: string;
    parent?: string;
    role: Open<"read" | "respond" | "work" | "operate">;
    limited_to?: string[];
    state: Open<"live" | "revoked" | "expired" | "restored">;
    created_at: string;
    expires_at?: string;
    revoked_at?: string;
    last_used_at?: string;
  };
  seq: number;
  secret?: string;
};

/** Makes a code that can be traded for a console token once, within 60 seconds, by signin/create. It gives no more than the requester has. */
export interface SigninCodeParams {
  name?: string | null;
  role?: Open<"read" | "respond" | "work" | "operate"> | null;
  limited_to?: string[] | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type SigninCodeResult = {
  code: string;
  expires_at: string;
  name: string;
  role: Open<"read" | "respond" | "work" | "operate">;
  limited_to?: string[];
};

/** Trades the code or the token of the request for a console token, which lives for 12 hours at most and ends with its parent. Its text is in this answer alone. */
export interface SigninCreateParams {
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type SigninCreateResult = {
  token: {
    name: string;
    parent?: string;
    role: Open<"read" | "respond" | "work" | "operate">;
    limited_to?: string[];
    state: Open<"live" | "revoked" | "expired" | "restored">;
    created_at: string;
    expires_at?: string;
    revoked_at?: string;
    last_used_at?: string;
  };
  seq: number;
  secret?: string;
};

/** Lists the console tokens with the parent of the requester, those that have ended and are kept too; for the owner all. */
export interface SigninListParams {
  limit?: number | null;
  cursor?: string | null;
  order?: Open<"asc" | "desc"> | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type SigninListResult = {
  signins: {
    name: string;
    parent?: string;
    role: Open<"read" | "respond" | "work" | "operate">;
    limited_to?: string[];
    state: Open<"live" | "revoked" | "expired" | "restored">;
    created_at: string;
    expires_at?: string;
    revoked_at?: string;
    last_used_at?: string;
    current?: boolean;
  }[];
  next_cursor?: string;
  latest_seq: number;
};

/** Signs out: ends one console token, or all with the parent of the requester, for the owner all; their requests are refused, and their streams end. */
export interface SigninDeleteParams {
  name?: string | null;
  all?: boolean | null;
  idempotency_key?: string | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type SigninDeleteResult = {
  signins: {
    name: string;
    parent?: string;
    role: Open<"read" | "respond" | "work" | "operate">;
    limited_to?: string[];
    state: Open<"live" | "revoked" | "expired" | "restored">;
    created_at: string;
    expires_at?: string;
    revoked_at?: string;
    last_used_at?: string;
  }[];
  seq: number;
};

/** Lists events of the log after a seq. */
export interface EventListParams {
  after_seq: number;
  limit?: number | null;
  thread_id?: string | null;
  within_thread_ids?: string[] | null;
  methods?: string[] | null;
  collapse?: Open<"superseded"> | null;
  content?: Open<"summary"> | null;
  whole_thread_ids?: string[] | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type EventListResult = {
  events: Event[];
  next_after_seq: number;
  latest_seq: number;
  has_more: boolean;
  as_of_seq?: number;
};

/** Replaces the subscription of this connection. The answer comes before its first event. */
export interface StreamSubscribeParams {
  after_seq?: number | null;
  consumer?: string | null;
  log_id?: string | null;
  thread_ids?: string[] | null;
  within_thread_ids?: string[] | null;
  methods?: string[] | null;
  collapse?: Open<"superseded"> | null;
  content?: Open<"summary"> | null;
  whole_thread_ids?: string[] | null;
  _meta?: unknown;
  extended_context?: unknown;
}
export type StreamSubscribeResult = {
  after_seq: number;
  latest_seq: number;
  log_id: string;
  as_of_seq?: number;
};

/** Ends the subscription of this connection. */
export interface StreamUnsubscribeParams {
  _meta?: unknown;
  extended_context?: unknown;
}
export type StreamUnsubscribeResult = {
  after_seq: number;
  latest_seq: number;
  log_id: string;
};

/** Returns the OpenRPC document of this protocol. */
export interface RPCDiscoverParams {
  _meta?: unknown;
  extended_context?: unknown;
}
export type RPCDiscoverResult = { [member: string]: unknown };

/** A thread was started. This is its first event. */
export interface ThreadStartedEvent {
  seq?: number;
  thread_seq?: number;
  thread_id: string;
  timestamp: string;
  type: string;
  state: Open<"running" | "paused" | "closing" | "closed">;
  started_at: string;
  session_id: string;
  agent: string;
  title?: string;
  reason?: string;
  cwd?: string;
  metadata?: unknown;
  parent?: {
    thread_id: string;
    turn_id?: string;
    attempt?: number;
  };
  job?: string;
  level?: number;
  root_thread_id?: string;
  forked_from?: {
    thread_id: string;
    turn_id?: string;
  };
  requested_by?: string;
}

/** The pause of a thread has ended. */
export interface ThreadResumedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  type: string;
  state: Open<"running" | "paused" | "closing" | "closed">;
  started_at: string;
  session_id: string;
  agent: string;
  title?: string;
  reason?: string;
  cwd?: string;
  metadata?: unknown;
  parent?: {
    thread_id: string;
    turn_id?: string;
    attempt?: number;
  };
  job?: string;
  level?: number;
  root_thread_id?: string;
  forked_from?: {
    thread_id: string;
    turn_id?: string;
  };
  requested_by?: string;
}

/** No further turn of the thread starts. */
export interface ThreadPausedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  type: string;
  state: Open<"running" | "paused" | "closing" | "closed">;
  started_at: string;
  session_id: string;
  agent: string;
  title?: string;
  reason?: string;
  cwd?: string;
  metadata?: unknown;
  parent?: {
    thread_id: string;
    turn_id?: string;
    attempt?: number;
  };
  job?: string;
  level?: number;
  root_thread_id?: string;
  forked_from?: {
    thread_id: string;
    turn_id?: string;
  };
  requested_by?: string;
}

/** Members of a thread have changed; only those are present. */
export interface ThreadUpdatedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  type: string;
  title?: string;
  title_by?: Open<"client">;
  cwd?: string;
  config?: unknown;
  agent_session_id?: string;
  metadata?: unknown;
  state?: Open<"running" | "paused" | "closing" | "closed">;
  reason?: string;
  requested_by?: string;
}

/** The thread is closed. This is its last event. */
export interface ThreadClosedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  type: string;
  state: Open<"running" | "paused" | "closing" | "closed">;
  started_at: string;
  session_id: string;
  agent: string;
  title?: string;
  reason?: string;
  cwd?: string;
  metadata?: unknown;
  parent?: {
    thread_id: string;
    turn_id?: string;
    attempt?: number;
  };
  job?: string;
  level?: number;
  root_thread_id?: string;
  forked_from?: {
    thread_id: string;
    turn_id?: string;
  };
  requested_by?: string;
}

/** A turn waits in the queue. It comes only for a turn that could not start at once. */
export interface TurnQueuedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id: string;
  attempt: number;
  timestamp: string;
  type: string;
  state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
  position: number;
  rank: number;
  queued_at: string;
  reason: string;
  metadata?: unknown;
  parent?: {
    thread_id: string;
    turn_id?: string;
    attempt?: number;
  };
  attention_policy?: Open<"blocking_until_terminal" | "notify_on_terminal">;
  title?: string;
  outside?: boolean;
  root_thread_id?: string;
  job?: string;
  job_digest?: string;
  timeout_seconds?: number;
  retry?: {
    on_crash?: Open<"interrupt" | "retry">;
    max_attempts?: number;
    backoff_seconds?: number;
    backoff_max_seconds?: number;
  };
  chain?: number;
  review?: {
    policy: Open<"none" | "on_success" | "on_failure" | "always">;
    state?: Open<"pending" | "approved" | "rejected" | "blocked">;
    due_at?: string;
  };
  continues?: string;
  continuations?: number;
  requested_by?: string;
}

/** A turn is active. */
export interface TurnStartedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id: string;
  attempt: number;
  step?: string;
  epoch?: number;
  lineage?: {
    step: string;
    epoch: number;
  }[];
  timestamp: string;
  type: string;
  state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
  started_at: string;
  origin: Open<"client" | "queue" | "agent" | "retry" | "wake">;
  metadata?: unknown;
  parent?: {
    thread_id: string;
    turn_id?: string;
    attempt?: number;
  };
  attention_policy?: Open<"blocking_until_terminal" | "notify_on_terminal">;
  title?: string;
  outside?: boolean;
  root_thread_id?: string;
  job?: string;
  job_digest?: string;
  timeout_seconds?: number;
  retry?: {
    on_crash?: Open<"interrupt" | "retry">;
    max_attempts?: number;
    backoff_seconds?: number;
    backoff_max_seconds?: number;
  };
  first_started_at?: string;
  chain?: number;
  review?: {
    policy: Open<"none" | "on_success" | "on_failure" | "always">;
    state?: Open<"pending" | "approved" | "rejected" | "blocked">;
    due_at?: string;
  };
  requested_by?: string;
}

/** What an active turn is doing: each change of state, and a message at most once a second. */
export interface TurnProgressEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id: string;
  attempt: number;
  step?: string;
  epoch?: number;
  lineage?: {
    step: string;
    epoch: number;
  }[];
  timestamp: string;
  type: string;
  state: Open<"starting" | "running" | "waiting" | "interrupting">;
  message?: string;
  elapsed_ms: number;
  retry_at?: string;
  claimed?: boolean;
  worker?: string;
  by?: Open<"client" | "owner" | "server">;
  waits_for?: string[];
  used_ms?: number;
  prompts?: number;
  resumable?: boolean;
  suspended?: string;
  result?: {
    message?: string;
    format?: Open<"markdown" | "plain">;
    stop_reason?: string;
    usage?: {
      type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
      input_tokens: number;
      output_tokens: number;
      cached_tokens?: number;
      reasoning_tokens?: number;
      total_tokens: number;
      context_used?: number;
      context_size?: number;
      cost?: {
        amount: number;
        currency: string;
      };
    };
  };
}

/** A turn ended successfully. A turn that has ended has exactly one live end (completed, interrupted or failed), after the ends of all its items. */
export interface TurnCompletedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id: string;
  attempt: number;
  step?: string;
  epoch?: number;
  lineage?: {
    step: string;
    epoch: number;
  }[];
  timestamp: string;
  type: string;
  state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
  started_at?: string;
  completed_at: string;
  message?: string;
  message_truncated?: boolean;
  format?: Open<"markdown" | "plain">;
  reason?: string;
  stop_reason?: string;
  error?: {
    kind: string;
    message: string;
  };
  usage?: {
    type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
    input_tokens: number;
    output_tokens: number;
    cached_tokens?: number;
    reasoning_tokens?: number;
    total_tokens: number;
    context_used?: number;
    context_size?: number;
    cost?: {
      amount: number;
      currency: string;
    };
  };
  undelivered_item_ids?: string[];
  by?: Open<"client" | "owner" | "server">;
  review?: {
    policy: Open<"none" | "on_success" | "on_failure" | "always">;
    state?: Open<"pending" | "approved" | "rejected" | "blocked">;
    due_at?: string;
  };
  parent?: {
    thread_id: string;
    turn_id?: string;
    attempt?: number;
  };
  title?: string;
}

/** A turn was interrupted. */
export interface TurnInterruptedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id: string;
  attempt: number;
  step?: string;
  epoch?: number;
  lineage?: {
    step: string;
    epoch: number;
  }[];
  timestamp: string;
  type: string;
  state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
  started_at?: string;
  completed_at: string;
  message?: string;
  message_truncated?: boolean;
  format?: Open<"markdown" | "plain">;
  reason?: string;
  stop_reason?: string;
  error?: {
    kind: string;
    message: string;
  };
  usage?: {
    type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
    input_tokens: number;
    output_tokens: number;
    cached_tokens?: number;
    reasoning_tokens?: number;
    total_tokens: number;
    context_used?: number;
    context_size?: number;
    cost?: {
      amount: number;
      currency: string;
    };
  };
  undelivered_item_ids?: string[];
  by?: Open<"client" | "owner" | "server">;
  review?: {
    policy: Open<"none" | "on_success" | "on_failure" | "always">;
    state?: Open<"pending" | "approved" | "rejected" | "blocked">;
    due_at?: string;
  };
  parent?: {
    thread_id: string;
    turn_id?: string;
    attempt?: number;
  };
  title?: string;
}

/** A turn failed; error says why. */
export interface TurnFailedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id: string;
  attempt: number;
  step?: string;
  epoch?: number;
  lineage?: {
    step: string;
    epoch: number;
  }[];
  timestamp: string;
  type: string;
  state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
  started_at?: string;
  completed_at: string;
  message?: string;
  message_truncated?: boolean;
  format?: Open<"markdown" | "plain">;
  reason?: string;
  stop_reason?: string;
  error?: {
    kind: string;
    message: string;
  };
  usage?: {
    type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
    input_tokens: number;
    output_tokens: number;
    cached_tokens?: number;
    reasoning_tokens?: number;
    total_tokens: number;
    context_used?: number;
    context_size?: number;
    cost?: {
      amount: number;
      currency: string;
    };
  };
  undelivered_item_ids?: string[];
  by?: Open<"client" | "owner" | "server">;
  review?: {
    policy: Open<"none" | "on_success" | "on_failure" | "always">;
    state?: Open<"pending" | "approved" | "rejected" | "blocked">;
    due_at?: string;
  };
  parent?: {
    thread_id: string;
    turn_id?: string;
    attempt?: number;
  };
  title?: string;
}

/** The verdict about an end that waited for a review. Without continued_by it is the accepted end of the turn; with it, that turn was queued to continue this one. */
export interface TurnReviewedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id: string;
  attempt: number;
  step?: string;
  epoch?: number;
  lineage?: {
    step: string;
    epoch: number;
  }[];
  timestamp: string;
  type: string;
  state: Open<"queued" | "active" | "completed" | "interrupted" | "failed">;
  verdict: Open<"pending" | "approved" | "rejected" | "blocked">;
  policy: Open<"none" | "on_success" | "on_failure" | "always">;
  note?: string;
  by: Open<"client" | "owner" | "server">;
  reason?: string;
  continued_by?: string;
  reviewed_at: string;
  parent?: {
    thread_id: string;
    turn_id?: string;
    attempt?: number;
  };
  title?: string;
}

/** No turn waits for the end of this child turn any more: the inbox of its owner has it. It belongs to the turn, whatever its attempts. */
export interface TurnDetachedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id: string;
  timestamp: string;
  type: string;
  attention_policy: Open<"blocking_until_terminal" | "notify_on_terminal">;
  reason: Open<"requested" | "timeout" | "queued" | "owner_ended" | "in_review" | "prompt_limit">;
  requested_by?: string;
}

/** An item was created. */
export interface ItemCreatedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id?: string;
  attempt?: number;
  step?: string;
  epoch?: number;
  lineage?: {
    step: string;
    epoch: number;
  }[];
  timestamp: string;
  item_id: string;
  type: string;
  status: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted">;
  content: ItemContent;
  truncated?: boolean;
  total_bytes?: number;
  changed?: {
    added: number;
    removed: number;
  };
  requested_by?: string;
}

/** An item changed; the event has its whole content. */
export interface ItemUpdatedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id?: string;
  attempt?: number;
  step?: string;
  epoch?: number;
  lineage?: {
    step: string;
    epoch: number;
  }[];
  timestamp: string;
  item_id: string;
  type: string;
  status: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted">;
  content: ItemContent;
  truncated?: boolean;
  total_bytes?: number;
  changed?: {
    added: number;
    removed: number;
  };
}

/** An item was withdrawn. */
export interface ItemDeletedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id?: string;
  attempt?: number;
  step?: string;
  epoch?: number;
  lineage?: {
    step: string;
    epoch: number;
  }[];
  timestamp: string;
  item_id: string;
  type: string;
  status: Open<"pending" | "in_progress" | "completed" | "failed" | "declined" | "cancelled" | "interrupted" | "deleted">;
}

/** Text to append to an open item. */
export interface ItemDeltaEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id?: string;
  attempt?: number;
  step?: string;
  epoch?: number;
  lineage?: {
    step: string;
    epoch: number;
  }[];
  timestamp: string;
  item_id: string;
  type: string;
  delta: {
    text: string;
  };
  offset: number;
}

/** Something arrived from outside, and is kept as it came: a raw item. */
export interface InboxReceivedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  raw_id: string;
  source: string;
  native_id: string;
  occurred_at: string;
  sender?: string;
  summary?: string;
  payload?: unknown;
  truncated?: boolean;
  total_bytes?: number;
  digest_id?: string;
  resource_ref?: string;
  event_family?: string;
  flush_at?: string;
  chain?: number;
  about?: string;
  outcome?: string;
  link?: string;
  fallback?: boolean;
  flush?: Open<"normal" | "immediate" | "first" | "passive">;
  subscription_ids?: string[];
  requested_by?: string;
}

/** An entry can be read: one raw item, or a snapshot of a digest, which supersedes the digest's snapshot before. */
export interface InboxPostedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  entry: {
    entry_id: string;
    kind: Open<"item" | "snapshot">;
    digest_id?: string;
    revision?: number;
    source: string;
    resource_ref?: string;
    event_family?: string;
    fallback?: boolean;
    summary: string;
    link?: string;
    count: number;
    last_raw_id: string;
    first_at: string;
    last_at: string;
    posted_at: string;
    told_by_turn_id?: string;
    acked_at?: string;
    superseded_by?: string;
    item_ids?: string[];
    more_items?: boolean;
  };
  supersedes_entry_id?: string;
  reason: Open<"item" | "job" | "window" | "size" | "immediate" | "rollover" | "remainder" | "lifecycle" | "manual">;
  new_raw_ids: string[];
  closes_digest?: boolean;
  requested_by?: string;
}

/** Entries were acknowledged: exactly the raw items that they show. A visible snapshot of which nothing is left then is listed, too. With raw_ids exactly these items were, and entry_ids lists the visible entries of which nothing is left. */
export interface InboxAckedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  entry_ids: string[];
  raw_ids?: string[];
  raw_count: number;
  by: Open<"client" | "turn" | "await" | "job">;
  turn_id?: string;
}

/** Entries were given to the thread's agent, with the prompt of this turn. */
export interface InboxToldEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  entry_ids: string[];
  turn_id: string;
}

/** The end of a child turn was superseded before the agent was told: its entry counts as acknowledged. */
export interface InboxWithdrawnEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  entry_id: string;
}

/** The turn ended without a word of its agent about what it was told, or with the reason lease, its entries were not acknowledged in time: they are new again. */
export interface InboxUntoldEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  entry_ids: string[];
  turn_id: string;
  silent: number;
  reason?: string;
}

/** A client has made told entries new again, and ended what kept the thread from being woken. */
export interface InboxWokenEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  entry_ids: string[];
  requested_by?: string;
}

/** New entries do not wake the thread, because a bound on wakes is reached. A turn of a client or inbox/wake lifts it. */
export interface InboxStalledEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  reason: Open<"silent" | "rate" | "chain">;
  until?: string;
}

/** The policy of an inbox was changed; policy has all members in force. */
export interface InboxConfiguredEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  policy: {
    enabled?: boolean;
    window_ms?: number;
    max_delay_ms?: number;
    max_items?: number;
    max_digest_age_ms?: number;
    wake?: Open<"idle" | "none">;
    ack?: Open<"turn_end" | "explicit">;
    wake_when?: Open<"settled" | "each">;
    wake_max_wait_ms?: number;
    wake_window_ms?: number;
    told_lease_ms?: number;
    fallback?: boolean;
  };
  set?: {
    enabled?: boolean;
    window_ms?: number;
    max_delay_ms?: number;
    max_items?: number;
    max_digest_age_ms?: number;
    wake?: Open<"idle" | "none">;
    ack?: Open<"turn_end" | "explicit">;
    wake_when?: Open<"settled" | "each">;
    wake_max_wait_ms?: number;
    wake_window_ms?: number;
    told_lease_ms?: number;
    fallback?: boolean;
  };
  requested_by?: string;
}

/** A source was connected to an inbox. */
export interface InboxSubscribedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  subscription: {
    subscription_id: string;
    source: string;
    filter?: string;
    thread_ids?: string[];
    methods?: string[];
    created_at: string;
  };
  requested_by?: string;
}

/** A source was disconnected from an inbox. */
export interface InboxUnsubscribedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  subscription_id: string;
  requested_by?: string;
}

/** Raw items up to this one that were acknowledged before acked_before were removed, and their entries. With subject_thread_id: everything in the inbox of that closed thread. */
export interface InboxExpiredEvent {
  seq: number;
  thread_seq?: number;
  thread_id?: string;
  timestamp: string;
  through_raw_id?: string;
  acked_before?: string;
  next_acked_at?: string;
  subject_thread_id?: string;
}

/** A timer was created. */
export interface TimerCreatedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  timer: {
    timer_id: string;
    at?: string;
    every_seconds?: number;
    cron?: string;
    timezone?: string;
    text: string;
    next_at: string;
    created_at: string;
    last_fired_at?: string;
  };
  requested_by?: string;
}

/** A timer fired: its raw item follows. */
export interface TimerFiredEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  timer_id: string;
  planned_at: string;
  missed?: number;
  next_at?: string;
}

/** A timer was deleted. */
export interface TimerDeletedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  timestamp: string;
  timer_id: string;
  requested_by?: string;
}

/** A cursor was set to another sequence, without its last delivery and error. */
export interface CursorResetEvent {
  seq: number;
  timestamp: string;
  consumer_id: string;
  stream_name: string;
  subject_id: string;
  subject_thread_id?: string;
  from_sequence: number;
  to_sequence: number;
  reason: string;
  by: string;
}

/** A cursor was deleted. */
export interface CursorDeletedEvent {
  seq: number;
  timestamp: string;
  consumer_id: string;
  stream_name: string;
  subject_id: string;
  subject_thread_id?: string;
  from_sequence: number;
  to_sequence: number;
  reason: string;
  by: string;
}

/** A bridge was created, or came into the configuration. */
export interface BridgeCreatedEvent {
  seq: number;
  timestamp: string;
  bridge_id: string;
  kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
}

/** A bridge was changed. */
export interface BridgeUpdatedEvent {
  seq: number;
  timestamp: string;
  bridge_id: string;
  kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
}

/** Nothing is sent through a bridge. The reason restored says that the log was restored from a backup. */
export interface BridgePausedEvent {
  seq: number;
  timestamp: string;
  bridge_id: string;
  kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
}

/** A bridge sends again. */
export interface BridgeResumedEvent {
  seq: number;
  timestamp: string;
  bridge_id: string;
  kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
}

/** A bridge has new secrets. */
export interface BridgeRotatedEvent {
  seq: number;
  timestamp: string;
  bridge_id: string;
  kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
}

/** The server sends nothing through a bridge until bridge/resume; reason says why. */
export interface BridgeDisabledEvent {
  seq: number;
  timestamp: string;
  bridge_id: string;
  kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
}

/** A bridge was deleted. */
export interface BridgeDeletedEvent {
  seq: number;
  timestamp: string;
  bridge_id: string;
  kind: Open<"webhook" | "ntfy" | "slack" | "github" | "command">;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
}

/** A subscription was created, or created again after its deletion. */
export interface SubscriptionCreatedEvent {
  seq: number;
  timestamp: string;
  subscription_id: string;
  bridge_id: string;
  subject_thread_id?: string;
  subject_turn_id?: string;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
  from_seq?: number;
  to_seq?: number;
  generation?: number;
}

/** A subscription chooses other events, or sends to another target, in the generation that begins. */
export interface SubscriptionUpdatedEvent {
  seq: number;
  timestamp: string;
  subscription_id: string;
  bridge_id: string;
  subject_thread_id?: string;
  subject_turn_id?: string;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
  from_seq?: number;
  to_seq?: number;
  generation?: number;
}

/** A subscription sends nothing. */
export interface SubscriptionPausedEvent {
  seq: number;
  timestamp: string;
  subscription_id: string;
  bridge_id: string;
  subject_thread_id?: string;
  subject_turn_id?: string;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
  from_seq?: number;
  to_seq?: number;
  generation?: number;
}

/** A subscription sends again: a client wants it, or its turn, which had ended, is tried again. */
export interface SubscriptionResumedEvent {
  seq: number;
  timestamp: string;
  subscription_id: string;
  bridge_id: string;
  subject_thread_id?: string;
  subject_turn_id?: string;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
  from_seq?: number;
  to_seq?: number;
  generation?: number;
}

/** Too many or too old events wait: nothing is sent until subscription/resume or subscription/skip. */
export interface SubscriptionHeldEvent {
  seq: number;
  timestamp: string;
  subscription_id: string;
  bridge_id: string;
  subject_thread_id?: string;
  subject_turn_id?: string;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
  from_seq?: number;
  to_seq?: number;
  generation?: number;
}

/** A subscription goes on after to_seq; what it has sent since is sent again under the same ids. */
export interface SubscriptionResetEvent {
  seq: number;
  timestamp: string;
  subscription_id: string;
  bridge_id: string;
  subject_thread_id?: string;
  subject_turn_id?: string;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
  from_seq?: number;
  to_seq?: number;
  generation?: number;
}

/** What was held is not sent: everything up to to_seq, or the mismatch at from_seq. */
export interface SubscriptionSkippedEvent {
  seq: number;
  timestamp: string;
  subscription_id: string;
  bridge_id: string;
  subject_thread_id?: string;
  subject_turn_id?: string;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
  from_seq?: number;
  to_seq?: number;
  generation?: number;
}

/** The target said that nothing is to be sent there. */
export interface SubscriptionDisabledEvent {
  seq: number;
  timestamp: string;
  subscription_id: string;
  bridge_id: string;
  subject_thread_id?: string;
  subject_turn_id?: string;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
  from_seq?: number;
  to_seq?: number;
  generation?: number;
}

/** The turn of a subscription is over, and everything about it was settled. A retry of the turn makes the subscription active again. */
export interface SubscriptionEndedEvent {
  seq: number;
  timestamp: string;
  subscription_id: string;
  bridge_id: string;
  subject_thread_id?: string;
  subject_turn_id?: string;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
  from_seq?: number;
  to_seq?: number;
  generation?: number;
}

/** A subscription was deleted. Its cursor stays. */
export interface SubscriptionDeletedEvent {
  seq: number;
  timestamp: string;
  subscription_id: string;
  bridge_id: string;
  subject_thread_id?: string;
  subject_turn_id?: string;
  state: Open<"active" | "paused" | "held" | "disabled" | "ended" | "deleted">;
  reason?: string;
  by: Open<"client" | "server">;
  from_seq?: number;
  to_seq?: number;
  generation?: number;
}

/** An event claims to be the accepted end of a turn, and the rows of the turn disagree: the store is damaged, and nothing is sent. */
export interface DeliveryMismatchEvent {
  seq: number;
  timestamp: string;
  delivery_id: string;
  subscription_id: string;
  bridge_id: string;
  subject_thread_id?: string;
  subject_turn_id?: string;
  subject_seq: number;
  attempts?: number;
  reason: string;
}

/** A delivery was given up. */
export interface DeliveryDeadEvent {
  seq: number;
  timestamp: string;
  delivery_id: string;
  subscription_id: string;
  bridge_id: string;
  subject_thread_id?: string;
  subject_turn_id?: string;
  subject_seq: number;
  attempts?: number;
  reason: string;
}

/** Events left the log before a subscription had seen them. It may have chosen some of them. */
export interface DeliveryLostEvent {
  seq: number;
  timestamp: string;
  subscription_id: string;
  bridge_id: string;
  subject_thread_id?: string;
  from_seq: number;
  to_seq: number;
}

/** A named token was made, or with parent a console token. Its text is in no event. */
export interface TokenCreatedEvent {
  seq: number;
  timestamp: string;
  name: string;
  parent?: string;
  role: Open<"read" | "respond" | "work" | "operate">;
  limited_to?: string[];
  expires_at?: string;
  by: Open<"owner">;
}

/** A token was revoked: what it has open ends, and the console tokens of which it is the parent. */
export interface TokenRevokedEvent {
  seq: number;
  timestamp: string;
  name: string;
  parent?: string;
  by: Open<"owner">;
}

/** A try of a step begins; lineage says which step and which try. */
export interface StepStartedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id: string;
  attempt: number;
  step: string;
  epoch: number;
  lineage: {
    step: string;
    epoch: number;
  }[];
  timestamp: string;
  type: string;
  status: Open<"in_progress" | "completed" | "interrupted" | "failed">;
  reason?: string;
}

/** A try of a step has ended. */
export interface StepEndedEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id: string;
  attempt: number;
  step: string;
  epoch: number;
  lineage: {
    step: string;
    epoch: number;
  }[];
  timestamp: string;
  type: string;
  status: Open<"in_progress" | "completed" | "interrupted" | "failed">;
  reason?: string;
}

/** The current try of a step has been given up: its events are superseded (docs/rewind.md). A method filter never removes this event. */
export interface StreamRewindEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id: string;
  timestamp: string;
  type: string;
  step: string;
  new_epoch: number;
  superseded_after_seq: number;
  reason: Open<"agent_crash" | "transient" | "server_restarted" | "lease_expired" | "requested" | "step_started">;
  message?: string;
  rank?: number;
  used_ms?: number;
  usage?: {
    type: Open<"user_message" | "agent_message" | "reasoning" | "plan" | "tool_call" | "command_execution" | "file_change" | "permission_request" | "question" | "usage" | "notice" | "error" | "extension">;
    input_tokens: number;
    output_tokens: number;
    cached_tokens?: number;
    reasoning_tokens?: number;
    total_tokens: number;
    context_used?: number;
    context_size?: number;
    cost?: {
      amount: number;
      currency: string;
    };
  };
  uncounted?: boolean;
  silent_restarts?: number;
  requested_by?: string;
}

/** What a try still wrote after it had been given up. It is kept, and is never part of the live view. epoch is 0 if that attempt had no try of the step. */
export interface TurnLateEvent {
  seq: number;
  thread_seq: number;
  thread_id: string;
  turn_id: string;
  attempt: number;
  timestamp: string;
  type: string;
  step: string;
  epoch: number;
  event: {
    method: string;
    params: unknown;
  };
}

/** No turn starts until holon/resumed. */
export interface HolonPausedEvent {
  seq: number;
  timestamp: string;
  type: string;
  reason?: string;
  until?: string;
  requested_by?: string;
}

/** Turns start again. */
export interface HolonResumedEvent {
  seq: number;
  timestamp: string;
  type: string;
  reason?: string;
  until?: string;
  requested_by?: string;
}

/** The first line of a stream: where it begins. */
export interface StreamOpenedEvent {
  log_id: string;
  after_seq: number;
  latest_seq: number;
  first_seq: number;
  protocol_version: string;
  server: {
    name: string;
    version: string;
  };
  heartbeat_seconds: number;
  as_of_seq?: number;
}

/** Comes after heartbeat_seconds of silence; seq is a valid cursor. */
export interface StreamHeartbeatEvent {
  seq: number;
}

/** The last line of a stream that the server ends in order; seq is the last one passed. */
export interface StreamClosingEvent {
  code: string;
  reason: string;
  reconnect: boolean;
  retry_after_ms: number;
  seq: number;
}

/** A line of the server's log, for holon/logStream with follow. */
export interface HolonLogEvent {
  stream_id: string;
  position: number;
  level: string;
  time: string;
  message: string;
}

/** Every method with its params and its result. */
export interface Methods {
  "initialize": { params: InitializeParams; result: InitializeResult };
  "holon/status": { params: HolonStatusParams; result: HolonStatusResult };
  "holon/pause": { params: HolonPauseParams; result: HolonPauseResult };
  "holon/resume": { params: HolonResumeParams; result: HolonResumeResult };
  "holon/logStream": { params: HolonLogStreamParams; result: HolonLogStreamResult };
  "holon/logStream/stop": { params: HolonLogStreamStopParams; result: HolonLogStreamStopResult };
  "holon/prune": { params: HolonPruneParams; result: HolonPruneResult };
  "agent/list": { params: AgentListParams; result: AgentListResult };
  "thread/start": { params: ThreadStartParams; result: ThreadStartResult };
  "thread/pause": { params: ThreadPauseParams; result: ThreadPauseResult };
  "thread/resume": { params: ThreadResumeParams; result: ThreadResumeResult };
  "thread/close": { params: ThreadCloseParams; result: ThreadCloseResult };
  "thread/configure": { params: ThreadConfigureParams; result: ThreadConfigureResult };
  "thread/rename": { params: ThreadRenameParams; result: ThreadRenameResult };
  "thread/fork": { params: ThreadForkParams; result: ThreadForkResult };
  "thread/list": { params: ThreadListParams; result: ThreadListResult };
  "thread/read": { params: ThreadReadParams; result: ThreadReadResult };
  "turn/start": { params: TurnStartParams; result: TurnStartResult };
  "turn/steer": { params: TurnSteerParams; result: TurnSteerResult };
  "turn/interrupt": { params: TurnInterruptParams; result: TurnInterruptResult };
  "turn/retry": { params: TurnRetryParams; result: TurnRetryResult };
  "turn/review": { params: TurnReviewParams; result: TurnReviewResult };
  "turn/detach": { params: TurnDetachParams; result: TurnDetachResult };
  "turn/await": { params: TurnAwaitParams; result: TurnAwaitResult };
  "turn/read": { params: TurnReadParams; result: TurnReadResult };
  "turn/list": { params: TurnListParams; result: TurnListResult };
  "item/list": { params: ItemListParams; result: ItemListResult };
  "item/read": { params: ItemReadParams; result: ItemReadResult };
  "item/respond": { params: ItemRespondParams; result: ItemRespondResult };
  "turn/claim": { params: TurnClaimParams; result: TurnClaimResult };
  "turn/renew": { params: TurnRenewParams; result: TurnRenewResult };
  "step/start": { params: StepStartParams; result: StepStartResult };
  "step/end": { params: StepEndParams; result: StepEndResult };
  "item/create": { params: ItemCreateParams; result: ItemCreateResult };
  "item/append": { params: ItemAppendParams; result: ItemAppendResult };
  "item/update": { params: ItemUpdateParams; result: ItemUpdateResult };
  "item/delete": { params: ItemDeleteParams; result: ItemDeleteResult };
  "item/batch": { params: ItemBatchParams; result: ItemBatchResult };
  "turn/complete": { params: TurnCompleteParams; result: TurnCompleteResult };
  "turn/fail": { params: TurnFailParams; result: TurnFailResult };
  "inbox/ingest": { params: InboxIngestParams; result: InboxIngestResult };
  "inbox/send": { params: InboxSendParams; result: InboxSendResult };
  "inbox/configure": { params: InboxConfigureParams; result: InboxConfigureResult };
  "inbox/read": { params: InboxReadParams; result: InboxReadResult };
  "inbox/expand": { params: InboxExpandParams; result: InboxExpandResult };
  "inbox/items": { params: InboxItemsParams; result: InboxItemsResult };
  "inbox/ack": { params: InboxAckParams; result: InboxAckResult };
  "inbox/flush": { params: InboxFlushParams; result: InboxFlushResult };
  "inbox/wake": { params: InboxWakeParams; result: InboxWakeResult };
  "inbox/subscribe": { params: InboxSubscribeParams; result: InboxSubscribeResult };
  "inbox/unsubscribe": { params: InboxUnsubscribeParams; result: InboxUnsubscribeResult };
  "timer/create": { params: TimerCreateParams; result: TimerCreateResult };
  "timer/list": { params: TimerListParams; result: TimerListResult };
  "timer/delete": { params: TimerDeleteParams; result: TimerDeleteResult };
  "cursor/advance": { params: CursorAdvanceParams; result: CursorAdvanceResult };
  "cursor/error": { params: CursorErrorParams; result: CursorErrorResult };
  "cursor/reset": { params: CursorResetParams; result: CursorResetResult };
  "cursor/delete": { params: CursorDeleteParams; result: CursorDeleteResult };
  "cursor/read": { params: CursorReadParams; result: CursorReadResult };
  "cursor/list": { params: CursorListParams; result: CursorListResult };
  "bridge/create": { params: BridgeCreateParams; result: BridgeCreateResult };
  "bridge/list": { params: BridgeListParams; result: BridgeListResult };
  "bridge/read": { params: BridgeReadParams; result: BridgeReadResult };
  "bridge/update": { params: BridgeUpdateParams; result: BridgeUpdateResult };
  "bridge/pause": { params: BridgePauseParams; result: BridgePauseResult };
  "bridge/resume": { params: BridgeResumeParams; result: BridgeResumeResult };
  "bridge/test": { params: BridgeTestParams; result: BridgeTestResult };
  "bridge/rotate_secret": { params: BridgeRotateSecretParams; result: BridgeRotateSecretResult };
  "bridge/delete": { params: BridgeDeleteParams; result: BridgeDeleteResult };
  "subscription/create": { params: SubscriptionCreateParams; result: SubscriptionCreateResult };
  "subscription/update": { params: SubscriptionUpdateParams; result: SubscriptionUpdateResult };
  "subscription/list": { params: SubscriptionListParams; result: SubscriptionListResult };
  "subscription/read": { params: SubscriptionReadParams; result: SubscriptionReadResult };
  "subscription/delete": { params: SubscriptionDeleteParams; result: SubscriptionDeleteResult };
  "subscription/pause": { params: SubscriptionPauseParams; result: SubscriptionPauseResult };
  "subscription/resume": { params: SubscriptionResumeParams; result: SubscriptionResumeResult };
  "subscription/reset": { params: SubscriptionResetParams; result: SubscriptionResetResult };
  "subscription/skip": { params: SubscriptionSkipParams; result: SubscriptionSkipResult };
  "delivery/list": { params: DeliveryListParams; result: DeliveryListResult };
  "delivery/read": { params: DeliveryReadParams; result: DeliveryReadResult };
  "delivery/redeliver": { params: DeliveryRedeliverParams; result: DeliveryRedeliverResult };
  "token/create": { params: TokenCreateParams; result: TokenCreateResult };
  "token/list": { params: TokenListParams; result: TokenListResult };
  "token/revoke": { params: TokenRevokeParams; result: TokenRevokeResult };
  "signin/code": { params: SigninCodeParams; result: SigninCodeResult };
  "signin/create": { params: SigninCreateParams; result: SigninCreateResult };
  "signin/list": { params: SigninListParams; result: SigninListResult };
  "signin/delete": { params: SigninDeleteParams; result: SigninDeleteResult };
  "event/list": { params: EventListParams; result: EventListResult };
  "stream/subscribe": { params: StreamSubscribeParams; result: StreamSubscribeResult };
  "stream/unsubscribe": { params: StreamUnsubscribeParams; result: StreamUnsubscribeResult };
  "rpc.discover": { params: RPCDiscoverParams; result: RPCDiscoverResult };
}

/** Every notification with its params. */
export interface Notifications {
  "thread/started": ThreadStartedEvent;
  "thread/resumed": ThreadResumedEvent;
  "thread/paused": ThreadPausedEvent;
  "thread/updated": ThreadUpdatedEvent;
  "thread/closed": ThreadClosedEvent;
  "turn/queued": TurnQueuedEvent;
  "turn/started": TurnStartedEvent;
  "turn/progress": TurnProgressEvent;
  "turn/completed": TurnCompletedEvent;
  "turn/interrupted": TurnInterruptedEvent;
  "turn/failed": TurnFailedEvent;
  "turn/reviewed": TurnReviewedEvent;
  "turn/detached": TurnDetachedEvent;
  "item/created": ItemCreatedEvent;
  "item/updated": ItemUpdatedEvent;
  "item/deleted": ItemDeletedEvent;
  "item/delta": ItemDeltaEvent;
  "inbox/received": InboxReceivedEvent;
  "inbox/posted": InboxPostedEvent;
  "inbox/acked": InboxAckedEvent;
  "inbox/told": InboxToldEvent;
  "inbox/withdrawn": InboxWithdrawnEvent;
  "inbox/untold": InboxUntoldEvent;
  "inbox/woken": InboxWokenEvent;
  "inbox/stalled": InboxStalledEvent;
  "inbox/configured": InboxConfiguredEvent;
  "inbox/subscribed": InboxSubscribedEvent;
  "inbox/unsubscribed": InboxUnsubscribedEvent;
  "inbox/expired": InboxExpiredEvent;
  "timer/created": TimerCreatedEvent;
  "timer/fired": TimerFiredEvent;
  "timer/deleted": TimerDeletedEvent;
  "cursor/reset": CursorResetEvent;
  "cursor/deleted": CursorDeletedEvent;
  "bridge/created": BridgeCreatedEvent;
  "bridge/updated": BridgeUpdatedEvent;
  "bridge/paused": BridgePausedEvent;
  "bridge/resumed": BridgeResumedEvent;
  "bridge/rotated": BridgeRotatedEvent;
  "bridge/disabled": BridgeDisabledEvent;
  "bridge/deleted": BridgeDeletedEvent;
  "subscription/created": SubscriptionCreatedEvent;
  "subscription/updated": SubscriptionUpdatedEvent;
  "subscription/paused": SubscriptionPausedEvent;
  "subscription/resumed": SubscriptionResumedEvent;
  "subscription/held": SubscriptionHeldEvent;
  "subscription/reset": SubscriptionResetEvent;
  "subscription/skipped": SubscriptionSkippedEvent;
  "subscription/disabled": SubscriptionDisabledEvent;
  "subscription/ended": SubscriptionEndedEvent;
  "subscription/deleted": SubscriptionDeletedEvent;
  "delivery/mismatch": DeliveryMismatchEvent;
  "delivery/dead": DeliveryDeadEvent;
  "delivery/lost": DeliveryLostEvent;
  "token/created": TokenCreatedEvent;
  "token/revoked": TokenRevokedEvent;
  "step/started": StepStartedEvent;
  "step/ended": StepEndedEvent;
  "stream/rewind": StreamRewindEvent;
  "turn/late": TurnLateEvent;
  "holon/paused": HolonPausedEvent;
  "holon/resumed": HolonResumedEvent;
  "stream/opened": StreamOpenedEvent;
  "stream/heartbeat": StreamHeartbeatEvent;
  "stream/closing": StreamClosingEvent;
  "holon/log": HolonLogEvent;
}

/** A notification as a stream sends it, told apart by its method. A later version may send others. */
export type Notification = {
  [M in keyof Notifications]: { jsonrpc: "2.0"; method: M; params: Notifications[M] };
}[keyof Notifications];

/** The methods of the events in the log. */
export type EventMethod =
  | "thread/started"
  | "thread/resumed"
  | "thread/paused"
  | "thread/updated"
  | "thread/closed"
  | "turn/queued"
  | "turn/started"
  | "turn/progress"
  | "turn/completed"
  | "turn/interrupted"
  | "turn/failed"
  | "turn/reviewed"
  | "turn/detached"
  | "item/created"
  | "item/updated"
  | "item/deleted"
  | "item/delta"
  | "inbox/received"
  | "inbox/posted"
  | "inbox/acked"
  | "inbox/told"
  | "inbox/withdrawn"
  | "inbox/untold"
  | "inbox/woken"
  | "inbox/stalled"
  | "inbox/configured"
  | "inbox/subscribed"
  | "inbox/unsubscribed"
  | "inbox/expired"
  | "timer/created"
  | "timer/fired"
  | "timer/deleted"
  | "cursor/reset"
  | "cursor/deleted"
  | "bridge/created"
  | "bridge/updated"
  | "bridge/paused"
  | "bridge/resumed"
  | "bridge/rotated"
  | "bridge/disabled"
  | "bridge/deleted"
  | "subscription/created"
  | "subscription/updated"
  | "subscription/paused"
  | "subscription/resumed"
  | "subscription/held"
  | "subscription/reset"
  | "subscription/skipped"
  | "subscription/disabled"
  | "subscription/ended"
  | "subscription/deleted"
  | "delivery/mismatch"
  | "delivery/dead"
  | "delivery/lost"
  | "token/created"
  | "token/revoked"
  | "step/started"
  | "step/ended"
  | "stream/rewind"
  | "turn/late"
  | "holon/paused"
  | "holon/resumed";

/** An event as event/list returns it, told apart by its method. A later version may have others. */
export type Event = {
  [M in EventMethod]: { seq: number; time: string; method: M; params: Notifications[M] };
}[EventMethod];

/** data.kind of an error. */
export type ErrorKind = Open<
  | "parse_error"
  | "invalid_request"
  | "frame_too_large"
  | "duplicate_id"
  | "method_not_found"
  | "invalid_params"
  | "invalid_cursor"
  | "internal"
  | "unavailable"
  | "outcome_unknown"
  | "overloaded"
  | "thread_not_found"
  | "turn_not_found"
  | "item_not_found"
  | "agent_not_found"
  | "entry_not_found"
  | "entry_expired"
  | "digest_not_found"
  | "timer_not_found"
  | "subscription_not_found"
  | "bridge_not_found"
  | "delivery_not_found"
  | "token_not_found"
  | "cursor_not_found"
  | "idempotency_conflict"
  | "conflict"
  | "thread_closed"
  | "thread_paused"
  | "thread_busy"
  | "turn_not_active"
  | "already_resolved"
  | "cursor_expired"
  | "cursor_ahead"
  | "log_changed"
  | "unauthorized"
  | "forbidden"
  | "storage_full"
  | "storage_failed"
  | "agent_failed"
  | "agent_unavailable"
  | "agent_unsupported"
  | "timeout"
  | "attempt_superseded"
>;

/** data of an error. */
export interface ErrorData {
  kind: ErrorKind;
  retryable: boolean;
  method?: string;
  field?: string;
  reason?: string;
  retry_after_ms?: number;
  correlation_id?: string;
  thread_id?: string;
  turn_id?: string;
  item_id?: string;
  first_seq?: number;
  latest_seq?: number;
  log_id?: string;
  attempt?: number;
  step?: string;
  epoch?: number;
  late_seq?: number;
  turn_ids?: string[];
  /** What is stored, with the reason not_monotonic. */
  cursor?: Methods["cursor/read"]["result"]["cursor"];
  /** The least role that is enough, with the reason role. */
  role?: string;
}
