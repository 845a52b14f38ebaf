/** Concurrency rules, their use, and the queues that wait for them. */
import { useState } from "react";
import { Link } from "wouter";
import {
  Badge,
  Breakable,
  Button,
  Confirmation,
  durationText,
  Empty,
  Loaded,
  Page,
  ProblemNote,
  Section,
  Snippet,
  Table,
} from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { useDeletion } from "../operations/use-deletion.js";
import { LIVE_MS, useChange, useRequest, useSql } from "../request.js";
import {
  type LimitRule,
  type LimitUsage,
  QUEUES_STATEMENT,
  queueHref,
  queueOf,
  RATES_STATEMENT,
  RULES_STATEMENT,
  rulesOf,
  scopeHref,
  USAGE_STATEMENT,
  usageOf,
  type WaitingQueue,
} from "./flow-rows.js";
import { QUEUES_SHOWN_MAX, USAGE_SHOWN_MAX } from "./limits.js";
import { RuleDialog } from "./rule-dialog.js";
import { ruleTurned } from "./rule-form.js";
import "./flow.css";

export default function FlowPage() {
  return (
    <Page title="Rules and queues" lead="Limit calls that name a scope: concurrency, rate and priority.">
      <Rules />
      <UsageNow />
      <Queues />
    </Page>
  );
}

function Rules() {
  const { forbidden } = useEnvironment();
  const rules = useRequest(
    ["rules"],
    async ({ admin }, signal) => {
      const [ruleRows, rates] = await Promise.all([
        admin.sql.query(RULES_STATEMENT, { signal }),
        admin.sql.query(RATES_STATEMENT, { signal }),
      ]);
      return rulesOf(ruleRows, rates);
    },
    { everyMs: LIVE_MS },
  );
  const [editing, setEditing] = useState<{ readonly rule: LimitRule | undefined }>();
  const [removing, setRemoving] = useState<LimitRule>();
  return (
    <Section
      title="Rules"
      actions={
        <Button forbidden={forbidden} onClick={() => setEditing({ rule: undefined })}>
          Create rule
        </Button>
      }
    >
      <Loaded query={rules}>
        {(all) => <RuleTable all={all} onEdit={(rule) => setEditing({ rule })} onRemove={setRemoving} />}
      </Loaded>
      {editing !== undefined && (
        <RuleDialog key={editing.rule?.pattern ?? ""} rule={editing.rule} onClose={() => setEditing(undefined)} />
      )}
      {removing !== undefined && <Removal key={removing.pattern} rule={removing} onClose={() => setRemoving(undefined)} />}
    </Section>
  );
}

interface RuleTableProps {
  readonly all: readonly LimitRule[];
  readonly onEdit: (rule: LimitRule) => void;
  readonly onRemove: (rule: LimitRule) => void;
}

function RuleTable({ all, onEdit, onRemove }: RuleTableProps) {
  const { adminUrl } = useEnvironment();
  return (
    <Table
      label="Rules"
      rows={all}
      keyOf={({ pattern }) => pattern}
      columns={[
        {
          name: "Pattern",
          cell: ({ pattern, isDisabled, description }: LimitRule) => (
            <>
              <code>
                <Breakable text={pattern} />
              </code>{" "}
              {isDisabled && <Badge tone="warn">disabled</Badge>}
              {description !== undefined && <div className="quiet small flow__words">{description}</div>}
            </>
          ),
        },
        {
          name: "Max concurrency",
          isNumber: true,
          cell: ({ concurrency }: LimitRule) => concurrency?.toLocaleString() ?? "no limit",
        },
        { name: "Rate limit", cell: ({ rate }: LimitRule) => <span className="nowrap">{rateText(rate)}</span> },
        { name: "Weight", isNumber: true, cell: ({ weight }: LimitRule) => weight ?? 1 },
        { name: "Priority", isNumber: true, cell: ({ priority }: LimitRule) => priority ?? "–" },
        {
          name: "Actions",
          isNameHidden: true,
          cell: (rule: LimitRule) => <RuleActions rule={rule} onEdit={onEdit} onRemove={onRemove} />,
        },
      ]}
      empty={
        <Empty title="No rules yet">
          <p>A rule limits the concurrency and the rate of a scope. Create one here, or with</p>
          <Snippet
            label="command"
            text={`curl -X PUT ${adminUrl}/limits/rules --json '[{"pattern": "acme", "limits": {"concurrency": 10}}]'`}
          />
        </Empty>
      }
    />
  );
}

