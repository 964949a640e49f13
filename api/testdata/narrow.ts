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
