/**
 * Runs suites like `run.mjs`, with its arguments, and meanwhile stops single processes of this clone, chosen at random, for up to a second
 * each, as a busy machine does: `node deploy/testing/stall.mjs <tier>[,<tier>] [pattern…]`. Each process stands still about half of the
 * time. Finds tests that depend on durations; tests of durations fail. Linux only. The exit code is that of the run.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const STOP_MS_MIN = 50;
const STOP_MS_MAX = 1_000;
/** Longest pause between the starts of two stops. */
const PAUSE_MS_MAX = 100;

/** Whether a running process belongs to this clone. One that a test has stopped is left alone: continuing it would be wrong. */
function isStoppable(pid) {
  try {
    const state = /^.*\) (\S)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
    if (state === undefined || "TtZX".includes(state)) return false;
    return readlinkSync(`/proc/${pid}/cwd`).startsWith(root) || readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(root);
  } catch {
    return false; // It has ended.
  }
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

const stopped = new Set();
let stops = 0;
function stopOne() {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const own = pids.map(Number).filter(isStoppable);
  const pid = own[Math.floor(Math.random() * own.length)];
  if (pid === undefined) return;
  signal(pid, "SIGSTOP");
  stops++;
  stopped.add(pid);
  setTimeout(
    () => {
      signal(pid, "SIGCONT");
      stopped.delete(pid);
    },
    STOP_MS_MIN + Math.random() * (STOP_MS_MAX - STOP_MS_MIN),
  ).unref();
}

let timer;
const next = () => {
  timer = setTimeout(() => {
    stopOne();
    next();
  }, Math.random() * PAUSE_MS_MAX);
};
next();

const run = spawn(process.execPath, [join(root, "deploy/testing/run.mjs"), ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
});
for (const name of ["SIGINT", "SIGTERM"]) process.on(name, () => run.kill(name));
run.on("exit", (code) => {
  clearTimeout(timer);
  for (const pid of stopped) signal(pid, "SIGCONT");
  console.log(`processes were stopped ${stops} times`);
  process.exitCode = code ?? 1;
});