interface RuleActionsProps extends Pick<RuleTableProps, "onEdit" | "onRemove"> {
  readonly rule: LimitRule;
}

function RuleActions({ rule, onEdit, onRemove }: RuleActionsProps) {
  const { forbidden } = useEnvironment();
  const turn = useChange<LimitRule>(({ admin }, rule) => admin.rules.put([ruleTurned(rule)]), {
    done: (_, { pattern, isDisabled }) => `Rule ${pattern} ${isDisabled ? "enabled" : "disabled"}`,
    failed: "The change failed",
  });
  return (
    <span className="row">
      <Button isSmall forbidden={forbidden} aria-label={`Edit ${rule.pattern}`} onClick={() => onEdit(rule)}>
        Edit
      </Button>
      <Button
        isSmall
        appearance="bare"
        forbidden={forbidden}
        aria-label={`${rule.isDisabled ? "Enable" : "Disable"} ${rule.pattern}`}
        onClick={() => turn.mutate(rule)}
      >
        {rule.isDisabled ? "Enable" : "Disable"}
      </Button>
      <Button
        isSmall
        appearance="bare"
        forbidden={forbidden}
        isDanger
        aria-label={`Delete ${rule.pattern}`}
        onClick={() => onRemove(rule)}
      >
        Delete
      </Button>
    </span>
  );
}

interface RuleRemovalProps {
  readonly rule: LimitRule;
  readonly onClose: () => void;
}

function Removal({ rule, onClose }: RuleRemovalProps) {
  const remove = useDeletion<LimitRule>(async ({ admin }, { pattern }) => (await admin.rules.remove([pattern])).operation, {
    done: ({ pattern }) => `Rule ${pattern} deleted`,
    onDone: onClose,
  });
  return (
    <Confirmation
      title={`Delete ${rule.pattern}?`}
      isOpen
      onClose={onClose}
      verb="Delete"
      isBusy={remove.isPending}
      problem={remove.isError ? <ProblemNote cause={remove.error} title="The rule was not deleted." /> : undefined}
      onConfirm={() => remove.mutate(rule)}
    >
      <p>Invocations that wait only for this rule can start at once.</p>
    </Confirmation>
  );
}

function UsageNow() {
  const usage = useSql(USAGE_STATEMENT, { everyMs: LIVE_MS });
  const { ingressUrl } = useEnvironment();
  return (
    <Section title="Usage">
      <Loaded query={usage}>
        {(rows) => (
          <>
            <Table
              label="Scopes and limit keys in use"
              rows={rows.map(usageOf)}
              keyOf={({ scope, limitKey }) => `${scope}/${limitKey}`}
              columns={[
                {
                  name: "Scope and limit key",
                  cell: (one: LimitUsage) => (
                    <Link href={scopeHref(one)}>
                      <Breakable text={[one.scope, one.limitKey].filter(Boolean).join(" / ")} />
                    </Link>
                  ),
                },
                { name: "In use", cell: (one: LimitUsage) => <Meter usage={one} /> },
                {
                  name: "Rule",
                  cell: ({ pattern }: LimitUsage) =>
                    pattern === undefined ? (
                      <span className="quiet">none</span>
                    ) : (
                      <code>
                        <Breakable text={pattern} />
                      </code>
                    ),
                },
                { name: "Waiting queues", isNumber: true, cell: ({ waiting }: LimitUsage) => waiting.toLocaleString() },
              ]}
              empty={
                <Empty title="No scopes in use">
                  <p>While calls in a scope run or wait, this shows how much of its limits they use:</p>
                  <Snippet
                    label="command"
                    text={`curl ${ingressUrl}/restate/scope/acme/call/Greeter/greet --json '"Ann"' -H 'x-restate-limit-key: tenant1'`}
                  />
                </Empty>
              }
            />
            {rows.length === USAGE_SHOWN_MAX && <p className="quiet">The scopes with the most waiting queues are shown.</p>}
          </>
        )}
      </Loaded>
    </Section>
  );
}

