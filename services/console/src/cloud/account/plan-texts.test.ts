import { expect, test } from "@jest/globals";
import { bytesText, limitTexts } from "./plan-texts.js";

test.each([
  [0, "0 B"],
  [1_023, "1023 B"],
  [1_024, "1 KiB"],
  [4_400_000, "4.2 MiB"],
  [1_073_741_824, "1 GiB"],
  [536_870_912_000, "500 GiB"],
])("%d bytes are %s", (bytes, text) => expect(bytesText(bytes)).toBe(text));

test("limits have their units, and unknown ones are left out", () => {
  const texts = limitTexts({
    environmentsPerAccountMax: 2,
    actionsPerMonth: 50_000,
    ingressRate: { perSecond: 20, burst: 50 },
    retentionMsMax: 86_400_000,
    tunnelNamesMax: 4,
    tunnelConnectionsMax: 16,
    somethingNew: 5,
  });
  expect(texts).toEqual([
    { name: "Environments", value: "2" },
    { name: "Actions per month", value: "50,000" },
    { name: "Requests to handlers", value: "20/s, burst 50" },
    { name: "Retention of completed invocations", value: "1 day" },
    { name: "Tunnels", value: "4, with 16 connections" },
    { name: "Suspended when idle for", value: "never" },
  ]);
});
