/** One schedule: its state, when it fires next, and the results of its last runs. */
import type { ScheduleView } from "@perdure/admin-client";
import { Link } from "wouter";
import { Badge, Empty, Facts, InvocationBadge, Loaded, Moment, Section, ShortId, Table, type Tone } from "../../kit/index.js";
import { useRequest } from "../request.js";
import { PREVIEW_COUNT } from "./limits.js";
import type { RunResult } from "./run-results.js";

const TONES: Readonly<Record<string, Tone>> = {
  fired: "good",
  failed: "bad",
  skipped: "warn",
  missed: "warn",
  cancelled: "warn",
};

type ScheduleFiring = ScheduleView["recent"][number];

interface ScheduleDetailsProps {
  readonly schedule: ScheduleView;
  /** By invocation. */
  readonly results: ReadonlyMap<string, RunResult>;
}

export function ScheduleDetails({ schedule, results }: ScheduleDetailsProps) {
  const { id, name, version, next_at } = schedule;
  const next = useRequest(["schedule-next", id, version, next_at], ({ admin }, signal) =>
    admin.schedules.next(id, PREVIEW_COUNT, { signal }),
  );
  return (
    <Section title={name}>
      <Facts
        facts={[
          ["Id", <ShortId key="id" id={id} copyLabel="the id" />],
          ["Description", schedule.description ?? "–"],
          ["Overlap policy", schedule.overlap.replaceAll("_", " ")],
          ["Catch-up policy", schedule.catch_up],
          ["Fired", schedule.fired_count.toLocaleString()],
          ["Skipped", schedule.skipped_count.toLocaleString()],
          ["Missed", schedule.missed_count.toLocaleString()],
          ["Failed", schedule.failed_count.toLocaleString()],
        ]}
      />
      <h3>Next runs</h3>
      <Loaded query={next}>
        {(times) =>
          times.length === 0 || schedule.paused ? (
            <p className="quiet">{schedule.paused ? "None while paused." : "None: the schedule has ended."}</p>
          ) : (
            <ol className="schedules__next">
              {times.map(({ at, local }) => (
                <li key={at}>
                  <code>{local}</code>{" "}
                  <span className="quiet">
                    (<Moment at={at} />)
                  </span>
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
      <h3>Recent runs</h3>
      <Table
        label={`Recent runs of ${name}`}
        rows={schedule.recent}
        keyOf={(firing) => `${firing.scheduled_at} ${firing.outcome} ${firing.invocation_id ?? ""}`}
        columns={[
          { name: "Scheduled for", cell: ({ scheduled_at }: ScheduleFiring) => <Moment at={scheduled_at} /> },
          { name: "Outcome", cell: ({ outcome }: ScheduleFiring) => <Badge tone={TONES[outcome] ?? "idle"}>{outcome}</Badge> },
          {
            name: "Reason",
            cell: ({ cause, detail }: ScheduleFiring) => [cause?.replaceAll("_", " "), detail].filter(Boolean).join(": ") || "–",
          },
          {
            name: "Invocation",
            cell: ({ invocation_id }: ScheduleFiring) =>
              invocation_id ? <RunLink id={invocation_id} run={results.get(invocation_id)} /> : <span className="quiet">–</span>,
          },
        ]}
        empty={
          <Empty title="Not fired yet">
            <p>The last twenty runs appear here with their invocations.</p>
          </Empty>
        }
      />
    </Section>
  );
}

function RunLink({ id, run }: { readonly id: string; readonly run: RunResult | undefined }) {
  return (
    <span className="row">
      <Link href={`/invocations/${id}`}>
        <ShortId id={id} />
      </Link>
      {run !== undefined && <InvocationBadge {...run} />}
    </span>
  );
}