function Meter({ usage: { running, limit } }: { readonly usage: LimitUsage }) {
  if (limit === undefined) return <>{running.toLocaleString()}, no limit</>;
  const share = Math.min(1, running / Math.max(1, limit));
  return (
    <span className="row">
      <span className="flow__meter" aria-hidden="true">
        <span className={`flow__used${running >= limit ? " flow__used--full" : ""}`} style={{ width: `${share * 100}%` }} />
      </span>
      {running.toLocaleString()} of {limit.toLocaleString()}
      {running >= limit && <Badge tone="warn">full</Badge>}
    </span>
  );
}

function Queues() {
  const { forbidden } = useEnvironment();
  const queues = useSql(QUEUES_STATEMENT, { everyMs: LIVE_MS });
  const pause = useChange<WaitingQueue>(({ admin }, { id, isPaused }) => admin.rules.setQueuePaused(id, !isPaused), {
    done: (_, { what, id, isPaused }) => `Queue ${what ?? id} ${isPaused ? "resumed" : "paused"}`,
    failed: "The change failed",
  });
  return (
    <Section title="Queues">
      <Loaded query={queues}>
        {(rows) => (
          <>
            <Table
              label="Queues"
              rows={rows.map(queueOf)}
              keyOf={({ id }) => id}
              columns={[
                {
                  name: "Queue",
                  cell: ({ id, service, what, isPaused }: WaitingQueue) => (
                    <>
                      <Link href={queueHref(id)}>
                        <Breakable text={what ?? service} />
                      </Link>{" "}
                      {isPaused && <Badge tone="warn">paused</Badge>}
                      <div className="quiet small">{service}</div>
                    </>
                  ),
                },
                { name: "Waiting", isNumber: true, cell: ({ waiting }: WaitingQueue) => waiting.toLocaleString() },
                { name: "Running", isNumber: true, cell: ({ running }: WaitingQueue) => running.toLocaleString() },
                { name: "Suspended", isNumber: true, cell: ({ suspended }: WaitingQueue) => suspended.toLocaleString() },
                {
                  name: "Head waits for",
                  cell: ({ blockedOn, head }: WaitingQueue) =>
                    blockedOn === undefined ? (
                      <span className="quiet">–</span>
                    ) : head === undefined ? (
                      <Breakable text={blockedOn} />
                    ) : (
                      <Link href={`/invocations/${head}`}>
                        <Breakable text={blockedOn} />
                      </Link>
                    ),
                },
                {
                  name: "Actions",
                  isNameHidden: true,
                  cell: (queue: WaitingQueue) => (
                    <Button
                      isSmall
                      forbidden={forbidden}
                      aria-label={`${queue.isPaused ? "Resume" : "Pause"} ${queue.what ?? queue.id}`}
                      onClick={() => pause.mutate(queue)}
                    >
                      {queue.isPaused ? "Resume" : "Pause"}
                    </Button>
                  ),
                },
              ]}
              empty={
                <Empty title="No waiting queues">
                  <p>
                    Calls that wait for a limit of their scope, or for the lock of their object, are counted here. A paused queue
                    starts no invocations.
                  </p>
                </Empty>
              }
            />
            {rows.length === QUEUES_SHOWN_MAX && <p className="quiet">Paused queues and the longest are shown.</p>}
          </>
        )}
      </Loaded>
    </Section>
  );
}

function rateText(rate: LimitRule["rate"]): string {
  if (rate === undefined) return "no limit";
  const burst = rate.burst === rate.limit ? "" : `, burst ${rate.burst.toLocaleString()}`;
  return `${rate.limit.toLocaleString()} per ${durationText(rate.perMs)}${burst}`;
}
