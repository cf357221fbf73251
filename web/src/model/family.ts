// SPDX-License-Identifier: MIT
/**
 * family: jobs that trigger each other as a graph from left to right: each job stands right of what leads to it, and
 * close to it. Circles are drawn, too: the link that closes one goes back. Pure.
 */
import type { Schemas } from '@/api/client'

export interface Placed {
  id: number
  column: number
  row: number
}
export interface PlacedLink {
  from: Placed
  to: Placed
  /** It leads back to an earlier column. */
  back: boolean
}
export interface Graph {
  nodes: Placed[]
  links: PlacedLink[]
  columns: number
  rows: number
}

type Link = Schemas['FamilyLink']

/** Links that close a circle, by a walk from the jobs that nothing leads to. */
export function backLinks(ids: number[], links: Link[]): Set<Link> {
  const out = new Map<number, Link[]>()
  for (const link of links) out.set(link.from, [...(out.get(link.from) ?? []), link])
  const led = new Set(links.map((l) => l.to))
  const state = new Map<number, 'open' | 'done'>()
  const back = new Set<Link>()
  const walk = (start: number) => {
    const stack: { id: number; next: number }[] = [{ id: start, next: 0 }]
    state.set(start, 'open')
    while (stack.length) {
      const top = stack[stack.length - 1]!
      const link = out.get(top.id)?.[top.next++]
      if (!link) {
        state.set(top.id, 'done')
        stack.pop()
      } else if (state.get(link.to) === 'open') back.add(link)
      else if (!state.has(link.to)) {
        state.set(link.to, 'open')
        stack.push({ id: link.to, next: 0 })
      }
    }
  }
  for (const id of [...ids.filter((i) => !led.has(i)), ...ids]) if (!state.has(id)) walk(id)
  return back
}

/** The longest way to each job. */
function columnsOf(ids: number[], links: Link[], back: Set<Link>): Map<number, number> {
  const column = new Map(ids.map((id) => [id, 0]))
  for (let round = 0; round < ids.length; round++) {
    let moved = false
    for (const link of links) {
      const wanted = column.get(link.from)! + 1
      if (back.has(link) || column.get(link.to)! >= wanted) continue
      column.set(link.to, wanted)
      moved = true
    }
    if (!moved) break
  }
  return column
}

export function layOut(family: Pick<Schemas['Family'], 'jobs' | 'links'>): Graph {
  const ids = family.jobs.map((j) => j.id)
  const back = backLinks(ids, family.links)
  const column = columnsOf(ids, family.links, back)
  const placed = new Map<number, Placed>()
  const columns = Math.max(0, ...column.values()) + 1
  let rows = 0
  for (let c = 0; c < columns; c++) {
    const here = ids.filter((id) => column.get(id) === c)
    // Near to the middle of what leads to it.
    const weight = (id: number) => {
      const before = family.links.filter((l) => l.to === id && placed.has(l.from)).map((l) => placed.get(l.from)!.row)
      return before.length ? before.reduce((a, b) => a + b, 0) / before.length : ids.indexOf(id)
    }
    here
      .map((id) => ({ id, at: weight(id) }))
      .sort((a, b) => a.at - b.at || a.id - b.id)
      .forEach(({ id }, row) => placed.set(id, { id, column: c, row }))
    rows = Math.max(rows, here.length)
  }
  return {
    nodes: [...placed.values()],
    links: family.links.map((l) => ({ from: placed.get(l.from)!, to: placed.get(l.to)!, back: back.has(l) })),
    columns,
    rows,
  }
}
