/**
 * Why: an environment may make so many requests per second, whichever gateways they come in by (cloud.md §6.5). Without a question
 * per request each gateway lets in a share: equal ones while all have enough; where one wants more, shares follow what each was
 * asked. The shares of all gateways together are one, so the rate holds as soon as all have heard.
 */
import type { EnvironmentId } from "./ids.js";
import type { GatewayReport, RateDemand, RateShares } from "./tenancy.js";

/** Divided equally whatever was asked where: a gateway that nobody asked until now must be able to answer somebody. */
const EQUAL_PART = 0.1;

/** `reports`: the last one of each living gateway of the region, that of `gateway` included. */
export function rateSharesOf(reports: readonly GatewayReport[], gateway: string): RateShares {
  const gateways = Math.max(1, reports.length);
  const totals = new Map<string, { readonly demand: RateDemand; total: number; own: number }>();
  for (const report of reports) {
    for (const demand of report.demands) {
      const name = `${demand.environmentId} ${demand.door}`;
      let sum = totals.get(name);
      if (sum === undefined) {
        sum = { demand, total: 0, own: 0 };
        totals.set(name, sum);
      }
      sum.total += demand.perSecond;
      if (report.gateway === gateway) sum.own += demand.perSecond;
    }
  }
  const shares: { environmentId: EnvironmentId; door: RateDemand["door"]; share: number }[] = [];
  for (const { demand, total, own } of totals.values()) {
    const demandPart = total > 0 ? own / total : 1 / gateways;
    const share = EQUAL_PART / gateways + (1 - EQUAL_PART) * demandPart;
    shares.push({ environmentId: demand.environmentId, door: demand.door, share });
  }
  return { gateways, shares };
}
