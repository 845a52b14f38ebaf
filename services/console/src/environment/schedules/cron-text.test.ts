import { expect, test } from "@jest/globals";
import { cronText } from "./cron-text.js";

test.each([
  ["30 2 * * MON-FRI", "At 02:30, Monday through Friday"],
  ["0 9 * * *", "At 09:00"],
  ["*/5 * * * *", "Every 5 minutes"],
  [" * * * * * * ", "Every second"],
  ["0 0 L * *", "At 00:00, on the last day of the month"],
  ["0 8 * * 5#2", "At 08:00, on the second Friday of the month"],
  ["0 6 15W * *", "At 06:00, on the weekday nearest day 15 of the month"],
  ["@daily", "At 00:00"],
  ["@hourly", "Every hour"],
  ["every 15m", "Every 15 min"],
  ["@every 1h30m", "Every 1 h 30 min"],
  // 7 is Sunday, as 0 is.
  ["0 12 * * 7", "At 12:00, only on Sunday"],
])("%j is %j in words", (cron, expected) => expect(cronText(cron)).toBe(expected));

test("an expression that the server refuses has no text", () => {
  expect(["", "61 * * * *", "soon", "* * *"].map(cronText)).toEqual([undefined, undefined, undefined, undefined]);
});
