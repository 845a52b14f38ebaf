/** One handler: its body as a form and as JSON, the kind of call, the answer, and earlier calls. */
import type { HandlerMetadata, ServiceMetadata } from "@perdure/admin-client";
import { useState } from "react";
import { Section, Snippet } from "../../kit/index.js";
import { Markdown } from "../../kit/markdown.js";
import { useAddress } from "../address.js";
import { useEnvironment } from "../environment.js";
import { AnswerPanel } from "./answer-panel.js";
import { BodyEditor } from "./body-editor.js";
import {
  bodyKindOf,
  bodyProblems,
  type CallMode,
  type Draft,
  type Extras,
  firstBody,
  inputOf,
  NO_EXTRAS,
  obstacleOf,
} from "./call.js";
import { CallButtons } from "./call-buttons.js";
import { curlText } from "./curl-text.js";
import { type HistoryEntry, readHistory, remembered, writeHistory } from "./history.js";
import { HistoryList } from "./history-list.js";
import { MoreFields } from "./more-fields.js";
import { useCall } from "./use-call.js";

interface WorkbenchProps {
  readonly services: readonly ServiceMetadata[];
  readonly service: ServiceMetadata;
  readonly handler: HandlerMetadata;
  /** A call of before that is filled in. */
  readonly begin: HistoryEntry | undefined;
  readonly onAgain: (entry: HistoryEntry) => void;
}

export function Workbench({ services, service, handler, begin, onAgain }: WorkbenchProps) {
  const environment = useEnvironment();
  const [parameters] = useAddress();
  const key = parameters.get("key") ?? "";
  const [history, setHistory] = useState(() => readHistory(localStorage, environment.key));
  const [body, setBody] = useState(begin?.body ?? firstBody(handler));
  const [way, setWay] = useState<CallMode>(begin?.way ?? "call");
  const [extras, setExtras] = useState<Extras>(begin === undefined ? NO_EXTRAS : extrasOf(begin));
  const caller = useCall();
  const draft: Draft = { service, handler, key, way, body, extras };
  const problems = bodyProblems(handler, body);

  const obstacle = environment.forbidden ?? obstacleOf(draft);
  const call = async () => {
    if (obstacle !== undefined || caller.state.kind === "waiting") return;
    const answer = await caller.call(draft);
    const entry = { ...entryOf(draft), isFailure: answer.kind === "failed", invocationId: answer.invocationId };
    const next = remembered(readHistory(localStorage, environment.key), entry);
    writeHistory(localStorage, environment.key, next);
    setHistory(next);
  };

  return (
    <div className="playground__panes">
      <div className="stack">
        <form
          className="stack"
          aria-label="Request"
          onSubmit={(event) => {
            event.preventDefault();
            void call();
          }}
        >
          <CallButtons
            path={inputPath(service.name, service.ty === "Service" ? undefined : key, handler.name)}
            way={way}
            onWay={setWay}
            extras={extras}
            onExtras={setExtras}
            obstacle={obstacle}
            problemCount={problems.length}
            state={caller.state}
            onLeave={caller.leave}
          />
          {handler.documentation && <Markdown text={handler.documentation} />}
          <BodyEditor handler={handler} body={body} onChange={setBody} problems={problems} onSubmit={() => void call()} />
          <MoreFields service={service} extras={extras} way={way} onChange={setExtras} isText={bodyKindOf(handler) === "text"} />
        </form>
        <Section title="cURL">
          <Curl draft={draft} />
        </Section>
        <Section title="History">
          <HistoryList history={history} services={services} onAgain={onAgain} />
        </Section>
      </div>
      <div className="playground__answer">
        <AnswerPanel state={caller.state} service={service.name} handler={handler.name} />
      </div>
    </div>
  );
}

/** `Stock/{key}/take`; the key as it is typed. */
function inputPath(service: string, key: string | undefined, handler: string): string {
  return [service, ...(key === undefined ? [] : [key || "{key}"]), handler].join("/");
}

function Curl({ draft }: { readonly draft: Draft }) {
  const { ingressUrl, needsKey } = useEnvironment();
  const { service, handler, key, way, extras } = draft;
  if (key === "." || key === "..") return <p className="quiet">This key cannot be part of a URL.</p>;
  const text = curlText({
    ...inputOf(draft),
    ingressUrl,
    needsKey,
    verb: way === "call" ? "call" : "send",
    delay: way === "delayed" ? extras.delay : undefined,
    service: service.name,
    key: service.ty === "Service" ? undefined : key || "my-key",
    handler: handler.name,
    body: inputOf(draft).body?.toString(),
  });
  return <Snippet label="the call as a command" text={text} />;
}

function entryOf({ service, handler, key, way, body, extras }: Draft): HistoryEntry {
  const { headers: _headers, ...kept } = extras;
  return { ...kept, service: service.name, handler: handler.name, key, way, body, atMs: Date.now(), isFailure: false };
}

function extrasOf({ idempotencyKey, scope, limitKey, priority, delay, contentType }: HistoryEntry): Extras {
  return { idempotencyKey, scope, limitKey, priority, delay, contentType, headers: "" };
}
