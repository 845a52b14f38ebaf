/** Settings of every process, whatever its role; spread into the group of its settings. */
import { PerdureError } from "@perdure/base";
import { z } from "zod";
import { boolean, choice, custom, duration, optionalText, text, textMap, webUrl } from "../config/setting.js";

export const processSettings = {
  clusterName: custom(
    z
      .string()
      .regex(/^[\x21-\x7e]+$/, "must be visible ASCII without blanks")
      .prefault("localcluster"),
    {
      sentence: "Name of the cluster; endpoints receive it in the header x-restate-cluster-name.",
      form: "scalar",
    },
  ),
  nodeName: custom(
    z
      .string()
      .regex(/^[A-Za-z0-9_][A-Za-z0-9._-]*$/, "must be a name for a folder: only letters or digits, '.', '_', '-'")
      .prefault("node1"),
    {
      sentence: "Name of this node in traces, and of its folder where it keeps data on disk.",
      form: "scalar",
    },
  ),
  shutdownTimeout: duration("30s", { sentence: "Longest wait for running requests when stopping (duration).", minMs: 1 }),
  logFilter: text("info", {
    sentence: "Which log lines are written: debug, info, warn, error or off, also by component: 'info,invoker=debug'.",
  }),
  logFormat: choice(["auto", "pretty", "json"], "auto", {
    sentence: "Format of log lines; auto is pretty on a terminal and JSON elsewhere.",
  }),
  logDisableAnsiCodes: boolean(false, { sentence: "No colours in pretty log lines." }),
  docsUrl: webUrl(
    "Address of the documentation, for links of the console; where it is published when not set. Links in messages follow only the environment variable.",
  ),
  tracingEndpoint: optionalText({
    sentence: "OTLP/HTTP collector for traces, e.g. http://localhost:4318; nothing is traced when not set.",
  }),
  tracingHeaders: textMap({}, { sentence: "Headers sent with every export of traces.", secret: true }),
  tracingSampleRatio: custom(z.coerce.number().min(0).max(1).prefault(0.01), {
    sentence:
      "Share of traces that are kept of those that begin here, 0 to 1. A caller's decision stands, and what fails or takes longer than 5 s is kept.",
    form: "scalar",
  }),
  tracingServicesEndpoint: optionalText({
    sentence: "A second OTLP/HTTP collector, for spans of invocations only: that of the owner of the services.",
  }),
  tracingServicesHeaders: textMap({}, { sentence: "Headers sent with every export to it.", secret: true }),
} as const;

export interface ProcessSettings {
  readonly clusterName: string;
  readonly nodeName: string;
  readonly shutdownTimeout: number;
  readonly logFilter: string;
  readonly logFormat: "auto" | "pretty" | "json";
  readonly logDisableAnsiCodes: boolean;
  readonly docsUrl?: string | undefined;
  readonly tracingEndpoint?: string | undefined;
  readonly tracingHeaders: Readonly<Record<string, string>>;
  readonly tracingSampleRatio: number;
  readonly tracingServicesEndpoint?: string | undefined;
  readonly tracingServicesHeaders: Readonly<Record<string, string>>;
}

/** Whether callers may name scopes; the roles of one cluster must agree. */
export const flowControlSetting = boolean(true, {
  sentence: "Flow control: calls may name a scope and a limit key. Without it they are refused; rules can still be edited.",
});

/** Whether records of topics may; the roles of one cluster must agree. */
export const recordScopesSetting = boolean(false, {
  sentence:
    "The record headers 'x-restate-scope' and 'x-restate-limit-key' set scope and limit key of the invocations that subscriptions make; without it they are ignored.",
});

/** Whether record headers set scopes. Throws OPS0001 when they may, but flow control is off. */
export function recordScopesOf(settings: {
  readonly experimentalEnableVqueues: boolean;
  readonly experimentalEnableKafkaScope: boolean;
}): boolean {
  if (settings.experimentalEnableKafkaScope && !settings.experimentalEnableVqueues) {
    throw new PerdureError("OPS0001", "'experimental-enable-kafka-scope' needs 'experimental-enable-vqueues'");
  }
  return settings.experimentalEnableKafkaScope;
}

/**
 * `PERDURE_` variables that are not settings: the launcher's, and those of the command line client and of tunnels, which may well
 * be set where a server is started.
 */
export const RESERVED_VARIABLES: ReadonlySet<string> = new Set([
  ...["CONFIG", "NODE", "NODE_OPTIONS", "DEMO_ONCE"],
  ...[
    "ACCOUNT",
    "ADMIN_URL",
    "API_KEY",
    "API_URL",
    "AUTH_TOKEN",
    "CLI_CONFIG",
    "CLI_CONFIG_HOME",
    "CONFIG_HOME",
    "ENVIRONMENT",
    "HOST",
    "HOST_SCHEME",
    "INGRESS_URL",
  ],
  ...["ENVIRONMENT_ID", "REGION", "SIGNING_PUBLIC_KEY", "TUNNEL_NAME", "TUNNEL_SERVERS"],
]);
