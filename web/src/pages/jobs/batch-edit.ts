// SPDX-License-Identifier: MIT
/** batch-edit: settings that make sense for many jobs at once, and the change that is made of what was typed. Pure. */
import type { Schemas } from '@/api/client'
import { BLOCKS, MISFIRES, ROUTES } from './editor/form'

export type BatchField =
  | { name: 'jobGroup'; kind: 'group' }
  | { name: 'author' | 'alarmEmail' | 'executorHandler'; kind: 'text'; most: number; least?: number }
  | { name: 'addTags' | 'removeTags' | 'tags'; kind: 'tags'; empty?: true }
  | { name: 'executorTimeout' | 'executorFailRetryCount'; kind: 'number'; empty: false }
  | { name: 'retryWaitSeconds' | 'holdSeconds' | 'retentionDays'; kind: 'number'; empty: true; from?: number }
  | {
      name: 'executorRouteStrategy' | 'executorBlockStrategy' | 'misfireStrategy'
      kind: 'choice'
      choices: readonly string[]
      /** Where the words of the choices stand. */
      words: 'route' | 'block' | 'misfire'
    }

export const BATCH_FIELDS: readonly BatchField[] = [
  { name: 'executorTimeout', kind: 'number', empty: false },
  { name: 'executorFailRetryCount', kind: 'number', empty: false },
  { name: 'retryWaitSeconds', kind: 'number', empty: true },
  { name: 'alarmEmail', kind: 'text', most: 255 },
  { name: 'author', kind: 'text', most: 64, least: 1 },
  { name: 'addTags', kind: 'tags' },
  { name: 'removeTags', kind: 'tags' },
  { name: 'tags', kind: 'tags', empty: true },
  { name: 'jobGroup', kind: 'group' },
  { name: 'executorRouteStrategy', kind: 'choice', choices: ROUTES, words: 'route' },
  { name: 'executorBlockStrategy', kind: 'choice', choices: BLOCKS, words: 'block' },
  { name: 'misfireStrategy', kind: 'choice', choices: MISFIRES, words: 'misfire' },
  { name: 'holdSeconds', kind: 'number', empty: true },
  { name: 'retentionDays', kind: 'number', empty: true, from: 1 },
]

/** Members of the batch, beside its edit. */
const OF_BATCH = ['addTags', 'removeTags']
const OWN_SETTINGS = ['tags', 'retryWaitSeconds', 'holdSeconds', 'retentionDays']
const MOST = 2_147_483_647

function tagsOf(typed: string, empty: boolean): string[] | undefined {
  const tags = [...new Set(typed.split(/[,，]/).map((s) => s.trim()).filter((s) => s))]
  return (empty || tags.length) && tags.every((tag) => tag.length <= 100) ? tags : undefined
}

/** The value of a field, or undefined where what was typed is none. */
function valueOf(field: BatchField, text: string): string | number | null | string[] | undefined {
  const typed = text.trim()
  switch (field.kind) {
    case 'group':
      return Number(typed) || undefined
    case 'choice':
      return field.choices.includes(typed) ? typed : undefined
    case 'tags':
      return tagsOf(typed, field.empty ?? false)
    case 'text':
      return typed.length >= (field.least ?? 0) && typed.length <= field.most ? typed : undefined
    case 'number': {
      if (typed === '') return field.empty ? null : undefined
      const n = Number(typed)
      const from = field.empty ? (field.from ?? 0) : 0
      return /^\d+$/.test(typed) && n >= from && n <= MOST ? n : undefined
    }
  }
}

export type BatchChange = Pick<Schemas['Batch'], 'edit' | 'addTags' | 'removeTags'>

export interface MadeChange {
  change: BatchChange
  /** Names of fields whose value cannot be. */
  faults: string[]
}

export function changeOf(chosen: readonly string[], values: Record<string, string>): MadeChange {
  const change: Record<string, unknown> = {}
  const edit: Record<string, unknown> = {}
  const settings: Record<string, unknown> = {}
  const faults: string[] = []
  for (const field of BATCH_FIELDS) {
    if (!chosen.includes(field.name)) continue
    const value = valueOf(field, values[field.name] ?? '')
    // Either which tags come and go, or all that a job has.
    const isTwice = field.name === 'tags' && OF_BATCH.some((name) => chosen.includes(name))
    if (value === undefined || isTwice) faults.push(field.name)
    else if (OF_BATCH.includes(field.name)) change[field.name] = value
    else if (OWN_SETTINGS.includes(field.name)) settings[field.name] = value
    else edit[field.name] = value
  }
  if (Object.keys(settings).length) edit.settings = settings
  if (Object.keys(edit).length) change.edit = edit
  return { change: change as BatchChange, faults }
}
