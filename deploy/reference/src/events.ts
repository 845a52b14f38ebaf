/** The page of events: what is recorded beside logs and metrics, read from the sources that record it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { code, type Page, page, prose, table } from "./markdown.js";

const AUDIT_SENTENCES: Readonly<Record<string, string>> = {
  "account.create": "an account was created",
  "account.update": "name or description of an account changed",
  "account.change-plan": "the account has another plan",
  "environment.create": "an environment was requested",
  "environment.update": "an environment has another name, description or policy",
  "environment.destroy": "an environment was deleted",
  "environment.undelete": "a deleted environment was restored",
  "environment.suspend": "an environment was suspended",
  "environment.resume": "an environment was resumed, or is created again",
  "environment.runtime-failed": "the runtime of an environment failed",
  "environment.throttle": "an environment exceeded a quota of its plan and is throttled",
  "environment.unthrottle": "an environment is within its quotas again",
  "environment.warn-idle": "an environment is unused; its members were warned",
  "signing-key.rotate": "an environment has a next key for signed requests",
  "signing-key.promote": "the next key signs requests now",
  "signing-key.retire": "the previous key was deleted",
  "login.sign-up": "a user signed up",
  "login.verify-email": "a user confirmed the mail address",
  "login.sign-in": "a user logged in at a page",
  "login.device": "a user allowed a command line to act for the user",
  "login.confirm": "a user confirmed to be present",
  "login.failed": "a login failed",
  "login.sign-out": "a user logged out",
  "login.revoke": "sessions or tokens of a user were revoked",
  "login.forgot-password": "a user requested a link for a new password",
  "login.reset-password": "a user has a new password",
  "tunnel.open": "a tunnel client connected",
  "tunnel.close": "a tunnel client disconnected",
  "tunnel.refuse": "a tunnel client was refused",
  "key.create": "an API key was created",
  "key.delete": "an API key was deleted",
  "member.invite": "a user was invited",
  "member.withdraw-invitation": "an invitation was withdrawn",
  "member.join": "a user accepted an invitation",
  "member.update": "a member has another role",
  "member.remove": "a member was removed",
};

const FOLDERS: readonly string[] = [
  "libs/cloud",
  "services/tenancy/src",
  "services/cloud-gateway/src",
  "services/tunnel-relay/src",
];
/** Names of settings (`login.oidc-client-id`) have the same form. */
const AUDIT_ACTION = /"((?:account|environment|key|member|login|tunnel|signing-key)\.(?!oidc-)[a-z][a-z-]*)"/g;
const SKIPPED: ReadonlySet<string> = new Set(["node_modules", "test", "testing", "testdata"]);

function sourcesBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : sourcesBelow(root, path);
    return entry.name.endsWith(".ts") && !entry.name.endsWith(".test.ts") ? [path] : [];
  });
}

/** Actions of the audit log that the sources below `root` record. */
export function auditActions(root: string): readonly string[] {
  const texts = FOLDERS.flatMap((folder) => sourcesBelow(root, folder)).map((path) => readFileSync(join(root, path), "utf8"));
  const recorded = texts.flatMap((text) => [...text.matchAll(AUDIT_ACTION)].map(([, action]) => action ?? ""));
  return [...new Set(recorded)].toSorted();
}

const JOURNAL = table(
  ["`event_type`", "When", "Fields of `event_json`"],
  [
    [
      code("TransientError"),
      "An attempt failed and is retried; one row for consecutive attempts with the same error",
      "`error_code`, `error_message`, and where they are known the stack trace and the command",
    ],
    [code("Paused"), "The invocation was paused, by its retry policy or by a request", "`last_failure`"],
  ],
);

export function eventsPage(root: string): Page {
  const rows = auditActions(root).map((action) => [code(action), prose(AUDIT_SENTENCES[action] ?? "")]);
  return page("events.md", "Events", [
    "Perdure records events in three places. Logs and metrics are described elsewhere: [metrics](../operating/metrics.md).",
    "## Of an invocation",
    "Failures and pauses are stored with the invocation: in SQL in [sys_journal_events](sql-tables.md#sys_journal_events), and with times and causes in its [timeline](../why-is-it-stuck.md).",
    JOURNAL,
    "## Of an account",
    "The audit log of a platform, read with `ListAuditEvents` of the [Cloud API](cloud-api.md), `perdure audit` and the console. Each event has a time, the actor, its address and the id of the request.",
    table(["Action", "When"], rows),
    "## Of objects in Kubernetes",
    "The operator writes Kubernetes events about environments, services and tunnels: `kubectl describe perdureenvironment <name>`. Their reasons are those of the conditions in the status; [environments on Kubernetes](../operating/environments-on-kubernetes.md) and [services on Kubernetes](../operating/services-on-kubernetes.md) list them.",
  ]);
}
