/** The audit log: which user or key did what, when, and from where; with filters and export. */
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link, useSearchParams } from "wouter";
import {
  Button,
  ChoiceField,
  download,
  Empty,
  type FieldChoice,
  Icon,
  isRecord,
  Loading,
  Menu,
  Moment,
  Page,
  ProblemNote,
  Table,
  TextField,
} from "../../kit/index.js";
import type { CloudResponse } from "../cloud-api.js";
import { environmentPath } from "../places.js";
import { forbiddenFor } from "../roles.js";
import { useCloud, useCloudChange, useCloudRequest } from "../use-cloud.js";
import { useAccount, useEnvironments } from "./account.js";
import { ACTIONS, AUDIT_FIELDS, type AuditField, fieldsOf, fileName, filterOf, searchOf } from "./audit-filter.js";
import { useMemberNames } from "./member-names.js";

type Event = CloudResponse<"ListAuditEvents">["events"][number];

const PAGE_LINES = 50;
const ANY = "any";

export default function AuditPage() {
  const { role } = useAccount();
  const forbiddenReason = forbiddenFor(role, "members");
  if (forbiddenReason === undefined) return <Audit />;
  return (
    <Page title="Audit log">
      <p className="note">{forbiddenReason}</p>
    </Page>
  );
}

function Audit() {
  const api = useCloud();
  const { accountId } = useAccount();
  const [search, setSearch] = useSearchParams();
  const fields = useMemo(() => fieldsOf(search), [search]);
  const filter = useMemo(() => filterOf(fields), [fields]);
  const events = useInfiniteQuery({
    queryKey: ["cloud", "audit", accountId, filter],
    queryFn: ({ pageParam, signal }) =>
      api.account(
        accountId,
        "ListAuditEvents",
        { ...filter, limit: PAGE_LINES, ...(pageParam === 0 ? {} : { before: pageParam }) },
        signal,
      ),
    initialPageParam: 0,
    getNextPageParam: ({ before }) => before,
    placeholderData: keepPreviousData,
  });
  const save = useCloudChange(
    async (_, format: "jsonl" | "csv") => {
      download(await api.exportAuditEvents(accountId, { ...filter, format }), fileName(format, Date.now()));
    },
    { done: () => "The export is ready", failed: "The export failed" },
  );
  const setField = (field: AuditField, value: string) => setSearch(searchOf({ ...fields, [field]: value }), { replace: true });
  const isFiltered = AUDIT_FIELDS.some((field) => fields[field] !== "");
  const all = events.data?.pages.flatMap((page) => page.events) ?? [];
  return (
    <Page
      title="Audit log"
      lead="Who did what to this account, newest first."
      actions={
        <Menu
          trigger={
            <Button isBusy={save.isPending}>
              Export <Icon name="fold-open" />
            </Button>
          }
          actions={[
            { label: "CSV, for spreadsheets", onSelect: () => save.mutate("csv") },
            { label: "JSON lines, for programs", onSelect: () => save.mutate("jsonl") },
          ]}
        />
      }
    >
      <Filters fields={fields} onFieldChange={setField} />
      {isFiltered && (
        <div className="row">
          <Button isSmall onClick={() => setSearch(new URLSearchParams(), { replace: true })}>
            Clear filters
          </Button>
        </div>
      )}
      {events.isError && <ProblemNote cause={events.error} onRetry={() => void events.refetch()} />}
      {events.isPending ? <Loading /> : <Events all={all} isFiltered={isFiltered} />}
      {events.hasNextPage && (
        <div className="row">
          <Button isBusy={events.isFetchingNextPage} onClick={() => void events.fetchNextPage()}>
            Load older events
          </Button>
        </div>
      )}
    </Page>
  );
}

interface FiltersProps {
  readonly fields: ReturnType<typeof fieldsOf>;
  readonly onFieldChange: (field: AuditField, value: string) => void;
}

function Filters({ fields, onFieldChange }: FiltersProps) {
  const { accountId } = useAccount();
  const environments = useEnvironments();
  const members = useCloudRequest(["members", accountId], (api, signal) => api.account(accountId, "ListMembers", {}, signal));
  const any = (value: string) => (value === "" ? ANY : value);
  const chosen = (field: AuditField) => (value: string) => onFieldChange(field, value === ANY ? "" : value);
  const memberChoices = (members.data?.members ?? []).map(({ userId, email }): FieldChoice => ({ value: userId, label: email }));
  return (
    <div className="filters">
      <ChoiceField
        label="Who"
        value={any(fields.actor)}
        choices={[{ value: ANY, label: "Anyone" }, ...withUnlistedChoice(fields.actor, memberChoices)]}
        onChange={chosen("actor")}
      />
      <ChoiceField
        label="What"
        value={any(fields.action)}
        choices={[{ value: ANY, label: "Any action" }, ...withUnlistedChoice(fields.action, ACTIONS_TO_CHOOSE)]}
        onChange={chosen("action")}
      />
      <ChoiceField
        label="Environment"
        value={any(fields.environment)}
        choices={[
          { value: ANY, label: "All environments" },
          ...(environments.data ?? []).map(({ environmentId, name }): FieldChoice => ({ value: environmentId, label: name })),
        ]}
        onChange={chosen("environment")}
      />
      <TextField label="From" type="datetime-local" value={fields.from} onChange={(value) => onFieldChange("from", value)} />
      <TextField label="To" type="datetime-local" value={fields.to} onChange={(value) => onFieldChange("to", value)} />
    </div>
  );
}

const ACTIONS_TO_CHOOSE: readonly FieldChoice[] = ACTIONS.map((action) => ({ value: action, label: action }));

/** A filter from the address is shown, also when it is not one of the choices. */
function withUnlistedChoice(value: string, choices: readonly FieldChoice[]): readonly FieldChoice[] {
  return value === "" || choices.some((one) => one.value === value) ? choices : [...choices, { value, label: value }];
}

function Events({ all, isFiltered }: { readonly all: readonly Event[]; readonly isFiltered: boolean }) {
  const { accountId } = useAccount();
  const names = useMemberNames();
  const environments = useEnvironments();
  return (
    <Table<Event>
      label="Events"
      rows={all}
      keyOf={({ number }) => String(number)}
      empty={
        <Empty title={isFiltered ? "No matching events" : "No events yet"}>
          <p>Changes to the account, its members, environments and keys are listed here, with who made them.</p>
        </Empty>
      }
      columns={[
        { name: "When", cell: ({ at }) => <Moment at={at * 1_000} /> },
        {
          name: "Who",
          cell: ({ actorKind, actorId }) => (actorKind === "system" ? `cloud operator (${actorId})` : names(actorId)),
        },
        { name: "What", cell: ({ action }) => <code>{action}</code> },
        {
          name: "To",
          cell: ({ target, environmentId }) => {
            const environment = environments.data?.find((one) => one.environmentId === environmentId);
            const named = target?.startsWith("user_") ? names(target) : target;
            return (
              <>
                {named !== environment?.name && <div>{named ?? "–"}</div>}
                {environment !== undefined && (
                  <Link href={environmentPath(accountId, environment.environmentId)}>{environment.name}</Link>
                )}
              </>
            );
          },
        },
        { name: "Details", cell: (event) => <Details event={event} /> },
      ]}
    />
  );
}

function Details({ event }: { readonly event: Event }) {
  const { details, requestId, remoteAddress, environmentId } = event;
  const more = { ...(isRecord(details) ? details : {}), environmentId, requestId, remoteAddress };
  return (
    <details>
      <summary>Show</summary>
      <pre className="audit-details small">{JSON.stringify(more, null, 2)}</pre>
    </details>
  );
}
