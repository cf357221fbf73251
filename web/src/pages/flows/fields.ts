// SPDX-License-Identifier: MIT
/** fields: the filters of the list of flows, as they stand in the address bar. Pure. */
import type { FlowQuery } from '@/api/flows'
import { choiceField, textField, type Fields } from '@/model/filters'

export const FLOW_STATES = ['', 'started', 'stopped'] as const

export interface FlowValues {
  name: string
  tag: string
  state: (typeof FLOW_STATES)[number]
}

export const FLOW_FIELDS: Fields<FlowValues> = {
  name: textField(),
  tag: textField(),
  state: choiceField(FLOW_STATES, ''),
}

export function flowQuery(values: FlowValues): FlowQuery {
  return { name: values.name.trim() || undefined, tag: values.tag.trim() || undefined, state: values.state || undefined }
}
