// SPDX-License-Identifier: MIT
export default {
  state: { live: 'live', draining: 'draining', drained: 'drained', silent: 'silent' },
  unowned: 'no owner',
  shardTitle: 'Shard {shard}, epoch {epoch}',
  heldFor: 'held for {time}',
  behind: '{time} behind',
  resharding: 'From {from} to {to} shards',
}
