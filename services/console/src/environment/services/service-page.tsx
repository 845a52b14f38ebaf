/** One service: input and output of its handlers, its settings, and the settings that can be changed without new code. */
import type { ServiceMetadata } from "@perdure/admin-client";
import { useState } from "react";
import { Link } from "wouter";
import { Button, Facts, Hint, Loaded, Page, Section, ShortId, Table, type TableColumn } from "../../kit/index.js";
import { Markdown } from "../../kit/markdown.js";
import { useSegments } from "../address.js";
import { useEnvironment } from "../environment.js";
import { invocationsHref } from "../invocations-link.js";
import { useRequest } from "../request.js";
import { ConfigurationDialog } from "./configuration-dialog.js";
import { HandlerCard } from "./handler-card.js";
import { Metadata } from "./metadata.js";
import { Reach } from "./reach.js";
import { Revisions } from "./revisions.js";
import { handlersWithOwn, type Option, optionsOf, serviceRetryText, typeLabel } from "./service-text.js";
import { TrafficSection } from "./traffic-section.js";
import "./services.css";

export default function ServicePage() {
  const [name = ""] = useSegments(1);
  const query = useRequest(["services", name], ({ admin }, signal) => admin.services.get(name, { signal }));
  const environment = useEnvironment();
  const [isChanging, setChanging] = useState(false);
  return (
    <Page
      title={name}
      lead={query.data?.documentation ? <Markdown text={query.data.documentation} /> : undefined}
      actions={
        <>
          <Button forbidden={environment.forbidden} onClick={() => setChanging(true)}>
            Edit configuration
          </Button>
          <Link href={`/playground?${new URLSearchParams({ service: name })}`} className="button button--primary">
            Open in the playground
          </Link>
        </>
      }
    >
      <Loaded query={query}>
        {(service) => (
          <>
            <Summary service={service} />
            <TrafficSection service={service.name} />
            <Section title="Handlers">
              {service.handlers.map((handler) => (
                <HandlerCard key={handler.name} service={service} handler={handler} />
              ))}
            </Section>
            <Configuration service={service} />
            {service.metadata !== undefined && (
              <Section title="Metadata">
                <Metadata metadata={service.metadata} />
              </Section>
            )}
            <Section title="Revisions">
              <Revisions service={service.name} />
            </Section>
            {isChanging && <ConfigurationDialog service={service} onClose={() => setChanging(false)} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Summary({ service }: { readonly service: ServiceMetadata }) {
  return (
    <>
      <Facts
        facts={[
          ["Type", typeLabel(service)],
          ["Visibility", <Reach key="r" isPublic={service.public} />],
          ["Revision", service.revision],
          [
            "Deployment",
            <Link key="d" href={`/deployments/${encodeURIComponent(service.deployment_id)}`}>
              <ShortId id={service.deployment_id} />
            </Link>,
          ],
          [
            "Invocations",
            <Link key="i" href={invocationsHref({ services: [service.name] })}>
              Show
            </Link>,
          ],
        ]}
      />
      {(service.info ?? []).map(({ code, message }) => (
        <p key={message} className="services__notice">
          {code && <code>{code}</code>} {message}
        </p>
      ))}
    </>
  );
}

interface ConfigurationRow {
  readonly label: string;
  readonly means: string;
  readonly value: string;
  readonly own: readonly string[];
}

const COLUMNS: readonly TableColumn<ConfigurationRow>[] = [
  {
    name: "Option",
    cell: ({ label, means }) => (
      <Hint text={means}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what it means is shown when it is focused */}
        <span tabIndex={0} className="services__option">
          {label}
        </span>
      </Hint>
    ),
  },
  { name: "Value", cell: ({ value }) => value },
  {
    name: "Handlers that override it",
    cell: ({ own }) => (own.length === 0 ? <span className="quiet">none</span> : own.join(", ")),
  },
];

function Configuration({ service }: { readonly service: ServiceMetadata }) {
  const rows: readonly ConfigurationRow[] = [
    ...optionsOf(service).map((option) => rowOf(service, option)),
    {
      label: "Retries",
      means: "Retry policy for attempts that fail with an error that is not terminal. Set in the code of the service.",
      value: serviceRetryText(service.retry_policy),
      own: service.handlers.flatMap(({ name, retry_policy: policy }) =>
        policy?.initial_interval || policy?.max_attempts || policy?.on_max_attempts ? [name] : [],
      ),
    },
    {
      label: "Lazy state",
      means:
        "State is loaded when the handler reads it, instead of with the start of the attempt. Set in the code of the service.",
      value: service.enable_lazy_state === true ? "on" : "off",
      own: service.handlers.flatMap(({ name, enable_lazy_state: own }) =>
        own === undefined ? [] : [`${name}: ${own ? "on" : "off"}`],
      ),
    },
  ];
  return (
    <Section title="Configuration">
      <Table label="Configuration" rows={rows} columns={COLUMNS} keyOf={({ label }) => label} />
      <p className="quiet small">
        Order of precedence: the handler’s own option, a value edited here, the code of the service, the settings of the server.
        Values edited here apply until the next registration of the service
        {service.ty === "VirtualObject" && "; the time to live of state stays"}.
      </p>
    </Section>
  );
}

function rowOf(service: ServiceMetadata, { name, label, means }: Option): ConfigurationRow {
  return { label, means, value: service[name] ?? "–", own: handlersWithOwn(service.handlers, name) };
}
