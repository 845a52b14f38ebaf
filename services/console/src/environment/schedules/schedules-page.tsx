/** All schedules, when each fires next, and the actions on them. */
import type { ScheduleView } from "@perdure/admin-client";
import { lazy, Suspense, useState } from "react";
import { Link } from "wouter";
import {
  Badge,
  Breakable,
  Button,
  Confirmation,
  Empty,
  Icon,
  InvocationBadge,
  Loaded,
  Menu,
  Moment,
  Page,
  ProblemNote,
  Section,
  Snippet,
  Table,
  useNow,
} from "../../kit/index.js";
import { useAddress } from "../address.js";
import { useEnvironment } from "../environment.js";
import { useDeletion } from "../operations/use-deletion.js";
import { LIVE_MS, useChange, useRequest, useSql } from "../request.js";
import { CalendarLine, type CalendarLineProps, type CalendarSpan } from "./calendar-line.js";
import { cronText } from "./cron-text.js";
import { type RunResult, resultsOf, resultsStatement } from "./run-results.js";
import { ScheduleDetails } from "./schedule-details.js";
import { ScheduleDialog } from "./schedule-dialog.js";
import "./schedules.css";

const BackfillDialog = lazy(() => import("./backfill-dialog.js"));
const TONES = new Map(Object.entries({ active: "good", paused: "warn", ended: "idle" } as const));
/** The calendar moves once a minute. */
const CALENDAR_STEP_MS = 60_000;

export default function SchedulesPage() {
  const { forbidden } = useEnvironment();
  const [parameters, change] = useAddress();
  const schedules = useRequest(["schedules"], ({ admin }, signal) => admin.schedules.list({}, { signal }), { everyMs: LIVE_MS });
  const services = useRequest(["services"], ({ admin }, signal) => admin.services.list({ signal }));
  const [editing, setEditing] = useState<{ readonly schedule: ScheduleView | undefined }>();
  const [removing, setRemoving] = useState<ScheduleView>();
  const [backfilling, setBackfilling] = useState<ScheduleView>();
  const nowMs = Math.floor(useNow() / CALENDAR_STEP_MS) * CALENDAR_STEP_MS;
  const span: CalendarSpan = parameters.get("span") === "week" ? "week" : "day";
  const shown = parameters.get("show");
  const resultsQuery = resultsStatement(schedules.data ?? [], shown);
  const results = resultsOf(useSql(resultsQuery ?? "", { everyMs: LIVE_MS, isOff: resultsQuery === undefined }).data ?? []);
  const whyNot = forbidden ?? (services.data?.length === 0 ? "Register a service first" : undefined);
  return (
    <Page
      title="Schedules"
      lead="Recurring calls of handlers, each run exactly once."
      actions={
        <Button appearance="primary" forbidden={whyNot} onClick={() => setEditing({ schedule: undefined })}>
          Create schedule
        </Button>
      }
    >
      <Loaded query={schedules}>
        {(all) =>
          all.length === 0 ? (
            <NoSchedules />
          ) : (
            <>
              <Calendar schedules={all} fromMs={nowMs} span={span} />
              <ScheduleTable
                all={all}
                span={span}
                shown={shown}
                results={results}
                onEdit={(schedule) => setEditing({ schedule })}
                onBackfill={setBackfilling}
                onRemove={setRemoving}
              />
              <Shown schedule={all.find(({ id }) => id === shown)} results={results} isSelected={shown !== null} />
            </>
          )
        }
      </Loaded>
      {editing !== undefined && services.data !== undefined && (
        <ScheduleDialog
          services={services.data}
          schedule={editing.schedule}
          onClose={() => setEditing(undefined)}
          onDone={({ id }) => {
            setEditing(undefined);
            change({ show: id });
          }}
        />
      )}
      {backfilling !== undefined && (
        <Suspense>
          <BackfillDialog schedule={backfilling} onClose={() => setBackfilling(undefined)} />
        </Suspense>
      )}
      {removing !== undefined && <Removal key={removing.id} schedule={removing} onClose={() => setRemoving(undefined)} />}
    </Page>
  );
}

function NoSchedules() {
  const { adminUrl } = useEnvironment();
  return (
    <Empty title="No schedules yet">
      <p>A schedule calls a handler by a cron expression or at an interval. Create one here, or with</p>
      <Snippet
        label="command"
        text={`curl ${adminUrl}/schedules --json '{"name": "nightly", "cron": "30 2 * * *", "target": {"service": "Reports", "handler": "build"}}'`}
      />
    </Empty>
  );
}

function Calendar({ schedules, fromMs, span }: CalendarLineProps) {
  const [, change] = useAddress();
  return (
    <Section
      title={span === "day" ? "The next 24 hours" : "The next 7 days"}
      actions={
        <div className="row">
          {(["day", "week"] as const).map((each) => (
            <Button
              key={each}
              isSmall
              aria-pressed={span === each}
              appearance={span === each ? "quiet" : "bare"}
              onClick={() => change({ span: each === "day" ? undefined : each })}
            >
              {each === "day" ? "24 hours" : "7 days"}
            </Button>
          ))}
        </div>
      }
    >
      <CalendarLine schedules={schedules} fromMs={fromMs} span={span} />
    </Section>
  );
}

interface ScheduleTableProps {
  readonly all: readonly ScheduleView[];
  readonly span: CalendarSpan;
  /** Id of the schedule whose details are open. */
  readonly shown: string | null;
  readonly results: ReadonlyMap<string, RunResult>;
  readonly onEdit: (schedule: ScheduleView) => void;
  readonly onBackfill: (schedule: ScheduleView) => void;
  readonly onRemove: (schedule: ScheduleView) => void;
}

