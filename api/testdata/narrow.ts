// A client of the types that `holon schema ts` prints. The compiler must narrow
// each union, and refuse what is not there.
import { Event, EventListResult, ItemContent, Methods, Notification, UnknownContent } from "./holon";

export function textOf(content: ItemContent): string {
  switch (content.type) {
    case "reasoning":
      // @ts-expect-error: a plan has entries, reasoning has none
      content.entries;
      return content.text;
    case "plan":
      return content.entries.map((entry) => entry.content).join("\n");
    case "command_execution":
      return content.command + content.output;
    default:
      return "";
  }
}

export function kindOf(content: ItemContent | UnknownContent): string {
  return content.type;
}

export function placeOf(n: Notification): number | undefined {
  switch (n.method) {
    case "stream/opened":
      return n.params.after_seq;
    case "item/created":
      return textOf(n.params.content).length;
    case "item/delta":
      // @ts-expect-error: a delta has no content
      n.params.content;
      return n.params.seq;
    default:
      return undefined;
  }
}

export function turnsOf(list: EventListResult): string[] {
  return list.events.flatMap((e: Event) => (e.method === "turn/started" ? [e.params.turn_id] : []));
}

// @ts-expect-error: a heartbeat is not in the log
export const beat: Event["method"] = "stream/heartbeat";

export const read: Methods["item/read"]["params"] = { item_id: "i" };

export const choice: Methods["subscription/create"]["params"][] = [{ bridge_id: "b", from: 5 }, { bridge_id: "b", from: "beginning" }];

// @ts-expect-error: a subscription needs a bridge
export const none: Methods["subscription/create"]["params"] = { from: "now" };

// What became of deliveries, as a client that watches the log sees it.
export function troubleOf(e: Event): string | undefined {
  switch (e.method) {
    case "delivery/lost":
      return `${e.params.subscription_id} lost ${e.params.to_seq - e.params.from_seq + 1}`;
    case "bridge/paused":
      // @ts-expect-error: the state of a bridge is in its event, its address is not
      e.params.url;
      return e.params.reason;
    case "turn/reviewed":
      return e.params.continued_by;
    default:
      return undefined;
  }
}

export const made: Methods["bridge/create"]["params"] = { kind: "webhook", url: "https://ci.example.org/holon" };
export const verdict: Methods["turn/review"]["params"] = { turn_id: "t", attempt: 1, verdict: "approved" };
export function waiting(read: Methods["subscription/read"]["result"]): number {
  return read.subscription.pending + read.subscription.dead + (read.subscription.cursor.exists ? 0 : 1);
}

// @ts-expect-error: a delivery is found by its id
export const again: Methods["delivery/redeliver"]["params"] = { seq: 5 };
