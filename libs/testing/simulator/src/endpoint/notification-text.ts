/** The text of a notification, as programs note it. */
import { fromUtf8 } from "@perdure/base";
import type { ReceivedNotification } from "./conversation.js";

export function textOf(notification: ReceivedNotification | undefined): string {
  if (notification === undefined) return "?";
  switch (notification.result.kind) {
    case "void":
      return "";
    case "value":
      return fromUtf8(notification.result.value);
    case "failure":
      return `!${notification.result.failure.code} ${notification.result.failure.message}`;
    case "invocationId":
      return notification.result.invocationId;
    case "stateKeys":
      return notification.result.stateKeys.map(fromUtf8).join(",");
  }
}

export function textOfBytes(value: Uint8Array | undefined): string {
  return value === undefined ? "" : fromUtf8(value);
}
