/**
 * Probes of Redis. `redis-cli ping` exits with 0 on any response, so with it a Redis that loads its log, or a replica that has lost its
 * primary, would count as ready, and a node drain could take the next replica while the last one still copies.
 */

const INFO = `set -eu
export REDISCLI_AUTH="$REDIS_PASSWORD"
info=$(redis-cli -e INFO replication persistence)
field() { printf '%s\\n' "$info" | tr -d '\\r' | sed -n "s/^$1://p"; }
[ "$(field loading)" = 0 ]
`;

/** Of a Redis that is alone. The text has never changed, because a change replaces the pods. */
const REDIS_IS_READY = `${INFO}case "\${POD_NAME:-redis-0}" in
*-0) [ "$(field role)" = master ] ;;
*) [ "$(field role) $(field master_link_status) $(field master_sync_in_progress)" = "slave up 0" ] ;;
esac
`;

/**
 * Of one of three: a primary with at least one replica, without which it accepts no writes, or a replica that has everything that its
 * primary had. Any of them may be the primary, since the operator promotes another one when it is lost.
 */
const REPLICATED_IS_READY = `${INFO}case "$(field role)" in
master) [ "$(field connected_slaves)" -ge 1 ] ;;
*) [ "$(field master_link_status) $(field master_sync_in_progress)" = "up 0" ] ;;
esac
`;

/** Succeeds when the log is loaded. */
const IS_LOADED = INFO;
/** Succeeds on any response, even an error: a process that responds is live. */
const ANSWERS = `REDISCLI_AUTH="$REDIS_PASSWORD" exec redis-cli ping`;

/** A log of 16 GiB takes minutes to load from a slow disk; what takes an hour is started again. */
const LOADING_PERIOD_S = 5;
const LOADING_PERIODS_MAX = 720;
/**
 * Period of the liveness probe. With `fsync: always` a stalled disk stalls every answer; a minute of that is not a reason to load the log
 * again.
 */
const SILENT_PERIOD_S = 10;
const SILENT_PERIODS_MAX = 9;

const probe = (script: string, periodSeconds: number, failureThreshold: number, timeoutSeconds: number) => ({
  exec: { command: ["sh", "-c", script] },
  periodSeconds,
  timeoutSeconds,
  failureThreshold,
});

export const redisProbes = (isReplicated: boolean): Readonly<Record<string, unknown>> => ({
  startupProbe: probe(IS_LOADED, LOADING_PERIOD_S, LOADING_PERIODS_MAX, 5),
  livenessProbe: probe(ANSWERS, SILENT_PERIOD_S, SILENT_PERIODS_MAX, 5),
  readinessProbe: probe(isReplicated ? REPLICATED_IS_READY : REDIS_IS_READY, 5, 3, 2),
});
