import { KvPartitionStore, MemoryKeyValue } from "../index.js";
import { describePartitionStore } from "../testing/index.js";

let kv = new MemoryKeyValue();
describePartitionStore("memory", {
  open: async () => {
    kv = new MemoryKeyValue();
    return new KvPartitionStore(kv);
  },
  reopen: async () => new KvPartitionStore(kv),
});
