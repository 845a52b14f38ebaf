/** Where the server may connect to on behalf of its users. */
export { type Address, parseAddress, parseRange, type Range } from "./address.js";
export { type Allowance, parseAllowance } from "./allowance.js";
export {
  type Admission,
  createEgressGuard,
  DESTINATION_NOT_ALLOWED,
  EGRESS_DENIED_CODE,
  EgressDenied,
  type EgressGuard,
  type EgressPorts,
  type Lookup,
  type Resolve,
  type ResolvedAddress,
} from "./guard.js";
export { type EgressRules, judgeEndpoint, judgeOrigin, judgeUrl, refusalOfAddress, type Verdict } from "./policy.js";
export { printable } from "./printable.js";
export { refusedRange } from "./ranges.js";
