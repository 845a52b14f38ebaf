/**
 * What a power cut leaves of a database that is open: a copy of its directories in which everything is lost, kept or garbled that was not
 * made durable. LevelDB syncs tables and manifests itself; its log is never synced behind a commit log.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { SEGMENT_HEADER_BYTES } from "../src/commit-log/format.js";

const SECTOR_BYTES = 512;

/** From 0 (inclusive) to 1. */
export type Chance = () => number;

export function seeded(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Copies a database and its commit log without giving up the thread, so that only LevelDB's own thread can write meanwhile. */
export function copyDatabase(database: string, to: string): void {
  for (let attempt = 0; attempt < 100; attempt++) {
    const before = listing(database);
    try {
      for (const directory of [database, `${database}-log`]) {
        const target = join(to, basename(directory));
        mkdirSync(target, { recursive: true });
        for (const name of names(directory)) copyFileSync(join(directory, name), join(target, name));
      }
      const version = join(dirname(database), "perdure-format.json");
      if (existsSync(version)) copyFileSync(version, join(to, basename(version)));
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    }
    if (listing(database) === before) return;
  }
  throw new Error("LevelDB's thread does not rest");
}

const names = (directory: string): string[] =>
  existsSync(directory)
    ? readdirSync(directory, { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => name)
    : [];

function listing(database: string): string {
  return names(database)
    .filter((name) => !name.startsWith("LOG"))
    .map((name) => `${name} ${statSync(join(database, name), { throwIfNoEntry: false })?.size ?? "gone"}`)
    .join(", ");
}

/** Loses what LevelDB's log got since the database was opened: all of it, its end, blocks of it, or nothing. */
export function loseLevelLogs(copy: string, chance: Chance): void {
  for (const name of names(copy).filter((each) => /^[0-9]+\.log$/.test(each))) {
    const path = join(copy, name);
    const bytes = readFileSync(path);
    const kind = Math.floor(chance() * 4);
    if (kind === 0) writeFileSync(path, "");
    if (kind === 1) writeFileSync(path, bytes.subarray(0, Math.floor(chance() * bytes.length)));
    if (kind !== 2) continue;
    for (let at = 0; at < bytes.length; at += 4096) if (chance() < 0.3) bytes.fill(0, at, Math.min(at + 4096, bytes.length));
    writeFileSync(path, bytes);
  }
}

/**
 * Loses some of the sectors that differ from the durable content of the segments, which is `durable` where a segment is in both. Resolves
 * with whether anything was lost.
 */
export function loseSectors(copy: string, durable: ReadonlyMap<string, Buffer>, chance: Chance): boolean {
  let isLost = false;
  for (const name of names(copy).filter((each) => /^[0-9]+\.log$/.test(each))) {
    const before = durable.get(name);
    const now = readFileSync(join(copy, name));
    if (before === undefined || before.length !== now.length) continue;
    for (let at = SEGMENT_HEADER_BYTES; at < now.length; at += SECTOR_BYTES) {
      const [old, fresh] = [before.subarray(at, at + SECTOR_BYTES), now.subarray(at, at + SECTOR_BYTES)];
      if (old.equals(fresh) || chance() < 0.5) continue;
      fresh.set(old);
      isLost = true;
    }
    writeFileSync(join(copy, name), now);
  }
  return isLost;
}

/** The segments as they are now. */
export function segmentsOf(log: string): Map<string, Buffer> {
  return new Map(
    names(log)
      .filter((name) => /^[0-9]+\.log$/.test(name))
      .map((name) => [name, readFileSync(join(log, name))]),
  );
}
