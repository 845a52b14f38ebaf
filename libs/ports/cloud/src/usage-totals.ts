/** Names of the fields of usage totals, for code that compares or adds totals field by field. */
import type { UsageTotals } from "./tenancy.js";

export const usageFields = ["ingressRequests", "adminRequests", "bytesIn", "bytesOut", "tunnelBytes"] as const;

export const NO_USAGE: UsageTotals = { ingressRequests: 0, adminRequests: 0, bytesIn: 0, bytesOut: 0, tunnelBytes: 0 };
