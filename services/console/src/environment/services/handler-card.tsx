/** One handler: its input and output, its own settings, and how it is called. */
import type { HandlerMetadata, ServiceMetadata } from "@perdure/admin-client";
import { Link } from "wouter";
import { Badge, Facts, Snippet } from "../../kit/index.js";
import { Markdown } from "../../kit/markdown.js";
import { useEnvironment } from "../environment.js";
import { curlText } from "../playground/curl-text.js";
import { exampleOf } from "../schema/example.js";
import { SchemaView } from "../schema/schema-view.js";
import { Metadata } from "./metadata.js";
import { handlerLabel, isKeyed, OPTIONS, ownOption, retryText } from "./service-text.js";

export function HandlerCard({ service, handler }: { readonly service: ServiceMetadata; readonly handler: HandlerMetadata }) {
  const { ingressUrl, needsKey } = useEnvironment();
  const label = handlerLabel(handler);
  const takesNothing = handler.input_description === "none";
  const body = takesNothing ? undefined : JSON.stringify(exampleOf(handler.input_json_schema));
  const curl = curlText({
    ingressUrl,
    needsKey,
    verb: "call",
    service: service.name,
    key: isKeyed(service) ? "my-key" : undefined,
    handler: handler.name,
    body,
  });
  const own: (readonly [string, string])[] = OPTIONS.flatMap(({ name, label }) => {
    const value = ownOption(handler, name);
    return value !== undefined ? [[label, value] as const] : [];
  });
  const retries = retryText(handler.retry_policy);
  if (retries !== "") own.push(["Retries", retries]);
  if (handler.debounce !== undefined) own.push(["Debounce", handler.debounce]);
  if (handler.throttle !== undefined) own.push(["Throttle", handler.throttle]);
  return (
    <section className="card stack stack--tight" aria-labelledby={`handler-${handler.name}`}>
      <div className="row row--spread">
        <div className="row">
          <h3 id={`handler-${handler.name}`}>
            <code>{handler.name}</code>
          </h3>
          {label !== undefined && <Badge>{label}</Badge>}
          {!handler.public && <Badge tone="warn">private</Badge>}
        </div>
        <Link
          href={`/playground?${new URLSearchParams({ service: service.name, handler: handler.name })}`}
          className="button button--quiet button--small"
          aria-label={`Try it: ${handler.name} in the playground`}
        >
          Try it
        </Link>
      </div>
      {handler.documentation && <Markdown text={handler.documentation} />}
      <Value title="Input" summary={handler.input_description} schema={handler.input_json_schema} of={handler.name} />
      <Value title="Output" summary={handler.output_description} schema={handler.output_json_schema} of={handler.name} />
      {own.length > 0 && <Facts facts={own} />}
      {handler.metadata !== undefined && <Metadata metadata={handler.metadata} />}
      <details>
        <summary className="small">cURL</summary>
        <Snippet label={`call of ${handler.name}`} text={curl} />
      </details>
    </section>
  );
}

function Value({
  title,
  summary,
  schema,
  of,
}: {
  readonly title: string;
  readonly summary: string;
  readonly schema: unknown;
  readonly of: string;
}) {
  return (
    <div className="stack stack--tight">
      <p>
        <span className="quiet">{title}</span> {summary === "none" ? "nothing" : summary}
      </p>
      {schema !== undefined && <SchemaView schema={schema} label={`${title} of ${of}`} />}
    </div>
  );
}
