/**
 * Divides an environment's rate of requests among the gateways (cloud.md §6.5), without a request to tenancy per request. Shares are
 * equal while every gateway has enough; when one needs more, shares follow the demand at each gateway. All shares together are one, so
 * the rate holds as soon as every gateway has received its share.
 */
import type { EnvironmentId } from "./ids.js";
import type { GatewayReport, RateDemand, RateShares } from "./tenancy.js";

/** Part that is divided equally whatever the demand is: a gateway without demand until now must be able to serve its first requests. */
const EQUAL_PART = 0.1;

/** `reports`: the last one of each running gateway of the region, that of `gateway` included. */
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
