/**
 * Casts (`x as T`) that each package still has in production code. The numbers may only shrink; a package that is not in the list has none.
 *
 * Why some are left: bytes of stored rows at an index that may lie beyond a damaged row (elsewhere `present` of `@perdure/base` checks what
 * `noUncheckedIndexedAccess` cannot know); rows of DuckDB and PostgreSQL, and replies of scripts and batches of Redis, whose shape the
 * statement or the script decides, on paths where a check of each value would cost more than the read; ids that a parser has accepted;
 * keys of an object whose literal type `Object.keys` loses.
 */
export const CASTS_MAX: Readonly<Record<string, number>> = {
  "libs/adapters/grpc": 14,
  "libs/adapters/http-client": 4,
  "libs/adapters/kafka": 2,
  "libs/adapters/kubernetes": 10,
  "libs/adapters/leveldb": 7,
  "libs/adapters/os-process": 1,
  "libs/adapters/postgres": 4,
  "libs/adapters/redis": 20,
  "libs/clients/admin-client": 2,
  "libs/clients/admin-contract": 4,
  "libs/clients/cloud-client": 2,
  "libs/cloud/cloud-api": 5,
  "libs/cloud/console-proxy": 1,
  "libs/cloud/identity": 2,
  "libs/cloud/kubernetes-environments": 1,
  "libs/cloud/sign-in": 1,
  "libs/core/base": 14,
  "libs/core/custom-resources": 5,
  "libs/core/flow-control": 13,
  "libs/core/service-protocol": 1,
  "libs/core/state-machine": 4,
  "libs/engine/diagnostics": 1,
  "libs/engine/introspection": 6,
  "libs/engine/invoker": 2,
  "libs/engine/partition-processor": 11,
  "libs/platform/console-host": 1,
  "libs/platform/http-server": 11,
  "libs/platform/process-kit": 9,
  "libs/platform/telemetry": 1,
  "libs/platform/tunnel": 3,
  "libs/ports/cloud": 12,
  "libs/ports/storage": 37,
  "services/admin-api": 4,
  "services/cli": 3,
  "services/cloud-gateway": 2,
  "services/console": 4,
  "services/ingress-gateway": 3,
  "services/operator": 9,
  "services/registry": 9,
  "services/standalone": 1,
  "services/tenancy": 3,
  "services/test-environment": 2,
  "services/tunnel-relay": 2,
};
