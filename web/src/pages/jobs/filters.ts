// SPDX-License-Identifier: MIT
/** filters: those of the list of jobs: in the address bar, and as the server takes them. Pure. */
import type { paths } from '@/api/schema'
import { choiceField, numberField, textField, type Fields } from '@/model/filters'

export const SORTS = ['id', 'name', 'next', 'last', 'failures'] as const
export const STATES = ['', 'running', 'stopped'] as const
export const RESULTS = ['', 'failed'] as const

export interface JobFilters {
  text: string
  group: number | undefined
  state: (typeof STATES)[number]
  result: (typeof RESULTS)[number]
  tag: string
  owner: string
  sort: (typeof SORTS)[number]
}

export const jobFields: Fields<JobFilters> = {
  text: textField(),
  group: numberField(),
  state: choiceField(STATES, ''),
  result: choiceField(RESULTS, ''),
  tag: textField(),
  owner: textField(),
  sort: choiceField(SORTS, 'id'),
}
type JobQuery = NonNullable<paths['/api/v1/jobs']['get']['parameters']['query']>

/** What narrows the list, without its order. */
export function queryOf(f: JobFilters): JobQuery {
  const query: JobQuery = {}
  if (f.text.trim()) query.text = f.text.trim()
  if (f.group !== undefined) query.group = f.group
  if (f.state) query.running = f.state === 'running' ? 'true' : 'false'
  if (f.result) query.result = f.result
  if (f.tag.trim()) query.tag = f.tag.trim()
  if (f.owner.trim()) query.author = f.owner.trim()
  return query
}

export function listQuery(f: JobFilters): JobQuery {
  return f.sort === 'id' ? queryOf(f) : { ...queryOf(f), sort: f.sort }
}

/** Whether anything narrows the list. */
export function isNarrowed(f: JobFilters): boolean {
  return Object.keys(queryOf(f)).length > 0
}

/** The groups that an export takes out as they are: where nothing but a group narrows the list. */
export function exportOf(f: JobFilters): { group?: string } | undefined {
  const { group, ...others } = queryOf(f)
  if (Object.keys(others).length) return undefined
  return group === undefined ? {} : { group: String(group) }
}
