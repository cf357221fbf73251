// SPDX-License-Identifier: MIT
/** state: how an executor group and its addresses are, from what the server says. Pure. */
import type { Schemas } from '@/api/client'
import type { Group } from './group'

export type Executor = Schemas['ExecutorList']['items'][number]
export type Figures = Schemas['GroupFigures']['items'][number]

/** Executors beat every 30 s or more often; a beat that is older than two of these is missing. */
export const BEAT_LATE_S = 65

export type ExecutorState = 'online' | 'quiet' | 'silent' | 'byHand' | 'leaving'

/**
 * `quiet`: its beats are overdue. `silent`: fires go there and it has not beaten for 90 s. `byHand`: whether it lives
 * is not known, since addresses by hand need no beats. `leaving`: it beats, or did, and is not in the list.
 */
export function stateOfExecutor(x: Executor, type: Group['addressType'], now: number): ExecutorState {
  if (!x.lastBeat) return type === 'manual' ? 'byHand' : 'silent'
  if (!x.listed) return 'leaving'
  return now - Date.parse(x.lastBeat) > BEAT_LATE_S * 1000 ? 'quiet' : 'online'
}

export const EXECUTOR_COLOUR: Record<ExecutorState, string> = {
  online: 'st-ok',
  quiet: 'st-skip',
  silent: 'st-fail',
  byHand: 'st-plan',
  leaving: 'st-plan',
}

export type GroupState = 'online' | 'byHand' | 'empty'

export function stateOfGroup(group: Group): GroupState {
  if (!group.addressList.length) return 'empty'
  return group.addressType === 'manual' ? 'byHand' : 'online'
}

export type Show = '' | 'online' | 'offline' | 'manual'
export const SHOWS = ['', 'online', 'offline', 'manual'] as const satisfies readonly Show[]

function isShown(group: Group, show: Show): boolean {
  if (show === 'manual') return group.addressType === 'manual'
  if (show === 'offline') return stateOfGroup(group) === 'empty'
  return show === '' || stateOfGroup(group) === 'online'
}

export function chooseGroups(groups: readonly Group[], filter: { text: string; show: Show }): Group[] {
  const text = filter.text.trim().toLowerCase()
  const has = (part: string) => part.toLowerCase().includes(text)
  return groups.filter(
    (g) => isShown(g, filter.show) && (!text || has(g.title) || has(g.appname) || g.addressList.some(has)),
  )
}
