/**
 * The 16-bit type that opens every frame: its values, its classes, and its readable names.
 *
 *     0x00xx control        only between the two ends of a stream, never stored
 *     0x04xx command        written by the handler, stored in the journal
 *     0x80xx notification   written by the server, stored in the journal; its low byte repeats its command's
 *     0xFBFF signal         a notification without a command
 */

export const MessageType = {
  Start: 0x0000,
  Suspension: 0x0001,
  Error: 0x0002,
  End: 0x0003,
  CommandAck: 0x0004,
  ProposeRunCompletion: 0x0005,
  AwaitingOn: 0x0006,
  ProposeRunCompletionAck: 0x0007,

  Input: 0x0400,
  Output: 0x0401,
  GetLazyState: 0x0402,
  SetState: 0x0403,
  ClearState: 0x0404,
  ClearAllState: 0x0405,
  GetLazyStateKeys: 0x0406,
  GetEagerState: 0x0407,
  GetEagerStateKeys: 0x0408,
  GetPromise: 0x0409,
  PeekPromise: 0x040a,
  CompletePromise: 0x040b,
  Sleep: 0x040c,
  Call: 0x040d,
  OneWayCall: 0x040e,
  SendSignal: 0x0410,
  Run: 0x0411,
  AttachInvocation: 0x0412,
  GetInvocationOutput: 0x0413,
  CompleteAwakeable: 0x0414,

  GetLazyStateCompletion: 0x8002,
  GetLazyStateKeysCompletion: 0x8006,
  GetPromiseCompletion: 0x8009,
  PeekPromiseCompletion: 0x800a,
  CompletePromiseCompletion: 0x800b,
  SleepCompletion: 0x800c,
  CallCompletion: 0x800d,
  CallInvocationIdCompletion: 0x800e,
  RunCompletion: 0x8011,
  AttachInvocationCompletion: 0x8012,
  GetInvocationOutputCompletion: 0x8013,

  Signal: 0xfbff,
} as const;

type MessageTypeName = keyof typeof MessageType;
export type MessageType = (typeof MessageType)[MessageTypeName];

/** Frame flag: the sender of a command or a run proposal requests a confirmation when it is durable (§2.1). */
export const requestedAckFlag = 0x8000;

const nameByType = new Map<number, MessageTypeName>();
for (const [name, type] of Object.entries(MessageType)) nameByType.set(type, name as MessageTypeName);

/** Whether the number is one of `MessageType`; everything else on a stream is RT0012. */
export function isMessageType(type: number): type is MessageType {
  return nameByType.has(type);
}

/** Name in the protocol's tables without the word "Message", e.g. "Run", "SleepCompletion"; `0x1234` style if unknown. */
export function messageTypeName(type: number): string {
  return nameByType.get(type) ?? `0x${type.toString(16).padStart(4, "0").toUpperCase()}`;
}

/** A journal command of §2.3. */
export function isCommand(type: number): boolean {
  return type >= MessageType.Input && type <= MessageType.CompleteAwakeable && type !== 0x040f;
}

/** A completion or signal of §2.4. */
export function isNotification(type: number): boolean {
  return type === MessageType.Signal || ((type & 0xff00) === 0x8000 && nameByType.has(type));
}

/** Bare word for a journal entry, as introspection shows it: "Call" for the command and for its completion alike. */
export function journalCommandName(type: number): string {
  const name = messageTypeName(type);
  return name.endsWith("Completion") && isNotification(type) ? name.slice(0, -"Completion".length) : name;
}

/** `entry_type` of introspection: "Command: Call", "Notification: CallInvocationId", "Notification: Signal". */
export function journalEntryTypeName(type: number): string {
  return `${isCommand(type) ? "Command" : "Notification"}: ${journalCommandName(type)}`;
}
