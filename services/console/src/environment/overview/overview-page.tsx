/** The overview of an environment: health, load, latency, and what needs attention. */
import type { SqlRow } from "@perdure/admin-client";
import { lazy, Suspense, useMemo, useState } from "react";
import { Link } from "wouter";
import { Button, Loaded, Loading, Page, Section } from "../../kit/index.js";
import { useAddress } from "../address.js";
import type { ConsoleEnvironment } from "../environment.js";
import { useRequest } from "../request.js";
import { ByService } from "./by-service.js";
import { CountCards } from "./count-cards.js";
import { readFailed, readTraffic } from "./counted.js";
import { countsOf, issuesOf, servicesOf } from "./figures.js";
import { longWaitsOf } from "./long-waits.js";
import { NeedsYou } from "./needs-you.js";
import { againAfterMs, CONDITIONS, ISSUES_STATEMENT, NOW } from "./questions.js";
import { SLOT_WAITS, slotHoldersOf, slotWaitsOf } from "./slot-waits.js";
import { TrafficCharts } from "./traffic-charts.js";
import { Welcome } from "./welcome.js";
import { HOUR_WINDOW, WINDOWS, type Window, windowOf } from "./windows.js";
import "./overview.css";

const Conditions = lazy(() => import("./conditions.js"));

/** New services appear when they are registered. */
const SERVICES_EVERY_MS = 10_000;

export default function OverviewPage() {
  const services = useRequest(["services"], ({ admin }, signal) => admin.services.list({ signal }), {
    everyMs: SERVICES_EVERY_MS,
  });
  return (
    <Page title="Overview" lead="Current status and recent traffic.">
      <Loaded query={services}>
        {(loaded) => (loaded.length === 0 ? <Welcome /> : <Figures names={loaded.map(({ name }) => name)} />)}
      </Loaded>
    </Page>
  );
}

function Figures({ names }: { readonly names: readonly string[] }) {
  const [parameters, change] = useAddress();
  const window = windowOf(parameters.get("window"));
  const now = usePaced("now", rowsOf(NOW, ISSUES_STATEMENT, SLOT_WAITS));
  const traffic = usePaced(`traffic ${window.name}`, (environment, signal) => readTraffic(environment, window, signal));
  const failed = usePaced("failed", readFailed);
  const { data: conditions = [] } = usePaced("conditions", readConditions);
  const live = now.data?.[0];
  const counts = useMemo(() => live && countsOf(live), [live]);
  // Data of another range would be drawn in the wrong places.
  const rows = traffic.isPlaceholderData ? undefined : traffic.data?.rows;
  return (
    <>
      <Section title="Now" actions={<Link href="/invocations">All invocations</Link>}>
        <Loaded query={now}>{([live = []]) => <CountCards counts={countsOf(live)} />}</Loaded>
      </Section>
      <Section
        title="Traffic"
        actions={
          <WindowChoice window={window} onChange={(name) => change({ window: name === HOUR_WINDOW.name ? undefined : name })} />
        }
      >
        {traffic.isPlaceholderData ? (
          <Loading what="Loading traffic" />
        ) : (
          <Loaded query={traffic}>
            {(read) => <TrafficCharts traffic={read} nowMs={traffic.dataUpdatedAt} window={window} counts={counts} />}
          </Loaded>
        )}
      </Section>
      <Section title="Needs attention">
        {conditions.length > 0 && (
          <Suspense fallback={null}>
            <Conditions rows={conditions} />
          </Suspense>
        )}
        <Loaded query={now}>
          {([live = [], stuck = [], waits = []]) => (
            <NeedsYou
              issues={issuesOf(stuck, failed.data ?? [])}
              slotWaits={slotWaitsOf(waits)}
              slotHolders={slotHoldersOf(live)}
              longWaits={longWaitsOf(live, slotWaitsOf(waits))}
            />
          )}
        </Loaded>
      </Section>
      <Section title="By service">
        <Loaded query={now}>
          {([live = []]) => (
            <ByService services={servicesOf(names, live, rows ?? [])} window={window} isWindowLoaded={rows !== undefined} />
          )}
        </Loaded>
      </Section>
    </>
  );
}

interface WindowChoiceProps {
  readonly window: Window;
  readonly onChange: (name: string) => void;
}

function WindowChoice({ window, onChange }: WindowChoiceProps) {
  return (
    <fieldset className="row overview__windows" aria-label="Time of traffic">
      {WINDOWS.map(({ name, label }) => (
        <Button
          key={name}
          isSmall
          aria-pressed={name === window.name}
          appearance={name === window.name ? "quiet" : "bare"}
          onClick={() => onChange(name)}
        >
          {label}
        </Button>
      ))}
    </fieldset>
  );
}

type OverviewRead<T> = (environment: ConsoleEnvironment, signal: AbortSignal) => Promise<T>;

/** Reads the rows of each statement, one after the other. */
function rowsOf(...statements: readonly string[]): OverviewRead<readonly (readonly SqlRow[])[]> {
  return async ({ admin }, signal) => {
    const answers = [];
    for (const statement of statements) answers.push(await admin.sql.query(statement, { signal }));
    return answers;
  };
}

/** No rows when the server has no such table. */
function readConditions({ admin }: ConsoleEnvironment, signal: AbortSignal): Promise<readonly SqlRow[]> {
  return admin.sql.query(CONDITIONS, { signal }).catch(() => []);
}

/** Reads again and again, and the less often the longer it takes. */
function usePaced<T>(name: string, read: OverviewRead<T>) {
  const [everyMs, setEveryMs] = useState(againAfterMs(0));
  const readAll = async (environment: ConsoleEnvironment, signal: AbortSignal) => {
    const began = performance.now();
    const answer = await read(environment, signal);
    setEveryMs(againAfterMs(performance.now() - began));
    return answer;
  };
  return useRequest(["overview", name], readAll, { everyMs });
}
