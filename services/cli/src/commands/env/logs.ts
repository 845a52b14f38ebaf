/** `perdure env logs`: log lines of the runtime of an environment. */
import { chooseEnvironment } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { LOG_POLL_MS, LOG_SINCE_S } from "../../limits.js";
import { pause } from "../../pause.js";

export interface EnvLogFlags {
  /** Unix seconds. */
  readonly since?: number;
  readonly until?: number;
  readonly follow?: boolean;
}

export async function logs(context: Context, reference: string | undefined, flags: EnvLogFlags): Promise<void> {
  const { output, clock } = context;
  const client = context.session.client();
  const { accountId, environmentId } = await chooseEnvironment(context, client, reference);
  const nowS = (): number => Math.floor(clock.nowMs() / 1_000);
  let start = flags.since ?? nowS() - LOG_SINCE_S;
  let last = 0n;
  let shownAtLast = 0;
  let shown = 0;
  for (;;) {
    const end = flags.until ?? nowS() + 1;
    const { lines } = await client.account(
      accountId,
      "GetEnvironmentLogs",
      { environmentId, start, end },
      { signal: context.signal },
    );
    let repeated = shownAtLast; // Answers overlap: lines of the last moment are returned again.
    for (const { unixNanos, line } of lines) {
      const moment = BigInt(unixNanos);
      if (moment < last || (moment === last && repeated-- > 0)) continue;
      shownAtLast = moment === last ? shownAtLast + 1 : 1;
      last = moment;
      shown++;
      const at = new Date(Number(moment / 1_000_000n)).toISOString();
      output.event({ at, unixNanos, line }, () => output.print(`${output.paint("dim", at)} ${line}`));
    }
    if (flags.follow !== true) break;
    if (last > 0n) start = Number(last / 1_000_000_000n);
    await pause(context, LOG_POLL_MS);
  }
  if (shown === 0) output.note("Nothing was written in that time.");
}
