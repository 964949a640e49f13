package api

import (
	"cmp"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// ProtocolVersion is the version of the wire contract (docs/protocol.md).
const ProtocolVersion = "2026-11-23"

// Bounds of lists, part of the contract.
const (
	defaultLimit     = 100
	maxLimit         = 1000
	maxPageBytes     = 1 << 20
	newestTurns      = 20
	defaultLogLines  = 100
	maxLogLines      = 10_000
	maxFilterEntries = 100
)

// Limits are all bounds that a client can reach, as initialize returns them
// (I7). Zero fields of Config.Limits get their default.
type Limits struct {
	MaxFrameBytes         int     `json:"max_frame_bytes"`
	MaxBatchMembers       int     `json:"max_batch_members"`
	MaxDepth              int     `json:"max_depth"`
	MaxInFlight           int     `json:"max_in_flight"`
	MaxConnections        int     `json:"max_connections"`
	MaxTokenConnections   int     `json:"max_connections_per_token"`
	MaxUnreadAnswers      int     `json:"max_unread_answer_bytes_per_token"`
	MaxUnadmitted         int     `json:"max_unadmitted_connections"`
	MaxItemBytes          int     `json:"max_item_bytes"`
	MaxActiveTurns        int     `json:"max_active_turns"`
	MaxWaitingTurns       int     `json:"max_waiting_turns"`
	MaxQueuedTurns        int     `json:"max_queued_turns"`
	MaxQueuedByInterrupt  int     `json:"max_queued_by_interrupt"`
	MaxSteersPerTurn      int     `json:"max_steers_per_turn"`
	MaxWaitingCommands    int     `json:"max_waiting_commands_per_thread"`
	MaxOpenItems          int     `json:"max_open_items_per_turn"`
	MaxInputMessages      int     `json:"max_input_messages"`
	MaxMetadataBytes      int     `json:"max_metadata_bytes"`
	MaxTextBytes          int     `json:"max_text_bytes"`
	MaxEndMessageBytes    int     `json:"max_end_message_bytes"`
	MaxTurnTimeoutSeconds float64 `json:"max_turn_timeout_seconds"`
	IntakeBytes           int     `json:"inbox_bytes_per_thread"`
	AgentOutputBytes      int     `json:"agent_output_bytes_per_process"`
	AgentInputBytes       int     `json:"agent_input_bytes_per_process"`
	AgentMessageBytes     int     `json:"max_agent_message_bytes"`
	AgentSessions         int     `json:"max_agent_sessions_per_process"`
	InterruptSeconds      float64 `json:"interrupt_seconds"`
	MaxCursors            int     `json:"max_cursors"`
	MaxCursorsEach        int     `json:"max_cursors_per_token"`
	MaxCursorName         int     `json:"max_cursor_name_bytes"`
	MaxCursorText         int     `json:"max_cursor_text_bytes"`
	MaxListLimit          int     `json:"max_list_limit"`
	MaxListScan           int     `json:"max_list_rows_looked_at"`
	MaxPageBytes          int     `json:"max_page_bytes"`
	MaxLogLines           int     `json:"max_log_lines"`
	MaxLogStreams         int     `json:"max_log_streams"`
	MaxFilterEntries      int     `json:"max_filter_entries"`
	MaxIdempotencyKeyLen  int     `json:"max_idempotency_key_characters"`
	MaxIdempotencyKeys    int     `json:"max_idempotency_keys"`
	MaxKeysPerToken       int     `json:"max_idempotency_keys_per_token"`
	IdempotencyKeySeconds float64 `json:"idempotency_key_seconds"`
	TailBytes             int     `json:"tail_bytes"`
	ReplayBytes           int     `json:"replay_bytes"`
	HeartbeatSeconds      float64 `json:"heartbeat_seconds"`
	WriteTimeoutSeconds   float64 `json:"write_timeout_seconds"`
	RequestTimeoutSeconds float64 `json:"request_timeout_seconds"`
	AgentTimeoutSeconds   float64 `json:"agent_request_timeout_seconds"`
	DrainSeconds          float64 `json:"drain_seconds"`
	MaxAttempts           int     `json:"max_attempts"`
	MaxBackoffSeconds     float64 `json:"max_backoff_seconds"`
	MaxStepDepth          int     `json:"max_step_depth"`
	MaxStepBytes          int     `json:"max_step_bytes"`
	MaxSteps              int     `json:"max_steps_per_turn"`
	MaxTries              int     `json:"max_tries_per_turn"`
	MaxLate               int     `json:"max_late_per_attempt"`
	MaxClaimWaitSeconds   float64 `json:"max_claim_wait_seconds"`
	MaxClaimers           int     `json:"max_waiting_claims_per_agent"`
	MaxBatchOps           int     `json:"max_item_batch_ops"`
	MaxBatchBytes         int     `json:"max_item_batch_bytes"`
	MaxWorkerName         int     `json:"max_worker_name_bytes"`
	MaxWorkerInput        int     `json:"max_worker_input_bytes"`
	MaxInboxPayload       int     `json:"max_inbox_payload_bytes"`
	MaxInboxIngest        int     `json:"max_inbox_items_per_ingest"`
	MaxInboxSend          int     `json:"max_inbox_send_bytes"`
	MaxInboxSummary       int     `json:"max_inbox_summary_characters"`
	MaxAckIDs             int     `json:"max_inbox_ack_ids"`
	MaxPendingItems       int     `json:"max_pending_items"`
	MaxUnackedItems       int     `json:"max_unacked_items"`
	MaxUnackedBytes       int64   `json:"max_unacked_bytes"`
	MaxTimers             int     `json:"max_timers"`
	MaxSubscriptions      int     `json:"max_inbox_subscriptions"`
	InboxRetentionDays    float64 `json:"inbox_retention_days"`
	DedupeDays            float64 `json:"dedupe_days"`
	MaxToldEntries        int     `json:"max_told_entries"`
	MaxToldBytes          int     `json:"max_told_bytes"`
	MaxWakesPerHour       int     `json:"max_wakes_per_hour"`
	MaxWakeChain          int     `json:"max_wake_chain"`
	MaxThreadLevels       int     `json:"max_thread_levels"`
	MaxChildren           int     `json:"max_children_per_turn"`
	MaxChildrenBelow      int     `json:"max_children_below_root"`
	MaxPrompts            int     `json:"max_prompts_per_turn"`
	MaxChildTitle         int     `json:"max_child_title_characters"`
	MaxTurnWaitSeconds    float64 `json:"max_turn_wait_seconds"`
	MaxAwaitSeconds       float64 `json:"max_await_seconds"`
	MaxAwaitedTurns       int     `json:"max_awaited_turns"`
	MaxAwaiting           int     `json:"max_waiting_awaits"`
	MaxAwaitingEach       int     `json:"max_waiting_awaits_per_token"`
	MaxResultText         int     `json:"max_result_text_bytes"`
	MaxResultsTogether    int     `json:"max_results_bytes"`
	MaxContinuations      int     `json:"max_continuations"`
	MaxReviewNote         int     `json:"max_review_note_bytes"`
	MaxBridges            int     `json:"max_bridges"`
	MaxBridgeTests        int     `json:"max_bridge_tests"`
	MaxBridgeTargets      int     `json:"max_bridge_targets"`
	MaxDeliverySubs       int     `json:"max_subscriptions"`
	MaxDeliverySubsEach   int     `json:"max_subscriptions_per_token"`
	MaxMethods            int     `json:"max_subscription_methods"`
	MaxReason             int     `json:"max_reason_bytes"`
	MaxBacklog            int     `json:"max_backlog"`
	MaxBacklogDays        float64 `json:"max_backlog_days"`
	MaxLaneLagDays        float64 `json:"max_lane_lag_days"`
	MaxDeliveryText       int     `json:"max_delivery_text_bytes"`
	MaxDeliveryEvent      int     `json:"max_delivery_event_bytes"`
	MaxDeliveryTries      int     `json:"max_delivery_tries"`
	DeliveredDays         float64 `json:"delivered_days"`
	DeadDays              float64 `json:"dead_days"`
}

func (l Limits) withDefaults() Limits {
	l.MaxFrameBytes = limits.FrameBytes.Or(l.MaxFrameBytes)
	l.MaxInFlight = limits.InFlight.Or(l.MaxInFlight)
	l.MaxConnections = limits.Connections.Or(l.MaxConnections)
	l.MaxItemBytes = limits.ItemBytes.Or(l.MaxItemBytes)
	l.MaxActiveTurns = limits.ActiveTurns.Or(l.MaxActiveTurns)
	l.MaxWaitingTurns = limits.WaitingTurns.Or(l.MaxWaitingTurns)
	l.MaxQueuedTurns = limits.QueuedTurns.Or(l.MaxQueuedTurns)
	l.TailBytes = limits.TailBytes.Or(l.TailBytes)
	l.HeartbeatSeconds = cmp.Or(l.HeartbeatSeconds, limits.Heartbeat.Default.Seconds())
	l.WriteTimeoutSeconds = cmp.Or(l.WriteTimeoutSeconds, limits.WriteTimeout.Default.Seconds())
	l.DrainSeconds = cmp.Or(l.DrainSeconds, limits.Drain.Default.Seconds())
	l.InterruptSeconds = cmp.Or(l.InterruptSeconds, limits.Interrupt.Default.Seconds())
	l.MaxUnadmitted = cmp.Or(l.MaxUnadmitted, limits.UnadmittedConnections)
	l.MaxLogStreams = cmp.Or(l.MaxLogStreams, 16)
	l.MaxSteersPerTurn = cmp.Or(l.MaxSteersPerTurn, l.MaxQueuedTurns)
	l.ReplayBytes = cmp.Or(l.ReplayBytes, 32<<20)
	l.MaxPendingItems = limits.PendingItems.Or(l.MaxPendingItems)
	l.MaxUnackedItems = limits.UnackedItems.Or(l.MaxUnackedItems)
	l.MaxUnackedBytes = limits.UnackedBytes.Or(l.MaxUnackedBytes)
	l.MaxTimers = limits.Timers.Or(l.MaxTimers)
	l.MaxSubscriptions = limits.InboxSubscriptions.Or(l.MaxSubscriptions)
	l.InboxRetentionDays = cmp.Or(l.InboxRetentionDays, days(limits.InboxRetention.Default))
	l.DedupeDays = cmp.Or(l.DedupeDays, days(limits.Dedupe.Default))
	l.MaxLaneLagDays = cmp.Or(l.MaxLaneLagDays, days(limits.LaneLag.Default))
	l.MaxTokenConnections = max(1, l.MaxConnections/8)
	// These are part of the contract and cannot be configured.
	l.MaxQueuedByInterrupt, l.MaxWaitingCommands, l.MaxOpenItems = limits.QueuedByInterrupt, limits.Commands, limits.OpenItems
	l.IntakeBytes = limits.IntakeBytes
	l.AgentOutputBytes, l.AgentInputBytes = limits.AgentOutputBytes, limits.AgentInputBytes
	l.AgentMessageBytes, l.AgentSessions = limits.AgentMessageBytes, limits.AgentSessions
	l.MaxIdempotencyKeys, l.IdempotencyKeySeconds = limits.IdempotencyKeys, limits.IdempotencyKeysFor.Seconds()
	l.MaxUnreadAnswers = limits.UnreadAnswerBytes
	l.MaxKeysPerToken = limits.IdempotencyKeysPerToken
	l.MaxInputMessages, l.MaxMetadataBytes, l.MaxTextBytes = turns.MaxInputMessages, turns.MaxMetadataBytes, turns.MaxTextBytes
	l.MaxEndMessageBytes = turns.MaxEndMessageBytes
	l.MaxTurnTimeoutSeconds = turns.MaxTimeout.Seconds()
	l.MaxBatchMembers, l.MaxDepth = limits.BatchMembers, limits.Depth
	l.MaxListLimit, l.MaxListScan, l.MaxPageBytes, l.MaxLogLines = maxLimit, turns.MaxListScan, maxPageBytes, maxLogLines
	l.MaxFilterEntries, l.MaxIdempotencyKeyLen = maxFilterEntries, maxKeyLength
	l.RequestTimeoutSeconds = RequestTimeout.Seconds()
	l.AgentTimeoutSeconds = askTimeout.Seconds()
	l.MaxAttempts, l.MaxBackoffSeconds = turns.MaxMaxAttempts, turns.MaxBackoffSeconds
	l.MaxStepDepth, l.MaxStepBytes = notify.MaxStepDepth, notify.MaxStepBytes
	l.MaxSteps, l.MaxTries, l.MaxLate = turns.MaxSteps, turns.MaxTries, turns.MaxLate
	l.MaxClaimWaitSeconds, l.MaxClaimers = turns.MaxClaimWait.Seconds(), turns.MaxClaimers
	l.MaxBatchOps, l.MaxBatchBytes = turns.MaxBatchOps, turns.MaxBatchBytes
	l.MaxWorkerName, l.MaxWorkerInput = turns.MaxWorkerName, turns.MaxWorkerInput
	l.MaxInboxPayload, l.MaxInboxIngest, l.MaxInboxSend = inbox.MaxPayloadBytes, inbox.MaxItems, inbox.MaxSendBytes
	l.MaxInboxSummary, l.MaxAckIDs = inbox.MaxSummary, inbox.MaxAckIDs
	l.MaxToldEntries, l.MaxToldBytes = inbox.MaxToldEntries, inbox.MaxToldBytes
	l.MaxWakesPerHour, l.MaxWakeChain = inbox.MaxWakesAnHour, inbox.MaxChain
	l.MaxThreadLevels, l.MaxChildren, l.MaxChildrenBelow, l.MaxPrompts = threads.MaxLevel, turns.MaxChildren, turns.MaxUnendedBelow, turns.MaxPrompts
	l.MaxChildTitle, l.MaxTurnWaitSeconds, l.MaxAwaitSeconds = turns.MaxTitle, turns.MaxWaitSeconds, turns.MaxAwaitSeconds
	l.MaxAwaitedTurns, l.MaxAwaiting, l.MaxAwaitingEach = turns.MaxAwaited, turns.MaxAwaiting, turns.MaxAwaitingEach
	l.MaxResultText, l.MaxResultsTogether = turns.MaxResultText, turns.MaxResultsTogether
	l.MaxCursors, l.MaxCursorsEach, l.MaxCursorName, l.MaxCursorText = cursors.MaxCursors, cursors.MaxCursorsEach, cursors.MaxName, cursors.MaxText
	l.MaxContinuations, l.MaxReviewNote = turns.MaxContinuations, turns.MaxNoteBytes
	l.MaxBridges, l.MaxBridgeTests, l.MaxBridgeTargets, l.MaxDeliverySubs = bridges.MaxBridges, bridges.MaxTests, bridges.MaxTargets, bridges.MaxSubscriptions
	l.MaxDeliverySubsEach = bridges.MaxSubscriptionsEach
	l.MaxMethods, l.MaxReason, l.MaxBacklog, l.MaxBacklogDays = bridges.MaxMethods, bridges.MaxNoteBytes, bridges.MaxBacklog, days(bridges.MaxBacklogAge)
	l.MaxDeliveryText, l.MaxDeliveryEvent, l.MaxDeliveryTries = bridges.MaxTextBytes, bridges.MaxEventBytes, bridges.MaxTries
	l.DeliveredDays, l.DeadDays = days(bridges.KeepDelivered), days(bridges.KeepDead)
	return l
}

func days(d time.Duration) float64 { return d.Hours() / 24 }

func (l Limits) Heartbeat() time.Duration {
	return time.Duration(l.HeartbeatSeconds * float64(time.Second))
}

func (l Limits) WriteTimeout() time.Duration {
	return time.Duration(l.WriteTimeoutSeconds * float64(time.Second))
}
