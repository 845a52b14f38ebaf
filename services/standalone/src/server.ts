/** The command `server`: every role in one process, until a signal or a failure. */
import {
  type ErrorAdvice,
  type ProcessCommand,
  type ProcessOrigin,
  type ProcessPorts,
  type ReadyFacts,
  runProcess,
} from "@perdure/process-kit";
import { startStandalone } from "./composition.js";
import { directoriesOf, loadSettings, type StandaloneSettings, settings as schema } from "./config.js";

const ADVICE: ErrorAdvice = {
  RT0005:
    "Stop the other process, or give this one a directory of its own: --base-dir, --node-name or worker.storage-rocksdb.path.",
  RT0009: "Move the directory away, or set worker.storage-rocksdb.path to another one. Nothing in it was changed.",
  META0005: "Restore the metadata directory from a backup, or move it away and register the deployments again.",
  META0010:
    "Start the version that wrote the data, or set another directory: worker.storage-rocksdb.path, meta.storage-path. Nothing in it was changed.",
  META0011: "Move the directory away, or set meta.storage-path to another one. Nothing in it was changed.",
  STO0001: "Check that the disk is healthy and that this user may write to the directory.",
  STO0002: "Make sure that only one server uses the data directory.",
  STO0003: "Restore the directory from a backup, or move it away to start empty.",
  STO0005:
    "Bring back the directory that belongs to the other one (worker.storage-rocksdb.path, meta.storage-path), or start once with the worker.accept-data-loss that the message names.",
  STO0006: "Restore the directory from a backup, or send a copy of it to support. Nothing in it was changed.",
  STO0007: "Bring back the whole directory as it was: the database and the commit log beside it. Nothing in it was changed.",
  STO0004: "Free space on the disk, then start again: nothing that was acknowledged is lost.",
};

/** Resolves with the exit code once the server has stopped (at once for `--print-config`). */
export function runServer(command: ProcessCommand, environment: NodeJS.ProcessEnv): Promise<number> {
  const spec = { program: "perdure server", service: "standalone", schema, load: loadSettings, advice: ADVICE, start };
  return runProcess(spec, command, environment);
}

async function start(settings: StandaloneSettings, ports: ProcessPorts, origin: ProcessOrigin): Promise<ReadyFacts> {
  const { ingressPort, adminPort, identityPublicKey } = await startStandalone(settings, ports, origin);
  const admin = settings.admin.advertisedAddress ?? `http://localhost:${adminPort}/`;
  // Runtimes serve only their gateway, which has a console of its own.
  const hasConsole = !settings.admin.disableWebUi && settings.runtime.secretFile === undefined;
  return {
    ingress: settings.ingress.advertisedAddress ?? `http://localhost:${ingressPort}/`,
    admin,
    console: hasConsole ? new URL("ui/", admin).href : undefined,
    data: directoriesOf(settings).node,
    identity: identityPublicKey,
  };
}
