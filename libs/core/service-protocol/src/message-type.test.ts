import { expect, test } from "@jest/globals";
import {
  isCommand,
  isMessageType,
  isNotification,
  journalCommandName,
  journalEntryTypeName,
  MessageType,
  messageTypeName,
} from "./message-type.js";

const allTypes = Array.from({ length: 0x10000 }, (_, type) => type);

test("of all 16-bit numbers only the listed ones are valid, and each is control, command or notification", () => {
  expect(allTypes.filter(isMessageType)).toEqual(Object.values(MessageType));
  expect(allTypes.filter(isCommand)).toHaveLength(20);
  expect(allTypes.filter(isNotification)).toHaveLength(12);
  expect(allTypes.filter((type) => isMessageType(type) && !isCommand(type) && !isNotification(type))).toEqual([
    0, 1, 2, 3, 4, 5, 6, 7,
  ]);
  expect(allTypes.filter((type) => isCommand(type) && isNotification(type))).toEqual([]);
});

test("messages have the names of the protocol's tables, unknown ones their number", () => {
  expect(messageTypeName(0x0411)).toBe("Run");
  expect(messageTypeName(0x800c)).toBe("SleepCompletion");
  expect(messageTypeName(0xfbff)).toBe("Signal");
  expect(messageTypeName(0x1b)).toBe("0x001B");
});

test("introspection names an entry by its class and its command", () => {
  expect(journalEntryTypeName(MessageType.Call)).toBe("Command: Call");
  expect(journalEntryTypeName(MessageType.CallCompletion)).toBe("Notification: Call");
  expect(journalEntryTypeName(MessageType.CallInvocationIdCompletion)).toBe("Notification: CallInvocationId");
  expect(journalEntryTypeName(MessageType.Signal)).toBe("Notification: Signal");
  expect(journalCommandName(MessageType.ProposeRunCompletion)).toBe("ProposeRunCompletion");
});
