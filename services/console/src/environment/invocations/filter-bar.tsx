/** The condition of the list, which the user can read, write as SQL, or build from parts. */

import type { InvocationFilter } from "@perdure/admin-client";
import { type FormEvent, type Ref, useEffect, useState } from "react";
import { useLocation } from "wouter";
import { Button, ChoiceField, Icon, TextField } from "../../kit/index.js";
import { chipsOf, idIn, lineOf, queryOf, SORTS, type Sort, STATUS_CHOICES, statusesOf, withStatuses } from "./filter-address.js";
import { FilterDialog } from "./filter-dialog.js";
import { FilterHelp } from "./filter-help.js";
import { ViewsMenu } from "./views-menu.js";

const SORT_LABELS: Readonly<Record<Sort, string>> = {
  "-created": "Newest first",
  created: "Oldest first",
  "-modified": "Last modified first",
  modified: "Longest unmodified first",
};
const SORT_CHOICES = SORTS.map((value) => ({ value, label: SORT_LABELS[value] }));

interface FilterBarProps {
  readonly filter: InvocationFilter;
  readonly sort: Sort;
  readonly onChange: (filter: InvocationFilter, sort: Sort) => void;
  /** The server's error about the condition. */
  readonly problem: string | undefined;
  /** Reference to the form whose only field is the condition. */
  readonly formRef: Ref<HTMLFormElement>;
  /** Counts by status, of the filter without its statuses; undefined until they are loaded. */
  readonly counts: ReadonlyMap<string, number> | undefined;
}

export function FilterBar({ filter, sort, onChange, problem, formRef, counts }: FilterBarProps) {
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const set = (next: InvocationFilter) => onChange(next, sort);
  const chips = chipsOf(filter);
  return (
    <search className="runs-filter" aria-label="Filter">
      <div className="runs-filter__line">
        <ConditionLine filter={filter} onChange={set} problem={problem} formRef={formRef} />
        <Button onClick={() => setOpen(true)}>
          <Icon name="filter" /> Filter …
        </Button>
        <ViewsMenu query={queryOf(filter, sort).toString()} />
        <Button appearance="bare" onClick={() => setHelpOpen(true)}>
          Help
        </Button>
        <div className="runs-filter__sort">
          <ChoiceField
            label="Order"
            isLabelHidden
            value={sort}
            choices={SORT_CHOICES}
            onChange={(next) => onChange(filter, next)}
          />
        </div>
      </div>
      <StatusChoices filter={filter} counts={counts} onChange={set} />
      {chips.length > 0 && (
        <ul className="runs-filter__chips" aria-label="Active filters">
          {chips.map(({ name, text, without }) => (
            <li key={name} className="runs-filter__chip">
              <button type="button" className="runs-filter__part" onClick={() => setOpen(true)}>
                <span className="quiet">{name}</span> {text}
              </button>
              <button
                type="button"
                className="runs-filter__off"
                aria-label={`Remove filter ${name}: ${text}`}
                onClick={() => set(without)}
              >
                <Icon name="clear" />
              </button>
            </li>
          ))}
          <li>
            <Button isSmall appearance="bare" onClick={() => set({})}>
              Clear filters
            </Button>
          </li>
        </ul>
      )}
      {isHelpOpen && (
        <FilterHelp
          onClose={() => setHelpOpen(false)}
          onChoose={(where) => {
            setHelpOpen(false);
            set({ where });
          }}
        />
      )}
      {isOpen && <FilterDialog filter={filter} onClose={() => setOpen(false)} onChange={set} />}
    </search>
  );
}

type StatusChoicesProps = Pick<FilterBarProps, "filter" | "counts"> & { readonly onChange: (filter: InvocationFilter) => void };

function StatusChoices({ filter, counts, onChange }: StatusChoicesProps) {
  const statuses = statusesOf(filter);
  return (
    <fieldset className="runs-filter__words" aria-label="Status">
      {STATUS_CHOICES.map((status) => {
        const isOn = statuses.includes(status);
        const next = isOn ? statuses.filter((each) => each !== status) : [...statuses, status];
        return (
          <button
            type="button"
            key={status}
            aria-pressed={isOn}
            className="runs-filter__word"
            onClick={() => onChange(withStatuses(filter, next))}
          >
            {status}{" "}
            {counts !== undefined && <span className="runs-filter__count">{(counts.get(status) ?? 0).toLocaleString("en")}</span>}
          </button>
        );
      })}
    </fieldset>
  );
}

type ConditionLineProps = Pick<FilterBarProps, "filter" | "problem" | "formRef"> & {
  readonly onChange: (filter: InvocationFilter) => void;
};

/** Shows the condition for editing. An edited text is the user's own condition; the id of an invocation opens its page. */
function ConditionLine({ filter, onChange, problem, formRef }: ConditionLineProps) {
  const [, go] = useLocation();
  const line = lineOr(filter);
  const [text, setText] = useState(line);
  const [own, setOwn] = useState<string>();
  useEffect(() => {
    setText(line);
    setOwn(undefined);
  }, [line]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const id = idIn(text);
    if (id !== undefined) return go(`/invocations/${id}`);
    const where = text.trim();
    if (where === line) return;
    if (where === "") return onChange({});
    try {
      lineOf({ ids: ["-"], where });
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause;
      return setOwn(cause.message);
    }
    onChange({ where });
  };
  return (
    <form className="runs-filter__condition" onSubmit={submit} ref={formRef}>
      <TextField
        label="Filter expression or invocation id"
        isLabelHidden
        placeholder="Filter, such as retry_count > 3, or an invocation id"
        value={text}
        onChange={setText}
        isCode
        spellCheck={false}
        autoComplete="off"
        problem={own ?? problem}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          setText(line);
          event.currentTarget.blur();
        }}
      />
      {text.trim() !== line && (
        <Button type="submit" appearance="primary">
          Apply
        </Button>
      )}
    </form>
  );
}

/** A condition in the address that is not whole is shown as it is. */
function lineOr(filter: InvocationFilter): string {
  try {
    return lineOf(filter);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    return filter.where ?? "";
  }
}
