// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import type { Schemas } from '@/api/client'
import { layOut } from './family'

function family(text: string): Pick<Schemas['Family'], 'jobs' | 'links'> {
  const links = text ? text.split(' ').map((l) => ({ from: Number(l.split('>')[0]), to: Number(l.split('>')[1]) })) : []
  const ids = [...new Set(links.flatMap((l) => [l.from, l.to]))]
  return { jobs: ids.map((id) => ({ id }) as Schemas['FamilyJob']), links }
}
const columns = (text: string) => Object.fromEntries(layOut(family(text)).nodes.map((n) => [n.id, n.column]))

test('each job stands right of all that lead to it', () => {
  expect(columns('1>2 2>3 1>3 3>4')).toEqual({ 1: 0, 2: 1, 3: 2, 4: 3 })
  expect(columns('5>6 7>6 6>8')).toEqual({ 5: 0, 7: 0, 6: 1, 8: 2 })
})

test('a circle ends, and the link that closes it goes back', () => {
  const graph = layOut(family('1>2 2>3 3>1 3>4'))
  expect(Object.fromEntries(graph.nodes.map((n) => [n.id, n.column]))).toEqual({ 1: 0, 2: 1, 3: 2, 4: 3 })
  expect(graph.links.filter((l) => l.back).map((l) => `${l.from.id}>${l.to.id}`)).toEqual(['3>1'])
  expect(layOut(family('1>2 2>1')).links.filter((l) => l.back)).toHaveLength(1)
})

test('no two stand in one place', () => {
  const graph = layOut(family('1>2 1>3 1>4 2>5 3>5 4>6 7>4'))
  const places = graph.nodes.map((n) => `${n.column}/${n.row}`)
  expect(new Set(places).size).toBe(places.length)
  expect(graph.rows).toBe(3)
})

test('very long chains and a job alone are laid out, too', () => {
  const chain = Array.from({ length: 199 }, (_, i) => `${i + 1}>${i + 2}`).join(' ')
  expect(layOut(family(chain)).columns).toBe(200)
  expect(layOut({ jobs: [{ id: 1 } as Schemas['FamilyJob']], links: [] })).toMatchObject({ columns: 1, rows: 1 })
})
