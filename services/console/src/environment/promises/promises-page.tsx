/**
 * Promises of workflows and their results. Only handlers of their workflow complete them, so the page lists the handlers that clients may
 * call, and links to them.
 */
import type { ServiceMetadata } from "@perdure/admin-client";
import { type FormEvent, useEffect, useState } from "react";
import { Link } from "wouter";
import { Badge, Breakable, Button, ChoiceField, Empty, Loaded, Page, Snippet, Table, TextField } from "../../kit/index.js";
import { useAddress } from "../address.js";
import { LIVE_MS, useRequest, useSql } from "../request.js";
import { keyHref } from "../state/keys.js";
import { PROMISES_SHOWN_MAX, type PromiseLine, promiseLine, promisesStatement } from "./promises.js";
import "./promises.css";

const STATES = [
  { value: "", label: "All" },
  { value: "pending", label: "Pending" },
  { value: "settled", label: "Resolved or rejected" },
] as const;

const TONES = { pending: "idle", resolved: "good", rejected: "bad" } as const;

export default function PromisesPage() {
  const [parameters, change] = useAddress();
  const filter = {
    service: parameters.get("service") ?? "",
    part: parameters.get("find") ?? "",
    state: parameters.get("state") ?? "",
  };
  const services = useRequest(["services"], ({ admin }, signal) => admin.services.list({ signal }));
  const workflows = (services.data ?? []).filter(({ ty }) => ty === "Workflow");
  const promises = useSql(promisesStatement(filter), { everyMs: LIVE_MS });
  const [text, setText] = useState(filter.part);
  useEffect(() => setText(filter.part), [filter.part]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change({ find: text });
  };
  const names = [...new Set([...workflows.map(({ name }) => name), ...(filter.service === "" ? [] : [filter.service])])];
  return (
    <Page title="Promises" lead="Named promises of workflows. A handler of the same workflow resolves or rejects them.">
      <form onSubmit={submit} className="promises__search">
        <ChoiceField
          label="Workflow"
          value={filter.service}
          choices={[{ value: "", label: "All" }, ...names.map((name) => ({ value: name, label: name }))]}
          onChange={(service) => change({ service })}
        />
        <ChoiceField label="State" value={filter.state} choices={STATES} onChange={(state) => change({ state })} />
        <TextField label="Key contains" value={text} onChange={setText} spellCheck={false} autoComplete="off" />
        <div className="row">
          <Button type="submit">Search</Button>
        </div>
      </form>
      <Loaded query={promises}>
        {(rows) => (
          <>
            <Table
              label="Promises"
              rows={rows.slice(0, PROMISES_SHOWN_MAX).map(promiseLine)}
              keyOf={({ service, key, name }) => JSON.stringify([service, key, name])}
              columns={[
                {
                  name: "Workflow",
                  cell: ({ service, key }: PromiseLine) => (
                    <Link href={keyHref(service, key)}>
                      <Breakable text={`${service} / ${key}`} />
                    </Link>
                  ),
                },
                { name: "Promise", cell: ({ name }: PromiseLine) => <code>{name}</code> },
                { name: "State", cell: ({ state }: PromiseLine) => <Badge tone={TONES[state]}>{state}</Badge> },
                { name: "Value", cell: (line: PromiseLine) => <Outcome line={line} /> },
                { name: "Completed by", cell: (line: PromiseLine) => <Handlers line={line} workflows={workflows} /> },
              ]}
              empty={<NoPromises isSearched={filter.service !== "" || filter.part !== "" || filter.state !== ""} />}
            />
            {rows.length > PROMISES_SHOWN_MAX && (
              <p className="quiet">The first {PROMISES_SHOWN_MAX} are shown. Narrow the filter to see others.</p>
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Outcome({ line: { state, outcome } }: { readonly line: PromiseLine }) {
  if (state === "pending") return <span className="quiet">–</span>;
  return outcome === undefined ? <span className="quiet">binary</span> : <code className="promises__value">{outcome}</code>;
}

function Handlers({ line, workflows }: { readonly line: PromiseLine; readonly workflows: readonly ServiceMetadata[] }) {
  if (line.state !== "pending") return <span className="quiet">–</span>;
  const handlers = workflows.find(({ name }) => name === line.service)?.handlers.filter(({ ty }) => ty !== "Workflow") ?? [];
  if (handlers.length === 0) return <span className="quiet">no callable handler</span>;
  return (
    <span className="row">
      {handlers.map(({ name }) => (
        <Link key={name} href={`/playground?${new URLSearchParams({ service: line.service, handler: name, key: line.key })}`}>
          {name}
        </Link>
      ))}
    </span>
  );
}

function NoPromises({ isSearched }: { readonly isSearched: boolean }) {
  if (isSearched) return <Empty title="No matching promises" />;
  return (
    <Empty title="No promises yet">
      <p>A workflow that waits for a named promise creates one:</p>
      <Snippet label="handler code" text={'const by = await ctx.promise<string>("confirmed");'} />
      <p>Another handler of the workflow completes it:</p>
      <Snippet label="completing handler code" text={'await ctx.promise<string>("confirmed").resolve("Ada");'} />
    </Empty>
  );
}
