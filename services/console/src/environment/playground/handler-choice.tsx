/** Lets the user choose a handler, its service and its key. */
import type { HandlerMetadata, ServiceMetadata } from "@perdure/admin-client";
import { ChoiceField, TextField } from "../../kit/index.js";
import { useAddress } from "../address.js";
import { handlerLabel, isKeyed, typeLabel } from "../services/service-text.js";

interface HandlerChoiceProps {
  readonly services: readonly ServiceMetadata[];
  readonly service: ServiceMetadata | undefined;
  readonly handler: HandlerMetadata | undefined;
}

export function HandlerChoice({ services, service, handler }: HandlerChoiceProps) {
  const [parameters, change] = useAddress();
  return (
    <div className="playground__choice">
      <ChoiceField
        label="Service"
        value={service?.name ?? ""}
        choices={services.map((each) => ({ value: each.name, label: `${each.name} (${typeLabel(each)})` }))}
        onChange={(name) => change({ service: name, handler: undefined })}
      />
      {service !== undefined && (
        <ChoiceField
          label="Handler"
          value={handler?.name ?? ""}
          choices={service.handlers.map((each) => ({ value: each.name, label: labelOf(each) }))}
          onChange={(name) => change({ service: service.name, handler: name })}
        />
      )}
      {service !== undefined && isKeyed(service) && (
        <TextField
          label="Key"
          hint={service.ty === "Workflow" ? "Each key is one run of the workflow" : "Each key is a separate object"}
          value={parameters.get("key") ?? ""}
          onChange={(key) => change({ key }, false)}
          autoComplete="off"
          spellCheck={false}
          required
        />
      )}
    </div>
  );
}

function labelOf(handler: HandlerMetadata): string {
  const parts = [handlerLabel(handler), handler.public ? undefined : "private"].filter((part) => part !== undefined);
  return parts.length === 0 ? handler.name : `${handler.name} (${parts.join(", ")})`;
}
