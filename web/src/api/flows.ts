// SPDX-License-Identifier: MIT
/** flows: the calls of api/v1 about flows and their runs, with what their documents hold. */
import { api, ask, type Schemas } from './client'
import type { FlowDocument, Json, Schedule } from '@/model/flow/document'

export type ShortRun = Schemas['FlowTick']
export type FlowRunState = ShortRun['state']
export type Flow = Omit<Schemas['Flow'], 'schedule'> & { schedule: Schedule | null }
export type WholeFlow = Flow & { document: FlowDocument }
export type FlowRun = Omit<Schemas['FlowRun'], 'parameters'> & { parameters: Record<string, Json> | null }
/** `closed`: its job is in a group that the reader may not see, and there are only its times. */
export type FlowStep = Schemas['FlowStep']
export type StepState = FlowStep['state']
export type WholeFlowRun = FlowRun & { document: FlowDocument; steps: FlowStep[] }
export type FlowItem = Schemas['FlowItem']
export type FlowVersion = Schemas['FlowVersion']
export type ServerFault = Schemas['FlowFault']

export interface Page<T> {
  items: T[]
  next: string | null
}

export type RunAction = 'cancel' | 'rerun'
export type StepAction = 'retry' | 'skip' | 'done' | 'approve' | 'reject'

export interface FlowQuery {
  name?: string
  tag?: string
  state?: 'started' | 'stopped'
}

const LIMIT = 50
const byId = (id: number) => ({ path: { id } })
/** To the server a document is any object; what it refuses, it names. */
const bodyOf = (document: FlowDocument) => ({ document: document as unknown as Record<string, never> })

export const flowsApi = {
  list: (query: FlowQuery, after?: string, signal?: AbortSignal) =>
    ask(() => api.GET('/api/v1/flows', { params: { query: { ...query, limit: LIMIT, after } }, signal })) as Promise<Page<Flow>>,
  get: (id: number, signal?: AbortSignal) =>
    ask(() => api.GET('/api/v1/flows/{id}', { params: byId(id), signal })) as unknown as Promise<WholeFlow>,
  ofChildren: async (jobId: number, signal?: AbortSignal) => {
    const found = await ask(() => api.GET('/api/v1/jobs/{id}/flow', { params: byId(jobId), signal }))
    return { document: found.document as unknown as FlowDocument }
  },
  add: (document: FlowDocument) => ask(() => api.POST('/api/v1/flows', { body: bodyOf(document) })),
  save: (id: number, document: FlowDocument, version: number) =>
    ask(() => api.PUT('/api/v1/flows/{id}', { params: byId(id), body: { ...bodyOf(document), version } })),
  remove: (id: number) => ask(() => api.DELETE('/api/v1/flows/{id}', { params: byId(id) })),
  validate: (document: FlowDocument, signal?: AbortSignal) =>
    ask(() => api.POST('/api/v1/flows/validate', { body: bodyOf(document), signal })),
  start: (id: number) => ask(() => api.POST('/api/v1/flows/{id}/start', { params: byId(id) })),
  stop: (id: number) => ask(() => api.POST('/api/v1/flows/{id}/stop', { params: byId(id) })),
  versions: (id: number, signal?: AbortSignal) =>
    ask(() => api.GET('/api/v1/flows/{id}/versions', { params: { ...byId(id), query: { limit: 200 } }, signal })),
  version: async (id: number, version: number) => {
    const params = { path: { id, version } }
    const found = await ask(() => api.GET('/api/v1/flows/{id}/versions/{version}', { params }))
    return found.document as unknown as FlowDocument
  },
  run: (id: number, parameters: Record<string, Json>, key: string) => {
    const body = { parameters: parameters as Record<string, never>, key }
    return ask(() => api.POST('/api/v1/flows/{id}/runs', { params: byId(id), body }))
  },
  runs: (query: { flow?: number; state?: FlowRunState }, after?: string, signal?: AbortSignal) =>
    ask(() =>
      api.GET('/api/v1/flow-runs', { params: { query: { ...query, limit: LIMIT, after } }, signal }),
    ) as Promise<Page<FlowRun>>,
  getRun: (id: number, signal?: AbortSignal) =>
    ask(() => api.GET('/api/v1/flow-runs/{id}', { params: byId(id), signal })) as unknown as Promise<WholeFlowRun>,
  items: (id: number, name: string, state?: StepState, after?: string, signal?: AbortSignal) =>
    ask(() =>
      api.GET('/api/v1/flow-runs/{id}/steps/{name}/items', {
        params: { path: { id, name }, query: { state, limit: LIMIT, after } },
        signal,
      }),
    ),
  actOnRun: (id: number, action: RunAction) =>
    ask(() => api.POST(`/api/v1/flow-runs/{id}/${action}`, { params: byId(id), body: {} })),
  actOnStep: (id: number, name: string, action: StepAction, remark: string) => {
    const body = { remark: remark || undefined } as { remark: string }
    return ask(() => api.POST(`/api/v1/flow-runs/{id}/steps/{name}/${action}`, { params: { path: { id, name } }, body }))
  },
}

export type { FlowDocument, Json }
