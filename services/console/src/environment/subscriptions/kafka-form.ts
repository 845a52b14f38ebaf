/** The form has cluster, topic and options as lines of `name=value`; the API takes addresses and a map. Pure. */
import type { SubscriptionStatusView } from "@perdure/admin-client";
import type { Tone } from "../../kit/index.js";

/** `kafka://k1/orders` into cluster and topic; undefined for another kind of source. */
export function sourceOf(uri: string): { readonly cluster: string; readonly topic: string } | undefined {
  const match = /^kafka:\/\/([^/]+)\/(.+)$/.exec(uri);
  return match?.[1] === undefined || match[2] === undefined ? undefined : { cluster: match[1], topic: match[2] };
}

/** `service://Orders/place` as service and handler. */
export function sinkText(uri: string): string {
  return uri.replace(/^service:\/\//, "");
}

type ReadOptions =
  | { readonly ok: true; readonly options: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly problem: string };

/** One `name=value` in each line; empty lines are passed over. */
export function optionsOf(text: string): ReadOptions {
  const options: Record<string, string> = {};
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const at = line.indexOf("=");
    const name = line.slice(0, at).trim();
    if (at < 0 || name === "") return { ok: false, problem: `Line ${index + 1} is not name=value.` };
    if (Object.hasOwn(options, name)) return { ok: false, problem: `${name} is duplicated.` };
    options[name] = line.slice(at + 1).trim();
  }
  return { ok: true, options };
}

/** Records that exist and have not been processed; undefined when the number is not available. */
export function lagOf({ positions }: SubscriptionStatusView): number | undefined {
  return positions.length === 0 ? undefined : positions.reduce((sum, { lag }) => sum + Math.max(0, lag), 0);
}

interface StateLabel {
  readonly label: string;
  readonly tone: Tone;
}

const STATE_LABELS: Readonly<Record<string, StateLabel>> = {
  starting: { label: "starting", tone: "info" },
  consuming: { label: "reading", tone: "good" },
  "backing-off": { label: "failing, retrying", tone: "bad" },
  paused: { label: "paused", tone: "warn" },
  "no-cluster": { label: "unknown cluster", tone: "bad" },
  elsewhere: { label: "not being read", tone: "idle" },
};

export function stateLabel({ state, paused, stuck_at }: SubscriptionStatusView): StateLabel {
  if (paused) return { label: "paused", tone: "warn" };
  if (stuck_at !== null) return { label: "stuck", tone: "bad" };
  return STATE_LABELS[state] ?? { label: state, tone: "idle" };
}

/** Parts of option names whose values are hidden on the screen; the server hides those of clusters by itself. */
const SECRET = /password|secret|passphrase|username|jaas|private\.key|token|key\.pem/i;

/** Values of secrets are blacked out. */
export function shownOptions(options: Readonly<Record<string, string>>): readonly (readonly [name: string, value: string])[] {
  return Object.entries(options).map(([name, value]) => [name, SECRET.test(name) ? "•••" : value]);
}

export interface ClusterFields {
  readonly name: string;
  readonly brokers: string;
  readonly protocol: string;
  readonly mechanism: string;
  readonly user: string;
  readonly password: string;
  readonly more: string;
}

/** The client options of the cluster; fields that are not of the protocol are left out. */
export function clusterProperties(fields: ClusterFields, more: Readonly<Record<string, string>>): Record<string, string> {
  const isSasl = fields.protocol.startsWith("SASL");
  return {
    "bootstrap.servers": fields.brokers.trim(),
    ...(fields.protocol === "" ? {} : { "security.protocol": fields.protocol }),
    ...(isSasl ? { "sasl.mechanism": fields.mechanism, "sasl.username": fields.user, "sasl.password": fields.password } : {}),
    ...more,
  };
}
