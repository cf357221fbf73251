// SPDX-License-Identifier: MIT
export default {
  state: { live: '在线', draining: '排空中', drained: '已排空', silent: '失联' },
  unowned: '无归属',
  shardTitle: '分片 {shard}，epoch {epoch}',
  heldFor: '已持有 {time}',
  behind: '落后 {time}',
  resharding: '分片数由 {from} 改为 {to}',
}