function ScheduleTable({ all, span, shown, results, ...menu }: ScheduleTableProps) {
  return (
    <Table
      label="Schedules"
      rows={all}
      keyOf={({ id }) => id}
      columns={[
        {
          name: "Name",
          cell: ({ id, name }) => (
            <Link
              href={`/schedules?${new URLSearchParams({ ...(span === "week" ? { span } : {}), show: id })}`}
              aria-current={shown === id ? "true" : undefined}
            >
              <Breakable text={name} />
            </Link>
          ),
        },
        {
          name: "State",
          cell: ({ status }) => <Badge tone={TONES.get(status) ?? "idle"}>{status}</Badge>,
        },
        { name: "Next", cell: ({ next_at }) => <Moment at={next_at} /> },
        {
          name: "Last",
          cell: ({ last_fired_at, last_invocation_id }) => (
            <>
              <Moment at={last_fired_at} />
              {last_invocation_id !== null && <LastRun id={last_invocation_id} run={results.get(last_invocation_id)} />}
            </>
          ),
        },
        {
          name: "Schedule",
          cell: ({ cron, zone }) => (
            <>
              <code>{cron}</code>{" "}
              <span className="quiet small">
                <Breakable text={zone} />
              </span>
              <div className="quiet small">{cronText(cron)}</div>
            </>
          ),
        },
        {
          name: "Calls",
          cell: ({ target: { service, key, handler } }) => (
            <Breakable text={[service, ...(key ? [key] : []), handler].join("/")} />
          ),
        },
        {
          name: "Actions",
          isNameHidden: true,
          cell: (schedule) => <ScheduleMenu schedule={schedule} {...menu} />,
        },
      ]}
    />
  );
}

/** Leads to the last invocation; nothing is shown once it is no longer retained. */
function LastRun({ id, run }: { readonly id: string; readonly run: RunResult | undefined }) {
  if (run === undefined) return null;
  return (
    <div>
      <Link href={`/invocations/${encodeURIComponent(id)}`}>
        <InvocationBadge {...run} />
      </Link>
    </div>
  );
}

interface ScheduleMenuProps extends Pick<ScheduleTableProps, "onEdit" | "onBackfill" | "onRemove"> {
  readonly schedule: ScheduleView;
}

function ScheduleMenu({ schedule, onEdit, onBackfill, onRemove }: ScheduleMenuProps) {
  const { forbidden } = useEnvironment();
  const [, change] = useAddress();
  const pause = useChange<ScheduleView, ScheduleView>(({ admin }, { id, paused }) => admin.schedules.setPaused(id, !paused), {
    done: ({ name, paused }) => `Schedule ${name} ${paused ? "paused" : "resumed"}`,
    failed: "The change failed",
  });
  const fire = useChange<ScheduleView, { invocationId: string }>(
    ({ admin }, { id }) => admin.schedules.run(id, crypto.getRandomValues(new Uint32Array(4)).join("-")),
    {
      done: ({ invocationId }, { name }) => `${name} fired: ${invocationId}`,
      failed: "Could not fire the schedule",
      onDone: (_, { id }) => change({ show: id }),
    },
  );
  return (
    <Menu
      trigger={
        <Button isSmall appearance="bare" aria-label={`Actions for ${schedule.name}`}>
          <Icon name="more" />
        </Button>
      }
      actions={[
        { label: "Fire now", icon: "run", forbidden, onSelect: () => fire.mutate(schedule) },
        {
          label: schedule.paused ? "Resume" : "Pause",
          icon: schedule.paused ? "resume" : "pause",
          forbidden,
          onSelect: () => pause.mutate(schedule),
        },
        { label: "Backfill", icon: "restart", forbidden, onSelect: () => onBackfill(schedule) },
        { label: "Edit", icon: "edit", forbidden, onSelect: () => onEdit(schedule) },
        {
          label: "Delete",
          icon: "delete",
          isDanger: true,
          forbidden,
          onSelect: () => onRemove(schedule),
        },
      ]}
    />
  );
}

interface ScheduleRemovalProps {
  readonly schedule: ScheduleView;
  readonly onClose: () => void;
}

function Removal({ schedule, onClose }: ScheduleRemovalProps) {
  const [, change] = useAddress();
  const remove = useDeletion<ScheduleView>(({ admin }, { id }) => admin.schedules.remove(id), {
    done: ({ name }) => `Schedule ${name} deleted`,
    onDone: () => {
      onClose();
      change({ show: undefined }, false);
    },
  });
  return (
    <Confirmation
      title={`Delete ${schedule.name}?`}
      isOpen
      onClose={onClose}
      verb="Delete"
      isBusy={remove.isPending}
      problem={remove.isError ? <ProblemNote cause={remove.error} title="The schedule was not deleted." /> : undefined}
      onConfirm={() => remove.mutate(schedule)}
    >
      <p>The schedule stops firing. Its invocations continue.</p>
    </Confirmation>
  );
}

interface ShownScheduleProps {
  readonly schedule: ScheduleView | undefined;
  readonly results: ReadonlyMap<string, RunResult>;
  readonly isSelected: boolean;
}

function Shown({ schedule, results, isSelected }: ShownScheduleProps) {
  if (schedule !== undefined) return <ScheduleDetails key={schedule.id} schedule={schedule} results={results} />;
  return isSelected ? <p className="quiet">This schedule no longer exists.</p> : null;
}
