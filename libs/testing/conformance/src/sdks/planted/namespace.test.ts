import { expect, test } from "@jest/globals";
import { outNoRoutes } from "./namespace.js";

const SNMP = ["Ip: Forwarding OutDiscards OutNoRoutes FragOKs", "Ip: 2 7 3 9", "Icmp: InMsgs OutNoRoutes", "Icmp: 5 8", ""].join(
  "\n",
);
const SNMP6 = "Ip6InNoRoutes                   \t4\nIp6OutNoRoutes                  \t2\n";

test("packets without a route are counted for both versions of IP", () => {
  expect(outNoRoutes(SNMP, SNMP6)).toBe(5);
});

test.each([
  ["IPv4", "Ip: Forwarding\nIp: 2\n", SNMP6],
  ["IPv6", SNMP, ""],
])("a kernel that does not count those of %s is an error, and not zero", (_, snmp, snmp6) => {
  expect(() => outNoRoutes(snmp, snmp6)).toThrow("this kernel does not count packets without a route");
});
