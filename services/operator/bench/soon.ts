/** How long one environment takes from the API server's 201 to Ready, pods ready as soon as they are asked for: one number (ms) a line. */
import { World } from "../test/world.js";

const [rounds = 10] = process.argv.slice(2).map(Number);

await using world = await World.start();
world.startOperator({ keysPerSecond: 20 });
await world.untilReady(await world.create()); // Roles are new, copies are empty: not what is asked for.
for (let round = 0; round < rounds; round++) {
  const began = performance.now();
  await world.untilReady(await world.create());
  console.log((performance.now() - began).toFixed(0));
}
