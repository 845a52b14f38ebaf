/** Why: the first look: does it work, how much, how fast, and what needs somebody. */
import { useState } from "react";
import { Link } from "wouter";
import { Loaded, Page, Section } from "../../kit/index.js";
import { useAsk } from "../ask.js";
import type { Environment } from "../environment.js";
import { ByService } from "./by-service.js";
import { CountCards } from "./count-cards.js";
import { countsOf, servicesOf, troublesOf } from "./figures.js";
import { longWaitsOf } from "./long-waits.js";
import { NeedsYou } from "./needs-you.js";
import { againAfterMs, FAILED, HOUR, NOW, TROUBLE } from "./questions.js";
import { SLOT_WAITS, slotHoldersOf, slotWaitsOf } from "./slot-waits.js";
import { TrafficCharts } from "./traffic-charts.js";
import { Welcome } from "./welcome.js";
import "./overview.css";

/** New services appear when somebody registers them. */
const SERVICES_EVERY_MS = 10_000;

export default function OverviewPage() {
  const services = useAsk(["services"], ({ admin }, signal) => admin.services.list({ signal }), { everyMs: SERVICES_EVERY_MS });
  return (
    <Page title="Overview" lead="Current status and the last hour.">
      <Loaded query={services}>
        {(known) => (known.length === 0 ? <Welcome /> : <Figures names={known.map(({ name }) => name)} />)}
      </Loaded>
    </Page>
  );
}

function Figures({ names }: { readonly names: readonly string[] }) {
  const now = usePaced("now", NOW, TROUBLE, SLOT_WAITS);
  const hour = usePaced("hour", HOUR, FAILED);
  return (
    <>
      <Section title="Now" actions={<Link href="/invocations">All invocations</Link>}>
        <Loaded query={now}>{([live = []]) => <CountCards counts={countsOf(live)} />}</Loaded>
      </Section>
      <Section title="The last hour">
        <Loaded query={hour}>{([rows = []]) => <TrafficCharts rows={rows} nowMs={hour.dataUpdatedAt} />}</Loaded>
      </Section>
      <Section title="Needs attention">
        <Loaded query={now}>
          {([live = [], stuck = [], waits = []]) => (
            <NeedsYou
              troubles={troublesOf(stuck, hour.data?.[1] ?? [])}
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
            <ByService services={servicesOf(names, live, hour.data?.[0] ?? [])} isHourKnown={hour.data !== undefined} />
          )}
        </Loaded>
      </Section>
    </>
  );
}

/** The rows of each statement, asked one after the other, and the less often the longer it takes. */
function usePaced(name: string, ...statements: readonly string[]) {
  const [everyMs, setEveryMs] = useState(againAfterMs(0));
  const ask = async ({ admin }: Environment, signal: AbortSignal) => {
    const began = performance.now();
    const answers = [];
    for (const statement of statements) answers.push(await admin.sql.query(statement, { signal }));
    setEveryMs(againAfterMs(performance.now() - began));
    return answers;
  };
  return useAsk(["overview", name], ask, { everyMs });
}
