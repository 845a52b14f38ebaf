/** Why: totals are compared and added in several places, field by field; the fields are named once. */
import type { UsageTotals } from "./tenancy.js";

export const usageFields = ["ingressRequests", "adminRequests", "bytesIn", "bytesOut", "tunnelBytes"] as const;

export const NO_USAGE: UsageTotals = { ingressRequests: 0, adminRequests: 0, bytesIn: 0, bytesOut: 0, tunnelBytes: 0 };
