/** Calls a handler without a client: choose it, fill in its input by schema, call it, and read its answer. */
import type { ServiceMetadata } from "@perdure/admin-client";
import { useState } from "react";
import { Link } from "wouter";
import { Empty, Loaded, Page, Snippet } from "../../kit/index.js";
import { useAddress } from "../address.js";
import { useEnvironment } from "../environment.js";
import { useRequest } from "../request.js";
import { HandlerChoice } from "./handler-choice.js";
import type { HistoryEntry } from "./history.js";
import { Workbench } from "./workbench.js";
import "./playground.css";

export default function PlaygroundPage() {
  const services = useRequest(["services"], ({ admin }, signal) => admin.services.list({ signal }));
  return (
    <Page title="Playground" lead="Call a handler over HTTP.">
      <Loaded query={services}>{(all) => (all.length === 0 ? <None /> : <Chosen services={all} />)}</Loaded>
    </Page>
  );
}

function None() {
  const { adminUrl } = useEnvironment();
  return (
    <Empty title="No handlers yet">
      <p>Register a deployment to call its handlers here, with a form made from their input schema.</p>
      <Snippet
        label="the command that registers"
        text={`curl ${adminUrl}/deployments --json '{"uri": "http://localhost:9080"}'`}
      />
      <p>
        <Link href="/tour">The tour</Link> shows how such a service is written.
      </p>
    </Empty>
  );
}

/** The chosen handler is in the address; the page shows an error for one that does not exist. */
function Chosen({ services }: { readonly services: readonly ServiceMetadata[] }) {
  const [parameters, change] = useAddress();
  const [again, setAgain] = useState<{ readonly entry: HistoryEntry; readonly turn: number }>();
  const named = parameters.get("service");
  const service = named === null ? services[0] : services.find(({ name }) => name === named);
  const handlerName = parameters.get("handler");
  const handler = handlerName === null ? service?.handlers[0] : service?.handlers.find(({ name }) => name === handlerName);
  return (
    <>
      <HandlerChoice services={services} service={service} handler={handler} />
      {service === undefined || handler === undefined ? (
        <Empty title="Handler not found">
          <p>
            No {service === undefined ? `service ${named}` : `handler ${handlerName} of ${service.name}`} is registered. Choose
            another one above.
          </p>
        </Empty>
      ) : (
        <Workbench
          key={`${service.name}/${handler.name}/${again?.turn}`}
          services={services}
          service={service}
          handler={handler}
          begin={again?.entry.service === service.name && again.entry.handler === handler.name ? again.entry : undefined}
          onAgain={(entry) => {
            setAgain({ entry, turn: (again?.turn ?? 0) + 1 });
            change({ service: entry.service, handler: entry.handler, key: entry.key });
          }}
        />
      )}
    </>
  );
}
