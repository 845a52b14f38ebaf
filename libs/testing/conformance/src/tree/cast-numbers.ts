/**
 * Casts (`x as T`) that each package still has in production code. The numbers may only shrink; a package that is not in the list has none.
 *
 * Why some are left: ids that a parser has accepted or that a codec wrote; rows of PostgreSQL, and replies of scripts and batches of Redis,
 * whose shape the statement or the script decides, on paths where a check of each value would cost more than the read; tables with one
 * function for each kind of a union, which the compiler cannot match to a value of it; keys of an object whose literal type `Object.keys`
 * loses.
 */
export const CASTS_MAX: Readonly<Record<string, number>> = {
  "libs/adapters/grpc": 14,
  "libs/adapters/http-client": 2,
  "libs/adapters/kafka": 2,
  "libs/adapters/kubernetes": 9,
  "libs/adapters/leveldb": 5,
  "libs/adapters/postgres": 3,
  "libs/adapters/redis": 14,
  "libs/clients/admin-client": 2,
  "libs/clients/admin-contract": 4,
  "libs/cloud/cloud-api": 5,
  "libs/cloud/console-proxy": 1,
  "libs/cloud/identity": 2,
  "libs/cloud/kubernetes-environments": 1,
  "libs/cloud/sign-in": 1,
  "libs/core/base": 14,
  "libs/core/custom-resources": 5,
  "libs/core/flow-control": 2,
  "libs/core/service-protocol": 1,
  "libs/core/state-machine": 3,
  "libs/engine/diagnostics": 1,
  "libs/engine/introspection": 6,
  "libs/engine/invoker": 2,
  "libs/engine/partition-processor": 10,
  "libs/platform/http-server": 8,
  "libs/platform/process-kit": 7,
  "libs/platform/tunnel": 1,
  "libs/ports/cloud": 12,
  "libs/ports/storage": 26,
  "services/admin-api": 4,
  "services/cli": 3,
  "services/cloud-gateway": 2,
  "services/console": 1,
  "services/operator": 7,
  "services/registry": 7,
  "services/standalone": 1,
  "services/tenancy": 2,
  "services/test-environment": 1,
  "services/tunnel-relay": 1,
};
