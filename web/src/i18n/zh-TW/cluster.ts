// SPDX-License-Identifier: MIT
export default {
  state: { live: '連線中', draining: '排空中', drained: '已排空', silent: '失聯' },
  unowned: '無歸屬',
  shardTitle: '分片 {shard}，epoch {epoch}',
  heldFor: '已持有 {time}',
  behind: '落後 {time}',
  resharding: '分片數由 {from} 改為 {to}',
}
