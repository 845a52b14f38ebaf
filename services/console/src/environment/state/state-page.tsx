/** The state of objects and workflows, found by service and key. */
import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import {
  Breakable,
  Button,
  ChoiceField,
  Empty,
  Loaded,
  Moment,
  Page,
  Snippet,
  Table,
  type TableColumn,
  TextField,
} from "../../kit/index.js";
import { useAddress } from "../address.js";
import { useEnvironment } from "../environment.js";
import { useRequest, useSql } from "../request.js";
import { expiriesOf, expiriesStatement, type KeyLine, keyHref, keyLine, keysStatement, valuesHref } from "./keys.js";
import { KEYS_SHOWN_MAX } from "./limits.js";
import { sizeText } from "./state-values.js";
import "./state.css";

export default function StatePage() {
  const services = useRequest(["services"], ({ admin }, signal) => admin.services.list({ signal }));
  const [parameters] = useAddress();
  return (
    <Page title="State" lead="State of virtual objects and workflows, by key.">
      <Loaded query={services}>
        {(all) => {
          const keyed = all.filter(({ ty }) => ty !== "Service").map(({ name }) => name);
          const named = parameters.get("service") ?? keyed[0];
          if (named === undefined) return <NoServices />;
          return <Keys service={named} services={keyed.includes(named) ? keyed : [...keyed, named]} />;
        }}
      </Loaded>
    </Page>
  );
}

function NoServices() {
  const { adminUrl } = useEnvironment();
  return (
    <Empty title="No stateful services">
      <p>Virtual objects and workflows keep state. Register a deployment that has one to list its keys here.</p>
      <Snippet label="command" text={`curl ${adminUrl}/deployments --json '{"uri": "http://localhost:9080"}'`} />
    </Empty>
  );
}

function Keys({ service, services }: { readonly service: string; readonly services: readonly string[] }) {
  const [parameters, change] = useAddress();
  const [, go] = useLocation();
  const find = parameters.get("find") ?? "";
  const after = parameters.get("after") ?? undefined;
  const [text, setText] = useState(find);
  useEffect(() => setText(find), [find]);
  const rows = useSql(keysStatement(service, find, after));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change({ find: text, after: undefined });
  };
  return (
    <>
      <form onSubmit={submit} className="state__search">
        <ChoiceField
          label="Service"
          value={service}
          choices={services.map((name) => ({ value: name, label: name }))}
          onChange={(name) => change({ service: name, find: undefined, after: undefined })}
        />
        <TextField label="Key contains" value={text} onChange={setText} spellCheck={false} autoComplete="off" />
        <div className="row">
          <Button type="submit">Search</Button>
          <Button
            forbidden={text === "" ? "Enter a key first" : undefined}
            onClick={() => go(keyHref(service, text))}
            title="Keys without state can be opened, too"
          >
            Open key
          </Button>
        </div>
      </form>
      <Loaded query={rows}>
        {(loaded) => (
          <>
            <KeyTable
              service={service}
              lines={loaded.slice(0, KEYS_SHOWN_MAX).map(keyLine)}
              empty={<NoKeys service={service} isSearched={find !== "" || after !== undefined} />}
            />
            <div className="row">
              <Link href={valuesHref(service)}>Query values with SQL</Link>
              {after !== undefined && <Button onClick={() => change({ after: undefined })}>First page</Button>}
              {loaded.length > KEYS_SHOWN_MAX && (
                <Button onClick={() => change({ after: keyLine(loaded[KEYS_SHOWN_MAX - 1] ?? {}).key })}>Next page</Button>
              )}
            </div>
          </>
        )}
      </Loaded>
    </>
  );
}

interface StateKeyTableProps {
  readonly service: string;
  readonly lines: readonly KeyLine[];
  readonly empty: ReactNode;
}

/** The column of expiry appears with the first key that has a time to live: most services have none. */
function KeyTable({ service, lines, empty }: StateKeyTableProps) {
  const keys = lines.map(({ key }) => key);
  const { data: rows = [] } = useSql(expiriesStatement(service, keys), { isOff: keys.length === 0 });
  const expiries = expiriesOf(rows);
  const columns: readonly TableColumn<KeyLine>[] = [
    {
      name: "Key",
      cell: ({ key }) => <Link href={keyHref(service, key)}>{key === "" ? "(empty)" : <Breakable text={key} />}</Link>,
    },
    { name: "Entries", isNumber: true, cell: ({ entries }) => entries.toLocaleString() },
    { name: "Size", isNumber: true, cell: ({ bytes }) => sizeText(bytes) },
    ...(expiries.size > 0 ? [{ name: "Expires", cell: ({ key }: KeyLine) => <Moment at={expiries.get(key)} /> }] : []),
  ];
  return <Table label={`Keys of ${service}`} rows={lines} keyOf={({ key }) => key} columns={columns} empty={empty} />;
}

function NoKeys({ service, isSearched }: { readonly service: string; readonly isSearched: boolean }) {
  if (isSearched) {
    return (
      <Empty title="No matching keys">
        <p>The search is case-sensitive. Only keys with at least one entry are listed.</p>
      </Empty>
    );
  }
  return (
    <Empty title={`No key of ${service} has state`}>
      <p>A key appears here when a handler sets an entry:</p>
      <Snippet label="handler code" text={'ctx.set("left", 42);'} />
    </Empty>
  );
}
