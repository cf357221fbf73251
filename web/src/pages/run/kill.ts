// SPDX-License-Identifier: MIT
/** kill: what a kill does, by the block strategy of the job, as a key of `run.killText`. Pure. */
export type KillText = 'serial' | 'discard' | 'cover' | 'other'

export function killTextOf(strategy: string | null | undefined): KillText {
  switch (strategy) {
    case 'SERIAL_EXECUTION':
      return 'serial'
    case 'DISCARD_LATER':
      return 'discard'
    case 'COVER_EARLY':
      return 'cover'
    default:
      return 'other'
  }
}
