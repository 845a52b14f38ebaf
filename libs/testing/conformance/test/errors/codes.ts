/** Records which codes were provoked, so that the last test can list the others. */
import { eventually, type TestWorld } from "../../src/index.js";

/** Every code of the interface's catalogue, and those of later releases that an attempt can end with. */
export const CATALOGUE: readonly string[] = [
  ...["META0003", "META0004", "META0005", "META0006", "META0009", "META0010", "META0011", "META0012", "META0013", "META0014"],
  ...["META0015", "META0016", "META0017"],
  ...["RT0001", "RT0002", "RT0003", "RT0004", "RT0005", "RT0006", "RT0007", "RT0009", "RT0010", "RT0011", "RT0012", "RT0013"],
  ...["RT0014", "RT0015", "RT0016", "RT0017", "RT0018", "RT0019", "RT0021", "RT0022", "RT0023", "RT0024", "RT0025"],
];

export const provoked = new Set<string>();

interface AttemptFailed {
  readonly invocationId: string;
  readonly code: string;
  readonly action: "retry" | "pause" | "kill";
}

/** The server's log of the last failed attempt of an invocation. */
export function loggedFailure(world: TestWorld, invocationId: string): AttemptFailed | undefined {
  const line = world.server.lines.findLast((one) => one.includes(invocationId) && one.includes('"attempt failed"'));
  return line === undefined ? undefined : (JSON.parse(line) as AttemptFailed);
}

/** Codes that introspection has of an invocation, oldest first. */
async function recordedCodes(world: TestWorld, invocationId: string): Promise<readonly string[]> {
  const query = `SELECT event_json FROM sys_journal_events WHERE id = '${invocationId}' AND event_type = 'TransientError'`;
  const events = await world.admin.query(query);
  return events.map(
    ({ event_json }) => (JSON.parse(String(event_json)) as { restate_doc_error_code: string }).restate_doc_error_code,
  );
}

/** Waits until an attempt of the invocation has failed with the code, in both log and introspection. */
export async function expectFailure(world: TestWorld, invocationId: string, code: string): Promise<AttemptFailed> {
  const failed = await eventually(`${code} of ${invocationId}`, () => {
    const result = loggedFailure(world, invocationId);
    if (result !== undefined && result.code !== code) throw new Error(`it failed with ${result.code}`);
    return result;
  });
  // The log has it at once, introspection when it is durable.
  await eventually(`${code} recorded of ${invocationId}`, async () => (await recordedCodes(world, invocationId)).includes(code));
  provoked.add(code);
  return failed;
}
