/**
 * In a saturated server no invocation fails or is paused, and still they do not progress: this section shows which ones, for how long, and
 * what to do.
 */
import { Link } from "wouter";
import { Duration, Section, Table, type TableColumn } from "../../kit/index.js";
import { invocationsHref } from "../invocations-link.js";
import type { ServiceSlotWait, SlotHolder } from "./slot-waits.js";

const COLUMNS: readonly TableColumn<ServiceSlotWait>[] = [
  {
    name: "Service",
    cell: ({ service }) => <Link href={`/services/${encodeURIComponent(service)}`}>{service}</Link>,
  },
  {
    name: "Waiting",
    isNumber: true,
    cell: ({ service, count }) => (
      <Link href={invocationsHref({ services: [service], statuses: ["ready"] })}>{count.toLocaleString()}</Link>
    ),
  },
  {
    name: "Longest wait",
    isNumber: true,
    cell: ({ longestMs, invocationId }) => (
      <Link href={`/invocations/${encodeURIComponent(invocationId)}`}>
        <Duration ms={longestMs} />
      </Link>
    ),
  },
];

interface WaitingForSlotsProps {
  readonly waits: readonly ServiceSlotWait[];
  readonly holders: readonly SlotHolder[];
}

export function WaitingForSlots({ waits, holders }: WaitingForSlotsProps) {
  return (
    <Section title="Waiting for a slot">
      <p>
        These invocations are ready and do not start: all slots of their worker are in use, or their endpoint takes no more
        streams.
      </p>
      <Table label="Services that wait for a slot" rows={waits} columns={COLUMNS} keyOf={({ service }) => service} />
      <ul className="overview__advice">
        {holders.length > 0 && (
          <li>
            Running now:{" "}
            {holders.map(({ service, running }, index) => (
              <span key={service}>
                {index > 0 && ", "}
                <Link href={invocationsHref({ services: [service], statuses: ["running"] })}>
                  {running.toLocaleString()} of {service}
                </Link>
              </span>
            ))}
            . Handlers keep their slot during long steps; if an endpoint hangs, repair or stop it.
          </li>
        )}
        <li>After a burst of calls the wait passes by itself.</li>
        <li>
          If processor and memory are left, raise <code>worker.invoker.concurrent-invocations-limit</code>, or remove it so that
          memory decides; otherwise add workers.
        </li>
      </ul>
    </Section>
  );
}
