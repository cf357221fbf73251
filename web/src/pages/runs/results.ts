// SPDX-License-Identifier: MIT
/** results: the chips of the filter by result, and the states of the log that each of them stands for. Pure. */
import type { Schemas } from '@/api/client'
import type { TickState } from '@/model/ticks'

type State = Schemas['Run']['state']

export interface Chip {
  name: 'success' | 'failed' | 'unknown' | 'running' | 'planned' | 'skipped'
  tick: TickState
  states: State[]
}

export const CHIPS: readonly Chip[] = [
  { name: 'success', tick: 'success', states: ['success'] },
  { name: 'failed', tick: 'failed', states: ['failed'] },
  { name: 'unknown', tick: 'unknown', states: ['lost', 'unknown'] },
  { name: 'running', tick: 'running', states: ['sending', 'waiting', 'running'] },
  { name: 'planned', tick: 'planned', states: ['planned'] },
  { name: 'skipped', tick: 'skipped', states: ['skipped'] },
]

const ALL = CHIPS.flatMap((c) => c.states)

export function readStates(text: string): State[] {
  const named = text.split(',')
  return ALL.filter((s) => named.includes(s))
}

/** In one order, so that the same choice is the same address; what is unknown is left out. */
export function cleanStates(text: string): string {
  return readStates(text).join(',')
}

export function isOn(chip: Chip, text: string): boolean {
  const states = readStates(text)
  return chip.states.some((s) => states.includes(s))
}

export function toggle(chip: Chip, text: string): string {
  const states = readStates(text)
  const next = isOn(chip, text) ? states.filter((s) => !chip.states.includes(s)) : [...states, ...chip.states]
  return cleanStates(next.join(','))
}
