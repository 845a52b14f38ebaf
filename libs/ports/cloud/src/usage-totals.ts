import type { UsageTotals } from "./tenancy.js";

/** The totals of an environment that was not used yet. */
export const NO_USAGE: UsageTotals = { ingressRequests: 0, adminRequests: 0, bytesIn: 0, bytesOut: 0, tunnelBytes: 0 };
