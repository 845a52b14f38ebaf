/** Where the server may connect to on behalf of its users. */
export { type IpAddress, parseAddress, parseRange, type AddressRange } from "./address.js";
export { type Allowance, parseAllowance } from "./allowance.js";
export {
  type EgressAdmission,
  createEgressGuard,
  DESTINATION_NOT_ALLOWED,
  EGRESS_DENIED_CODE,
  EgressDenied,
  type EgressGuard,
  type EgressPorts,
  type DnsLookup,
  type Resolve,
  type ResolvedAddress,
} from "./guard.js";
export { type EgressRules, checkEndpoint, checkOrigin, checkUrl, refusalOfAddress, type EgressDecision } from "./policy.js";
export { printable } from "./printable.js";
export { refusedRange } from "./ranges.js";
