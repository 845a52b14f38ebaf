/** The deployment on which an invocation is resumed or restarted: the same one, the latest, or a chosen one. */
import { ChoiceField } from "../../kit/index.js";
import { useRequest } from "../request.js";

interface DeploymentChoiceProps {
  /** `keep`, `latest` or an id. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly keepLabel: string;
}

export function DeploymentChoice({ value, onChange, keepLabel }: DeploymentChoiceProps) {
  const { data = [] } = useRequest(["invocation", "deployments"], async ({ admin }, signal) =>
    (await admin.deployments.list({ signal })).map(({ id }) => id),
  );
  const choices = [
    { value: "keep", label: keepLabel },
    { value: "latest", label: "The latest deployment of its service" },
    ...data.map((id) => ({ value: id, label: id })),
  ];
  return <ChoiceField label="Deployment" value={value} choices={choices} onChange={onChange} />;
}
