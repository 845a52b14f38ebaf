/** Decides which destinations the server may connect to on behalf of its users, by address, name and port. */
export { type AddressRange, type IpAddress, parseAddress, parseRange } from "./address.js";
export { type Allowance, parseAllowance } from "./allowance.js";
export {
  createEgressGuard,
  DESTINATION_NOT_ALLOWED,
  type DnsLookup,
  EGRESS_DENIED_CODE,
  type EgressAdmission,
  EgressDenied,
  type EgressGuard,
  type ResolvedAddress,
} from "./guard.js";
export { checkEndpoint, checkOrigin, checkUrl, type EgressDecision, type EgressRules, refusalOfAddress } from "./policy.js";
export { printable } from "./printable.js";
export { refusedRange } from "./ranges.js";
