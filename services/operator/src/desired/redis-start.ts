/**
 * Start script of three Redis. One of them is the primary: the first one, or the one that the operator promoted last (REDIS_PRIMARY, from
 * the ConfigMap that the promotion wrote before it took effect). All others start as its replicas, whatever their volumes hold, so a
 * primary that was lost and comes back is a replica.
 *
 * The script decides before the start: a primary with an empty volume is new, or has lost its volume, so it requests the state of both
 * others. If both are empty, it is new. Otherwise it copies everything from the one that has received more and then becomes the primary
 * again; until then it accepts no writes. Every commit was acknowledged by at least one replica, and the data of a replica is always a
 * prefix of the primary's, so the longer one has all that was acknowledged.
 *
 * When it is undecidable which replica has received more, because one was started anew meanwhile, the script repeats the check and logs
 * that an operator must decide (docs/operating/environments-data.md). A marker keeps an interrupted start from counting as a primary.
 */

/** Script for `sh -c`, with the arguments of redis-server after it. REDIS_HOSTS has the three hosts in the order of their pods. */
export const START_REPLICATED = `set -eu
export REDISCLI_AUTH="$REDIS_PASSWORD"
ask() { host=$1; shift; redis-cli -h "$host" -p "$REDIS_PORT" "$@"; }
field() { tr -d '\\r' | sed -n "s/^$1://p"; }
leader=\${REDIS_PRIMARY:-redis-0}
ordinal=0; primary=; replicas=
for host in $REDIS_HOSTS; do
  if [ "$ordinal" = "\${leader##*-}" ]; then primary=$host; else replicas="$replicas $host"; fi
  ordinal=$((ordinal + 1))
done
marker="$REDIS_DATA/taking-over"
if [ "\${POD_NAME##*-}" != "\${leader##*-}" ]; then exec redis-server "$@" --replicaof "$primary" "$REDIS_PORT"; fi
if [ -e "$REDIS_DATA/appendonlydir" ] && [ ! -e "$marker" ]; then exec redis-server "$@"; fi

echo "this volume is empty: asking the replicas what they have"
while :; do
  best=; most=1; isClear=yes
  for replica in $replicas; do
    until keys=$(ask "$replica" DBSIZE 2>/dev/null) && [ "$keys" -ge 0 ] 2>/dev/null; do sleep 1; done
    offset=$(ask "$replica" INFO replication | field slave_repl_offset)
    if [ "$keys" = 0 ]; then continue; fi
    if [ "\${offset:-0}" -le 1 ]; then isClear=no; elif [ "$offset" -gt "$most" ]; then best=$replica; most=$offset; fi
  done
  if [ "$isClear" = yes ]; then break; fi
  echo "a replica with data does not know how much it has received: somebody must decide which one to begin from"
  sleep 10
done
if [ -z "$best" ]; then rm -rf "$REDIS_DATA/appendonlydir" "$marker"; exec redis-server "$@"; fi

echo "taking everything over from $best, which has received most"
touch "$marker"
rm -rf "$REDIS_DATA/appendonlydir"
# Nobody reads from it before it has everything.
redis-server "$@" --replica-serve-stale-data no --replicaof "$best" "$REDIS_PORT" &
child=$!
trap 'kill -TERM "$child"' TERM INT
until [ "$(ask "$primary" INFO replication 2>/dev/null | field master_link_status)" = up ] &&
  [ "$(ask "$primary" INFO persistence | field aof_rewrite_in_progress)" = 0 ]; do
  kill -0 "$child"
  ask "$best" REPLICAOF NO ONE >/dev/null 2>&1 || true
  sleep 1
done
ask "$primary" REPLICAOF NO ONE
rm -f "$marker"
for replica in $replicas; do ask "$replica" REPLICAOF "$primary" "$REDIS_PORT"; done
echo "it is the primary again"
wait "$child"
`;
