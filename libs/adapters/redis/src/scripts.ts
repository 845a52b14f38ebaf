/**
 * The scripts that run inside Redis. A script is atomic but nothing is undone when it fails halfway, so each checks everything that can
 * fail before its first write; after that first write Redis itself rejects no command any more (memory, replicas, disk).
 *
 * Calls of one script in the same write travel as one call, because a call costs client and server more than the work of most of them: keys
 * and arguments of the calls follow each other, and the reply is a list with one reply for each. A call that fails does not affect the
 * others.
 */
import { createHash } from "node:crypto";

export interface RedisScript {
  readonly text: string;
  readonly sha: string;
}

/** `body` sees the keys and arguments of one call. */
function script(keyCount: number, argumentCount: number, body: string): RedisScript {
  const text = `
local function each(KEYS, ARGV)
${body}
end
local replies = {}
for n = 0, #KEYS / ${keyCount} - 1 do
  local keys = { unpack(KEYS, n * ${keyCount} + 1, (n + 1) * ${keyCount}) }
  local ok, reply = pcall(each, keys, { unpack(ARGV, n * ${argumentCount} + 1, (n + 1) * ${argumentCount}) })
  if not ok and type(reply) ~= 'table' then reply = { err = tostring(reply) } end
  replies[n + 1] = reply
end
return replies
`;
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

/** Prefix of the error replies of these scripts. */
const CONFLICT = "PERDURE";

/**
 * One batch of one partition. KEYS: `epoch`. ARGV: epoch, number of the batch and the writes (`batch.ts`); mark of the data set, '' for
 * any. A partition without an epoch (an emptied Redis) or with another mark is refused like a stale epoch.
 *
 * Replies 1: written. 2: this very batch was written before; the repeated write is replicated and synced again, because the reply to the
 * first one may have been lost before that. −1−n: nothing written, the epoch is n. An error that begins with `PERDURE`: nothing written,
 * the batch does not fit the stored rows.
 */
export const commitScript = script(
  1,
  2,
  `
local stored = redis.call('HMGET', KEYS[1], 'epoch', 'batch', 'actions', 'mark')
local epoch, batch, actions, journals, writes, emptied, staged = unpack(cmsgpack.unpack(ARGV[1]))
if stored[1] ~= epoch or ARGV[2] ~= '' and stored[4] ~= ARGV[2] then return -1 - tonumber(stored[1] or '0') end
local last, number = tonumber(stored[2]), tonumber(batch)
if number <= last then
  redis.call('HSET', KEYS[1], 'batch', stored[2])
  return 2
end
if number ~= last + 1 then return redis.error_reply('${CONFLICT} batch ' .. number .. ' does not follow batch ' .. last) end

local prefix = string.sub(KEYS[1], 1, -6)
for _, journal in ipairs(journals) do
  if journal[2] == 0 then
    local length = redis.call('XLEN', prefix .. 'j:' .. journal[1])
    if length ~= journal[3] then
      return redis.error_reply('${CONFLICT} journal ' .. journal[1] .. ' has ' .. length .. ' entries, not ' .. journal[3])
    end
  end
end
for _, chunk in ipairs(staged) do
  if redis.call('EXISTS', prefix .. chunk) == 0 then return redis.error_reply('${CONFLICT} chunk ' .. chunk .. ' is gone') end
end

if actions == 0 then redis.call('HSET', KEYS[1], 'batch', batch)
else redis.call('HSET', KEYS[1], 'batch', batch, 'actions', string.format('%.0f', tonumber(stored[3] or '0') + actions)) end
for _, chunk in ipairs(staged) do redis.call('PERSIST', prefix .. chunk) end
for _, journal in ipairs(journals) do
  local key = prefix .. 'j:' .. journal[1]
  if journal[2] == 1 then redis.call('UNLINK', key) end
  local index = journal[3]
  for i = 4, #journal do
    redis.call('XADD', key, index .. '-1', 'e', journal[i])
    index = index + 1
  end
end
for _, write in ipairs(writes) do redis.call(write[1], prefix .. write[2], unpack(write, 3)) end
for _, empty in ipairs(emptied) do
  if redis.call('EXISTS', prefix .. empty[1] .. ':' .. empty[2]) == 0 then redis.call('SREM', prefix .. empty[1], empty[2]) end
end
return 1
`,
);

/**
 * One chunk of a large payload, before the commit that stores its row. KEYS: `epoch`. ARGV: epoch; mark of the data set, '' for any; name
 * of the chunk, its bytes, and the milliseconds after which Redis deletes it unless a commit makes it last. Replies 1, or as
 * `commitScript` when the epoch or the data set is another: then nothing is written, so an emptied Redis stays empty.
 */
export const stageScript = script(
  1,
  5,
  `
local stored = redis.call('HMGET', KEYS[1], 'epoch', 'mark')
if stored[1] ~= ARGV[1] or ARGV[2] ~= '' and stored[2] ~= ARGV[2] then return -1 - tonumber(stored[1] or '0') end
redis.call('SET', string.sub(KEYS[1], 1, -6) .. ARGV[3], ARGV[4], 'PX', ARGV[5], 'NX')
return 1
`,
);

/** A leadership begins: the epoch rises, its batches count from one. */
const RISE = `
local function rise(key)
  local epoch = redis.call('HINCRBY', key, 'epoch', 1)
  redis.call('HSET', key, 'batch', '0')
  return epoch
end
local function foreign(key, format)
  local stored = redis.call('HGET', key, 'format')
  if not stored then redis.call('HSET', key, 'format', format) end
  return stored and stored ~= format
end
`;

/** The reply for a partition of another data set, or of none; nothing is written. `mark` '' stands for any. */
const FOREIGN = `
local function mismatch(key, mark)
  local found = mark ~= '' and (redis.call('HGET', key, 'mark') or '')
  return found ~= mark and found
end
`;

/**
 * KEYS: `epoch`, `lease`. ARGV: format, holder or nothing, a name of this claim, mark of the data set. Replies the new epoch, the same
 * one when the claim is sent again; −1 when the lease is not the holder's, −2 when the data set is another; an error when the partition
 * has another format.
 */
export const claimScript = script(
  2,
  4,
  `${RISE}${FOREIGN}
if mismatch(KEYS[1], ARGV[4]) then return -2 end
if ARGV[2] ~= '' and redis.call('GET', KEYS[2]) ~= ARGV[2] then return -1 end
if foreign(KEYS[1], ARGV[1]) then return redis.error_reply('${CONFLICT} the partition is stored in another format') end
if redis.call('HGET', KEYS[1], 'claim') == ARGV[3] then
  redis.call('HSET', KEYS[1], 'claim', ARGV[3])
  return tonumber(redis.call('HGET', KEYS[1], 'epoch'))
end
redis.call('HSET', KEYS[1], 'claim', ARGV[3])
return rise(KEYS[1])
`,
);

/**
 * KEYS: `epoch`, `lease`. ARGV: format, worker, milliseconds, mark of the data set. Replies `[1, epoch]`: acquired, or extended when this
 * worker held it; `[0, holder, ms left]`: held by another worker; `[2, mark]`: the data set is another one. Acquiring raises the epoch:
 * every commit of the previous leader fails from that instant.
 */
export const acquireScript = script(
  2,
  4,
  `${RISE}${FOREIGN}
local foreignMark = mismatch(KEYS[1], ARGV[4])
if foreignMark then return { 2, foreignMark } end
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[2] then return { 0, holder, redis.call('PTTL', KEYS[2]) } end
if foreign(KEYS[1], ARGV[1]) then return redis.error_reply('${CONFLICT} the partition is stored in another format') end
local epoch = holder and tonumber(redis.call('HGET', KEYS[1], 'epoch') or '0') or rise(KEYS[1])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return { 1, epoch }
`,
);

/**
 * KEYS: `epoch`, `lease`. ARGV: worker, milliseconds, mark of the data set. Like `acquireScript`, but only for the holder; `[0, '', 0]`
 * when the lease is free.
 */
export const renewScript = script(
  2,
  3,
  `${FOREIGN}
local foreignMark = mismatch(KEYS[1], ARGV[3])
if foreignMark then return { 2, foreignMark } end
local holder = redis.call('GET', KEYS[2])
if not holder then return { 0, '', 0 } end
if holder ~= ARGV[1] then return { 0, holder, redis.call('PTTL', KEYS[2]) } end
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return { 1, tonumber(redis.call('HGET', KEYS[1], 'epoch') or '0') }
`,
);

/**
 * KEYS: `epoch`, `lease`. ARGV: name of the instance, distance of the jump. Moves a partition of another instance to this one: deletes the
 * lease, raises the epoch above all earlier ones, and resets the count of actions. Replies 1 when the partition belonged to another
 * instance, else 0.
 */
export const beginInstanceScript = script(
  2,
  2,
  `
if redis.call('HGET', KEYS[1], 'incarnation') == ARGV[1] then return 0 end
redis.call('HINCRBY', KEYS[1], 'epoch', ARGV[2])
redis.call('HSET', KEYS[1], 'batch', '0', 'incarnation', ARGV[1])
redis.call('HDEL', KEYS[1], 'actions')
redis.call('DEL', KEYS[2])
return 1
`,
);

/** KEYS: `epoch`, `lease`. Replies `[mark or '', holder, epoch, ms left]` of one moment; the mark alone when the lease is free. */
export const holderScript = script(
  2,
  0,
  `
local stored = redis.call('HMGET', KEYS[1], 'mark', 'epoch')
local holder = redis.call('GET', KEYS[2])
if not holder then return { stored[1] or '' } end
return { stored[1] or '', holder, tonumber(stored[2] or '0'), redis.call('PTTL', KEYS[2]) }
`,
);

/**
 * KEYS: `epoch`, `lease`. ARGV: mark of a new data set; 1 when it replaces others, else 0; then the highest epoch of earlier data sets, the
 * distance of the jump beyond it, and the name of the instance. Replies `[1, epoch]`: the partition carries the mark; `[0, mark]`: it
 * carries another one and nothing was written.
 *
 * A partition without a mark keeps its data. A partition whose mark is replaced begins as after a restore: see `beginInstanceScript`.
 */
export const markScript = script(
  2,
  5,
  `
local stored = redis.call('HMGET', KEYS[1], 'mark', 'epoch')
local epoch = tonumber(stored[2] or '0')
if stored[1] == ARGV[1] then
  redis.call('HSET', KEYS[1], 'mark', ARGV[1])
  return { 1, epoch }
end
if ARGV[2] == '1' then
  epoch = math.max(epoch, tonumber(ARGV[3])) + tonumber(ARGV[4])
  redis.call('HSET', KEYS[1], 'mark', ARGV[1], 'epoch', string.format('%.0f', epoch), 'batch', '0', 'incarnation', ARGV[5])
  redis.call('HDEL', KEYS[1], 'actions')
  redis.call('DEL', KEYS[2])
  return { 1, epoch }
end
if stored[1] then return { 0, stored[1] } end
redis.call('HSET', KEYS[1], 'mark', ARGV[1])
return { 1, epoch }
`,
);

/** KEYS: `epoch`, `lease`. ARGV: worker. A worker that releases its lease also raises the epoch, which fences the worker itself. */
export const releaseScript = script(
  2,
  1,
  `${RISE}
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
rise(KEYS[1])
redis.call('DEL', KEYS[2])
return 1
`,
);

/** KEYS: `members`, `members:at`. ARGV: worker, its text, milliseconds. Replies id and text of each member, by Redis's own clock. */
export const beatScript = script(
  2,
  3,
  `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[2], now, ARGV[1])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. now - ARGV[3])) do
  redis.call('ZREM', KEYS[2], gone)
  redis.call('HDEL', KEYS[1], gone)
end
return redis.call('HGETALL', KEYS[1])
`,
);

/** KEYS: `epoch`, `probe`. ARGV: milliseconds. Writes the second key for so long, beside a partition that is there. Replies 1 when it did. */
export const probeScript = script(
  2,
  1,
  `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('SET', KEYS[2], '', 'PX', ARGV[1])
return 1
`,
);
