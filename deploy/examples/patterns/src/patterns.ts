/** All patterns, in the order in which they are best read. */
import type { Pattern } from "#kit/pattern";
import { agent } from "#patterns/agent/demo";
import { approval } from "#patterns/approval/demo";
import { batchImport } from "#patterns/batch-import/demo";
import { billing } from "#patterns/billing/demo";
import { cron } from "#patterns/cron/demo";
import { fanOut } from "#patterns/fan-out/demo";
import { kafkaStream } from "#patterns/kafka-stream/demo";
import { payment } from "#patterns/payment/demo";
import { polling } from "#patterns/polling/demo";
import { rateLimit } from "#patterns/rate-limit/demo";
import { saga } from "#patterns/saga/demo";
import { webhook } from "#patterns/webhook/demo";

export const PATTERNS: readonly Pattern[] = [
  saga,
  approval,
  fanOut,
  cron,
  kafkaStream,
  webhook,
  rateLimit,
  agent,
  payment,
  polling,
  batchImport,
  billing,
];
