/**
 * Replies by their shape, which the command decides. An error reply throws what `answer` throws. A reply of another shape throws STO0001: a
 * proxy or a server that is not Redis changed it, and nothing that it returns may be taken for stored data.
 */
import { PerdureError } from "@perdure/base";
import type { CommandReply } from "./link.js";
import { answer } from "./requester.js";

/** Of `GET` and `HGET`: null when there is no value. */
export function bytesReply(reply: CommandReply): Buffer | null {
  const value = answer(reply);
  return isBytesOrNull(value) ? value : unexpected("bytes or nothing");
}

/** Of `HKEYS`, `HGETALL`, `ZRANGEBYSCORE`. */
export function listReply(reply: CommandReply): readonly Buffer[] {
  const value = answer(reply);
  return isList(value) && value.every(isBytes) ? value : unexpected("a list of bytes");
}

/** Of `HMGET`: null for each field without a value. */
export function fieldsReply(reply: CommandReply): readonly (Buffer | null)[] {
  const value = answer(reply);
  return isList(value) && value.every(isBytesOrNull) ? value : unexpected("a list of bytes or nothing");
}

/** Of counts, and of scripts that return a number. */
export function numberReply(reply: CommandReply): number {
  const value = answer(reply);
  return typeof value === "number" ? value : unexpected("a number");
}

/** Of `XRANGE`: the value of each entry, whose only field it is. */
export function streamReply(reply: CommandReply): readonly Buffer[] {
  const value = answer(reply);
  return isList(value) ? value.map(entryValue) : unexpected("entries of a stream");
}

function entryValue(entry: CommandReply): Buffer {
  const [, fields = null] = isList(entry) ? entry : [];
  const [, value = null] = isList(fields) ? fields : [];
  return isBytes(value) ? value : unexpected("an entry with one value");
}

/** Of `HSCAN` and `SSCAN`: the next position, and the items of this page. */
export function scanReply(reply: CommandReply): { readonly next: string; readonly items: readonly Buffer[] } {
  const value = answer(reply);
  const [next = null, items = null] = isList(value) ? value : [];
  return isBytes(next) ? { next: next.toString(), items: listReply(items) } : unexpected("a page of a scan");
}

/** Of scripts that return several values. */
export function valuesReply(reply: CommandReply): readonly CommandReply[] {
  const value = answer(reply);
  return isList(value) ? value : unexpected("a list");
}

const isBytes = (value: CommandReply): value is Buffer => Buffer.isBuffer(value);
const isBytesOrNull = (value: CommandReply): value is Buffer | null => value === null || Buffer.isBuffer(value);
const isList = (value: CommandReply): value is readonly CommandReply[] => Array.isArray(value);

function unexpected(what: string): never {
  throw new PerdureError("STO0001", `Redis replied something else than ${what}`);
}
