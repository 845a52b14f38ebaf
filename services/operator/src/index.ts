/** The role `operator`, for its process and for tests. */
export type { AccessSubject, Cell } from "./cell.js";
export { type OperatorMetrics, operatorMetrics } from "./metrics.js";
export { type Operator, type OperatorOptions, type OperatorPorts, startOperator } from "./operator.js";
