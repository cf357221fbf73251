// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { emptyFlow, formatFlow, stepsOf, type FlowDocument } from './document'
import { addStep, connect, mayConnect, removeStep, renameStep, setEdge, setStep, setType } from './edit'

const flow: FlowDocument = {
  name: 'daily',
  steps: [
    { name: 'extract', type: 'job', jobId: 1 },
    { name: 'shops', type: 'map', jobId: 2, items: 'steps.extract.result/shops', param: '${item} ${steps.extract.code} $${steps.extract.code}' },
    { name: 'ask', type: 'approval', text: 'All ${steps.extract.result}?' },
    { name: 'other', type: 'flow', flow: 'x', parameters: { a: ['${steps.extract.result}', 5] } },
  ],
  edges: [
    { from: 'extract', to: 'shops', when: { any: [{ path: 'steps.extract.result/n', is: '>', value: 0 }] } },
    { from: 'shops', to: 'ask', on: 'end' },
  ],
}

test('a new step stands behind the chosen one and is connected', () => {
  const { flow: next, name } = addStep(flow, 'job', 'extract')
  expect(name).toBe('step')
  expect(next.steps.map((s) => s.name)).toEqual(['extract', 'step', 'shops', 'ask', 'other'])
  expect(next.edges).toContainEqual({ from: 'extract', to: 'step' })
  expect(addStep(next, 'job').name).toBe('step-2')
  expect(addStep(emptyFlow('x'), 'wait').flow.steps).toEqual([{ name: 'wait', type: 'wait', seconds: 60 }])
})

test('another name is followed by edges, conditions and templates, but not by what is no template', () => {
  const next = renameStep(flow, 'extract', 'load')
  expect(next.steps[0]!.name).toBe('load')
  expect(next.steps[1]).toMatchObject({ items: 'steps.load.result/shops', param: '${item} ${steps.load.code} $${steps.extract.code}' })
  expect(next.steps[2]!.text).toBe('All ${steps.load.result}?')
  expect(next.steps[3]!.parameters).toEqual({ a: ['${steps.load.result}', 5] })
  expect(next.edges![0]).toEqual({ from: 'load', to: 'shops', when: { any: [{ path: 'steps.load.result/n', is: '>', value: 0 }] } })
  expect(renameStep(flow, 'extract', 'shops')).toBe(flow)
  expect(renameStep(flow, 'extract', 'no blanks')).toBe(flow)
})

test('edges of a step that goes go with it', () => {
  const next = removeStep(flow, 'shops')
  expect(stepsOf(next).map((s) => s.name)).toEqual(['extract', 'ask', 'other'])
  expect(next).not.toHaveProperty('edges')
})

test('an edge is not made twice and not back', () => {
  expect(mayConnect(flow, 'ask', 'other')).toBe('yes')
  expect(mayConnect(flow, 'extract', 'shops')).toBe('same')
  expect(mayConnect(flow, 'ask', 'extract')).toBe('circle')
  expect(mayConnect(flow, 'ask', 'ask')).toBe('circle')
  expect(connect(flow, 'ask', 'extract')).toBe(flow)
  expect(setEdge(flow, 1, { on: undefined }).edges![1]).toEqual({ from: 'shops', to: 'ask' })
  expect(setEdge(flow, 0, undefined).edges).toHaveLength(1)
})

test('what only the old type had goes, the job stays', () => {
  expect(setType(flow, 'shops', 'job').steps[1]).toEqual({ name: 'shops', type: 'job', jobId: 2, param: flow.steps[1]!.param })
  expect(setType(flow, 'shops', 'wait').steps[1]).toEqual({ name: 'shops', type: 'wait', seconds: 60 })
  expect(setStep(flow, 'extract', { jobId: undefined }).steps[0]).toEqual({ name: 'extract', type: 'job' })
})

test('a flow is written with a line for each step and edge that fits, and reads as the same', () => {
  const text = formatFlow(flow)
  expect(text).toContain('    {"name": "extract", "type": "job", "jobId": 1},\n')
  expect(JSON.parse(text)).toEqual(flow)
  expect(Math.max(...text.split('\n').map((l) => l.length))).toBeLessThan(125)
  expect(JSON.parse(formatFlow({ ...flow, schedule: { cron: '0 0 2 * * ?', misfire: 'once' }, tags: ['a'] }))).toMatchObject({ tags: ['a'] })
})

test('what is no step is left out, and found again at its place', () => {
  const odd = { name: 'x', steps: [null, 5, { name: 'a', type: 'job' }, { name: 'a', type: 'wait' }, {}] } as unknown as FlowDocument
  expect(stepsOf(odd)).toEqual([{ name: 'a', type: 'job', at: 2 }])
  expect(setStep(odd, 'a', { jobId: 3 }).steps[2]).toEqual({ name: 'a', type: 'job', jobId: 3 })
})
