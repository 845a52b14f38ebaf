/** Why: an error that keeps the server from running should say what to do next, not only what is wrong. */
import { catalogue, type ErrorCode, type PerdureError } from "@perdure/base";

const ADVICE: Partial<Record<ErrorCode, string>> = {
  RT0002: "Correct the settings; 'perdure server --print-config' shows every setting with its meaning.",
  RT0004:
    "Stop the program that uses the address, or choose another one: ingress.bind-port, admin.bind-port. Ports below 1024 may need more rights.",
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
  STO0004: "Make room on the disk, then start again: nothing that was acknowledged is lost.",
  OPS0001: "Correct the setting; 'perdure server --print-config' shows every setting with its meaning.",
  OPS0002: "Keep one of the two names.",
  OPS0003: "This is a defect of Perdure. Please report it with the log above.",
};

/** Some lines for a person: code, what happened, what to do, where to read on. */
export function explain(error: PerdureError): string {
  const lines = [`${error.code}: ${catalogue[error.code].title}`, "", `  ${error.detail.replaceAll("\n", "\n  ")}`];
  const advice = ADVICE[error.code];
  if (advice !== undefined) lines.push("", `What to do: ${advice}`);
  lines.push(`More: docs/errors/${error.code}.md`);
  return lines.join("\n");
}
