/**
 * Measures the time of one environment from the API server's 201 to Ready, with pods that are ready as soon as they are created. Prints one
 * number (ms) a line.
 */
import { World } from "../test/world.js";

const [rounds = 10] = process.argv.slice(2).map(Number);

await using world = await World.start();
world.startOperator({ keysPerSecond: 20 });
await world.untilReady(await world.create()); // Warm-up: new roles and empty caches are not part of the measurement.
for (let round = 0; round < rounds; round++) {
  const began = performance.now();
  await world.untilReady(await world.create());
  console.log((performance.now() - began).toFixed(0));
}
