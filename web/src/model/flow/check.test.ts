// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { checkFlow, circleEdges, deadSteps } from './check'
import type { Edge, FlowDocument, Step } from './document'
import { pathsFor, readPath, templatePaths } from './paths'

const job = (name: string, more: Partial<Step> = {}): Step => ({ name, type: 'job', jobId: 1, ...more })
const flowOf = (steps: Step[], edges: Edge[] = [], more: Partial<FlowDocument> = {}): FlowDocument => ({ name: 'f', steps, edges, ...more })
const codes = (flow: FlowDocument) => checkFlow(flow).map((f) => `${f.where} ${f.code}`)

test('a flow that is right has no faults', () => {
  const flow = flowOf(
    [job('a', { param: '${flow.day} ${due-1d:yyyyMMdd} ${run.id} $${x' }), { name: 'b', type: 'map', jobId: 2, items: 'steps.a.result', param: '${item/id} ${index}' }],
    [{ from: 'a', to: 'b', when: { all: [{ path: 'steps.a.result/n', is: '>', value: 0 }] } }],
    { parameters: [{ name: 'day' }] },
  )
  expect(checkFlow(flow)).toEqual([])
})

test('each fault has its place', () => {
  expect(codes({ name: '', steps: [] })).toEqual(['/name noName', '/steps noSteps'])
  expect(checkFlow(flowOf([job('a')], [], { name: 'my flow', parameters: [{ name: '' }] }))).toEqual([
    { where: '/name', code: 'name', of: 'my flow' },
    { where: '/parameters/0/name', code: 'noName' },
  ])
  expect(codes(flowOf([{ name: 'a', type: 'job' }, job('a')]))).toEqual(['/steps/1/name nameTaken', '/steps/0/jobId noJob'])
  expect(codes(flowOf([{ name: 'w', type: 'wait' }, { name: 'v', type: 'wait', until: '25:00' }]))).toEqual(['/steps/0 wait', '/steps/1/until until'])
  expect(codes(flowOf([job('a')], [{ from: 'a', to: 'gone' }]))).toEqual(['/edges/0/to end'])
})

test('paths lead to parameters, and to steps that come before', () => {
  const edges = [{ from: 'a', to: 'b' }]
  expect(codes(flowOf([job('a', { param: '${steps.b.result}' }), job('b')], edges))).toEqual(['/steps/0/param notBefore'])
  expect(codes(flowOf([job('a'), job('b', { param: '${steps.c.result}' })], edges))).toEqual(['/steps/1/param unknownStep'])
  expect(codes(flowOf([job('a', { param: '${flow.x} ${nonsense}' })]))).toEqual(['/steps/0/param unknownParameter', '/steps/0/param path'])
  expect(codes(flowOf([job('a', { param: '${item}' })]))).toEqual(['/steps/0/param noItem'])
  expect(codes(flowOf([job('a', { param: 'x ${steps' })]))).toEqual(['/steps/0/param template'])
  expect(codes(flowOf([job('a'), { name: 'f', type: 'flow', flow: 'g', parameters: { 'x/y': '${steps.b.code}' } }]))).toEqual(['/steps/1/parameters/x~1y unknownStep'])
  const when = { any: [{ path: 'steps.a.state', is: '=' }, { path: 'steps.b.state', is: '=' }] }
  expect(codes(flowOf([job('a'), job('b')], [{ from: 'a', to: 'b', when }]))).toEqual(['/edges/0/when/any/1/path notBefore'])
})

test('the edge that closes a circle is named, and paths are not looked at then', () => {
  const flow = flowOf([job('a'), job('b'), job('c')], [{ from: 'a', to: 'b' }, { from: 'b', to: 'c' }, { from: 'c', to: 'b' }])
  expect(circleEdges(flow)).toEqual([2])
  expect(codes(flow)).toEqual(['/edges/2 circle'])
  expect(circleEdges(flowOf([job('a')], [{ from: 'a', to: 'a' }]))).toEqual([0])
})

test('a step is dead where its edges exclude each other', () => {
  const both: Edge[] = [{ from: 'a', to: 'b' }, { from: 'a', to: 'c', on: 'failure' }, { from: 'b', to: 'd' }, { from: 'c', to: 'd' }]
  const steps = [job('a'), job('b'), job('c'), job('d'), job('e')]
  expect(deadSteps(flowOf(steps, [...both, { from: 'd', to: 'e' }]))).toEqual(['d', 'e'])
  expect(deadSteps(flowOf([job('a'), job('b'), job('c'), job('d', { join: 'any' })], both))).toEqual([])
  // Behind a join of any one the end of `a` is open again.
  const joined = flowOf([job('a'), job('b'), job('c'), job('d', { join: 'any' }), job('e')], [...both, { from: 'd', to: 'e' }, { from: 'a', to: 'e', on: 'end' }])
  expect(deadSteps(joined)).toEqual([])
  expect(checkFlow(flowOf(steps.slice(0, 4), both))).toEqual([{ where: '/steps/3', code: 'dead', of: 'd', mild: true }])
})

test('paths are read as the server reads them', () => {
  expect(readPath('steps.a-1.result/rows/0')).toMatchObject({ kind: 'step', name: 'a-1' })
  expect(readPath('steps.a.nothing').kind).toBe('unknown')
  expect(readPath('due+1d:yyyy').kind).toBe('due')
  expect(readPath('duet').kind).toBe('unknown')
  expect(templatePaths('$${a} ${b} ${flow.c}').map((p) => p.text)).toEqual(['b', 'flow.c'])
  const flow = flowOf([job('a'), job('b'), job('c')], [{ from: 'a', to: 'b' }], { parameters: [{ name: 'day' }] })
  expect(pathsFor(flow, 'b', true)).toEqual(['item', 'index', 'flow.day', 'steps.a.result', 'run.id', 'due:yyyy-MM-dd'])
})
