/** Usage against the limits of the plan, so that a suspension does not come as a surprise. */
import { parseEnvironmentId } from "@perdure/cloud";
import { useMemo } from "react";
import { useSearchParams } from "wouter";
import { Button, ChoiceField, download, type FieldChoice, Icon, Loaded, Page, Section, Table } from "../../kit/index.js";
import { useCloudRequest } from "../use-cloud.js";
import { useAccount, useAccountFacts, useEnvironments } from "./account.js";
import { DayBars, Quota } from "./day-bars.js";
import { bytesText, count } from "./plan-texts.js";
import {
  type AccountUsage,
  byDay,
  type DailyUsage,
  forecastOf,
  type Month,
  monthName,
  monthsUntil,
  shareOf,
  storedNow,
  trafficOf,
  usageCsv,
} from "./usage-days.js";

/** Counters arrive within a minute. */
const POLL_MS = 60_000;
const ALL = "all";

export default function UsagePage() {
  const { accountId, createdAt } = useAccount();
  const environments = useEnvironments();
  const [search, setSearch] = useSearchParams();
  const months = useMemo(() => monthsUntil(Date.now(), createdAt * 1_000), [createdAt]);
  const month = months.find(({ id }) => id === search.get("month")) ?? months[0];
  const environmentId = search.get("environment") ?? ALL;
  const usage = useCloudRequest(
    ["usage", accountId, environmentId, month.id],
    (api, signal) => {
      const { from, to } = month;
      const one = parseEnvironmentId(environmentId);
      return api.account(accountId, "GetUsage", { from, to, ...(one === undefined ? {} : { environmentId: one }) }, signal);
    },
    { everyMs: POLL_MS },
  );
  const choose = (name: string, value: string) =>
    setSearch((current) => {
      const next = new URLSearchParams(current);
      next.set(name, value);
      return next;
    });
  return (
    <Page title="Usage" lead="Actions are starts of invocations and steps of their journals. Days are in UTC.">
      <div className="filters">
        <ChoiceField
          label="Month"
          value={month.id}
          choices={months.map(({ id }) => ({ value: id, label: monthName(id) }))}
          onChange={(value) => choose("month", value)}
        />
        <ChoiceField
          label="Environment"
          value={environmentId}
          choices={[
            { value: ALL, label: "All environments" },
            ...(environments.data ?? []).map((one): FieldChoice => ({ value: one.environmentId, label: one.name })),
          ]}
          onChange={(value) => choose("environment", value)}
        />
      </div>
      <Loaded query={usage}>{(loaded) => <WholeMonth usage={loaded} month={month} isWhole={environmentId === ALL} />}</Loaded>
    </Page>
  );
}

interface WholeMonthProps {
  readonly usage: AccountUsage;
  readonly month: Month;
  /** Whether the usage is of all environments. */
  readonly isWhole: boolean;
}

function WholeMonth({ usage, month, isWhole }: WholeMonthProps) {
  const days = useMemo(() => byDay(usage), [usage]);
  const series = (value: (day: DailyUsage) => number) => days.map((one) => ({ day: one.day, value: value(one) }));
  return (
    <>
      <Section title={isWhole ? "Plan usage" : "Plan usage of this environment"}>
        <Quotas usage={usage} month={month} />
      </Section>
      <Section title="By day">
        <div className="grid">
          <div className="card">
            <DayBars label="Actions" days={series((one) => one.actions)} text={count} />
          </div>
          <div className="card">
            <DayBars label="Requests" days={series((one) => one.ingressRequests + one.adminRequests)} text={count} />
          </div>
          <div className="card">
            <DayBars label="Traffic" days={series(trafficOf)} text={bytesText} />
          </div>
          <div className="card">
            <DayBars label="Storage, peak" days={series((one) => one.storedBytesPeak)} text={bytesText} />
          </div>
        </div>
      </Section>
      <Section
        title="Table"
        actions={
          <Button
            isSmall
            onClick={() =>
              download(new Blob([usageCsv(days)], { type: "text/csv;charset=utf-8" }), `perdure-usage-${month.id}.csv`)
            }
          >
            <Icon name="export" /> CSV
          </Button>
        }
      >
        <Table<DailyUsage>
          label="Usage by day"
          rows={days.toReversed()}
          keyOf={({ day }) => day}
          columns={[
            { name: "Day", cell: ({ day }) => <span className="nowrap">{day}</span> },
            { name: "Actions", isNumber: true, cell: ({ actions }) => count(actions) },
            { name: "To handlers", isNumber: true, cell: ({ ingressRequests }) => count(ingressRequests) },
            { name: "To management", isNumber: true, cell: ({ adminRequests }) => count(adminRequests) },
            { name: "In", isNumber: true, cell: ({ bytesIn }) => bytesText(bytesIn) },
            { name: "Out", isNumber: true, cell: ({ bytesOut }) => bytesText(bytesOut) },
            { name: "Tunnels", isNumber: true, cell: ({ tunnelBytes }) => bytesText(tunnelBytes) },
            { name: "Stored", isNumber: true, cell: ({ storedBytes }) => bytesText(storedBytes) },
          ]}
        />
      </Section>
    </>
  );
}

function Quotas({ usage, month }: Pick<WholeMonthProps, "usage" | "month">) {
  const account = useAccountFacts();
  const environments = useEnvironments();
  const { totals, actionsPerMonth, trafficBytesPerMonth } = usage;
  const storedMax = account.data?.plan.limits["storedBytesMax"];
  const nameOf = (id: string) => environments.data?.find(({ environmentId }) => environmentId === id)?.name ?? id;
  return (
    <div className="card grid">
      <Quota
        label="Actions"
        used={count(totals.actions)}
        max={`${count(actionsPerMonth)} per month`}
        forecast={forecastText(forecastOf(totals.actions, month), count)}
        {...shareOf(totals.actions, actionsPerMonth)}
      />
      <Quota
        label="Traffic"
        used={bytesText(trafficOf(totals))}
        max={`${bytesText(trafficBytesPerMonth)} per month`}
        forecast={forecastText(forecastOf(trafficOf(totals), month), bytesText)}
        {...shareOf(trafficOf(totals), trafficBytesPerMonth)}
      />
      {typeof storedMax === "number" &&
        [...storedNow(usage.days)].map(([id, bytes]) => (
          <Quota
            key={id}
            label={`Stored in ${nameOf(id)}`}
            used={bytesText(bytes)}
            max={bytesText(storedMax)}
            {...shareOf(bytes, storedMax)}
          />
        ))}
    </div>
  );
}

function forecastText(value: number | undefined, text: (value: number) => string): string | undefined {
  return value === undefined ? undefined : `about ${text(value)} by the end of the month at this rate`;
}
