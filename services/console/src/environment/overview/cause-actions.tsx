/** Actions on a row of *Needs attention*: on its invocations, and whether it is still shown. */
import type { InvocationVerb } from "@perdure/admin-contract";
import { Button, Icon, Menu, type MenuAction, type TableColumn } from "../../kit/index.js";
import type { Cause } from "./causes.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** An operation on all invocations of a row; a dialog shows which these are before it begins. */
export interface CauseBatch {
  readonly cause: Cause;
  readonly verb: InvocationVerb;
}

interface CauseActions {
  readonly mark: (cause: Cause, muteMs?: number) => void;
  readonly begin: (batch: CauseBatch) => void;
  /** Why acknowledging is not possible; undefined when it is. */
  readonly markForbidden: string | undefined;
  /** Why operations are not possible. */
  readonly forbidden: string | undefined;
}

const RESUME = { verb: "resume", label: "Resume …", icon: "resume" } as const;
const CANCEL = { verb: "cancel", label: "Cancel …", icon: "cancel", isDanger: true } as const;
const RESTART = { verb: "restart-as-new", label: "Restart as new …", icon: "restart" } as const;

export function actionsColumn({ mark, begin, markForbidden, forbidden }: CauseActions): TableColumn<Cause> {
  const actionsOf = (cause: Cause): readonly MenuAction[] => [
    ...(cause.status === "failed" ? [RESTART] : [RESUME, CANCEL]).map(({ verb, ...action }) => ({
      ...action,
      forbidden,
      onSelect: () => begin({ cause, verb }),
    })),
    { label: "Acknowledge", icon: "acknowledge", forbidden: markForbidden, onSelect: () => mark(cause) },
    { label: "Mute for 1 hour", icon: "mute", forbidden: markForbidden, onSelect: () => mark(cause, HOUR_MS) },
    { label: "Mute for 1 day", icon: "mute", forbidden: markForbidden, onSelect: () => mark(cause, DAY_MS) },
  ];
  return {
    name: "Actions",
    isNameHidden: true,
    cell: (cause) => (
      <Menu
        trigger={
          <Button isSmall appearance="bare" aria-label={`Actions for ${cause.service}/${cause.handler} ${cause.status}`}>
            <Icon name="more" />
          </Button>
        }
        actions={actionsOf(cause)}
      />
    ),
  };
}
