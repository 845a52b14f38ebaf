/** Reconciles the custom resources of Perdure in a Kubernetes cluster. */
export type { Cell } from "./cell.js";
export { type OperatorMetrics, operatorMetrics } from "./metrics.js";
export { type Operator, type OperatorOptions, type OperatorPorts, startOperator } from "./operator.js";
