/** Who is notified of what: event subscriptions of webhooks and handlers, and deliveries that failed. */
import type { EventSubscriptionView, EventSubscriptionWithSecretView } from "@perdure/admin-client";
import { useState } from "react";
import {
  Breakable,
  Button,
  Confirmation,
  Dialog,
  DialogActions,
  Empty,
  Icon,
  Loaded,
  Menu,
  type MenuAction,
  Moment,
  Page,
  ProblemNote,
  Snippet,
  Table,
  type TableColumn,
} from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { useDeletion } from "../operations/use-deletion.js";
import { useChange, useRequest } from "../request.js";
import { Deliveries } from "./deliveries.js";
import { destinationText, filterText } from "./event-form.js";
import { SUBSCRIPTIONS_EVERY_MS } from "./limits.js";
import { SubscribeDialog } from "./subscribe-dialog.js";
import "./events.css";

export default function EventsPage() {
  const { forbidden } = useEnvironment();
  const [isMaking, setMaking] = useState(false);
  const [secret, setSecret] = useState<string>();
  const [removing, setRemoving] = useState<EventSubscriptionView>();
  const services = useRequest(["services"], ({ admin }, signal) => admin.services.list({ signal }));
  const subscriptions = useRequest(["event subscriptions"], ({ admin }, signal) => admin.events.list({ signal }), {
    everyMs: SUBSCRIPTIONS_EVERY_MS,
  });
  const show = (made: EventSubscriptionWithSecretView) => {
    setMaking(false);
    setSecret(made.secret);
  };
  return (
    <Page
      title="Events"
      lead="Webhooks and handlers that are notified when invocations fail or are paused, and when something is stuck."
      actions={
        <Button appearance="primary" forbidden={forbidden} onClick={() => setMaking(true)}>
          Create event subscription
        </Button>
      }
    >
      <Loaded query={subscriptions}>
        {(all) => <SubscriptionTable subscriptions={all} onSecret={setSecret} onRemove={setRemoving} />}
      </Loaded>
      <Deliveries />
      {isMaking && services.data !== undefined && (
        <SubscribeDialog services={services.data} onClose={() => setMaking(false)} onDone={show} />
      )}
      {secret !== undefined && <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />}
      {removing !== undefined && <Removal key={removing.id} subscription={removing} onClose={() => setRemoving(undefined)} />}
    </Page>
  );
}

interface EventSubscriptionTableProps {
  readonly subscriptions: readonly EventSubscriptionView[];
  readonly onSecret: (secret: string | undefined) => void;
  readonly onRemove: (subscription: EventSubscriptionView) => void;
}

function SubscriptionTable({ subscriptions, onSecret, onRemove }: EventSubscriptionTableProps) {
  const columns: readonly TableColumn<EventSubscriptionView>[] = [
    { name: "Delivers to", cell: (one) => <Breakable text={destinationText(one)} /> },
    { name: "Events", isText: true, cell: ({ types }) => <Breakable text={types.join(", ")} /> },
    { name: "Only of", cell: (one) => filterText(one) ?? <span className="quiet">all</span> },
    { name: "Description", isText: true, cell: ({ description }) => description ?? <span className="quiet">–</span> },
    { name: "Created", cell: ({ created_at }) => <Moment at={created_at} /> },
    {
      name: "Actions",
      isNameHidden: true,
      cell: (one) => <SubscriptionActions subscription={one} onSecret={onSecret} onRemove={onRemove} />,
    },
  ];
  return (
    <Table
      label="Event subscriptions"
      rows={subscriptions}
      keyOf={({ id }) => id}
      columns={columns}
      empty={
        <Empty title="No event subscriptions yet">
          <p>
            A subscription sends a signed request to a webhook, or calls a handler, for each event. A handler can pass events on
            to mail or to a chat.
          </p>
        </Empty>
      }
    />
  );
}

interface EventSubscriptionActionsProps extends Pick<EventSubscriptionTableProps, "onSecret" | "onRemove"> {
  readonly subscription: EventSubscriptionView;
}

function SubscriptionActions({ subscription, onSecret, onRemove }: EventSubscriptionActionsProps) {
  const { forbidden } = useEnvironment();
  const { id, to, secret_count: secretCount } = subscription;
  const rotate = useChange(({ admin }) => admin.events.rotateSecret(id), {
    done: () => "Secret rotated",
    failed: "The secret was not rotated",
    onDone: ({ secret }) => onSecret(secret),
  });
  const revoke = useChange(({ admin }) => admin.events.revokeOldSecret(id), {
    done: () => "Old secret revoked",
    failed: "The old secret was not revoked",
  });
  const ofWebhook: readonly MenuAction[] = [
    { label: "Rotate secret", onSelect: () => rotate.mutate() },
    ...(secretCount === 2 ? [{ label: "Revoke old secret", onSelect: () => revoke.mutate() }] : []),
  ];
  return (
    <Menu
      trigger={
        <Button isSmall appearance="bare" aria-label={`Actions for ${destinationText(subscription)}`}>
          <Icon name="more" />
        </Button>
      }
      actions={[
        ...("url" in to ? ofWebhook : []).map((action) => ({ ...action, forbidden })),
        { label: "Delete", isDanger: true, forbidden, onSelect: () => onRemove(subscription) },
      ]}
    />
  );
}

function SecretDialog({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    <Dialog title="Secret of the webhook" isOpen onClose={onClose}>
      <div className="stack">
        <p>
          It is not shown again. Receivers verify the header <code>webhook-signature</code> with it.
        </p>
        <Snippet label="secret" text={secret} />
        <DialogActions>
          <Button appearance="primary" onClick={onClose}>
            Close
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  );
}

interface RemovalProps {
  readonly subscription: EventSubscriptionView;
  readonly onClose: () => void;
}

function Removal({ subscription, onClose }: RemovalProps) {
  const remove = useDeletion(({ admin }) => admin.events.remove(subscription.id), {
    done: () => "Event subscription deleted",
    onDone: onClose,
  });
  return (
    <Confirmation
      title="Delete the event subscription?"
      isOpen
      onClose={onClose}
      verb="Delete"
      isBusy={remove.isPending}
      problem={remove.isError ? <ProblemNote cause={remove.error} title="The event subscription was not deleted." /> : undefined}
      onConfirm={() => remove.mutate()}
    >
      <p>{destinationText(subscription)} gets no further events. Deliveries to a handler continue, those to a webhook fail.</p>
    </Confirmation>
  );
}
