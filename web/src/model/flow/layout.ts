// SPDX-License-Identifier: MIT
/**
 * layout: where the steps of a flow stand when it is drawn, and how the lines between them go. Loaded with the graph
 * alone: dagre is in here. Pure.
 */
import { Graph, layout as place } from '@dagrejs/dagre'

export interface Point {
  x: number
  y: number
}
export interface Box extends Point {
  name: string
  /** Of the upper left corner; the size is the same for all. */
}
export interface Line {
  /** Place of the edge in what was given. */
  at: number
  path: string
  /** Where its words stand. */
  middle: Point
}
export interface Drawing {
  boxes: Box[]
  lines: Line[]
  width: number
  height: number
}
export interface Size {
  width: number
  height: number
}
/** To the right, or down. */
export type Direction = 'right' | 'down'

const MARGIN = 12

/** Smooth, through the middles between the points that it is led along. */
export function smoothPath(points: readonly Point[]): string {
  const [first, ...rest] = points
  if (!first || !rest.length) return ''
  const put = (p: Point) => `${Math.round(p.x * 10) / 10} ${Math.round(p.y * 10) / 10}`
  let path = `M${put(first)}`
  rest.forEach((p, i) => {
    const next = rest[i + 1]
    path += next ? `Q${put(p)} ${put({ x: (p.x + next.x) / 2, y: (p.y + next.y) / 2 })}` : `L${put(p)}`
  })
  return path
}

/** Of more edges the steps stand in plain columns: dagre would take seconds. */
const MANY = 500
/** Of more edges it takes the quicker of its ways. */
const SOME = 150

/** Each step stands behind all that lead to it; lines are straight. An edge that closes a circle counts for nothing. */
export function layOutPlain(
  names: readonly string[],
  edges: readonly { from: string; to: string }[],
  size: Size,
  direction: Direction,
): Drawing {
  const rank = new Map(names.map((name) => [name, 0]))
  for (let round = 0, moved = true; moved && round < names.length; round++) {
    moved = false
    for (const { from, to } of edges) {
      const wanted = (rank.get(from) ?? 0) + 1
      if (wanted <= (rank.get(to) ?? 0) || wanted >= names.length) continue
      rank.set(to, wanted)
      moved = true
    }
  }
  const used = new Map<number, number>()
  const isDown = direction === 'down'
  const boxes = names.map((name) => {
    const along = rank.get(name)!
    const aside = used.get(along) ?? 0
    used.set(along, aside + 1)
    const [column, row] = isDown ? [aside, along] : [along, aside]
    return { name, x: MARGIN + column * (size.width + (isDown ? 20 : 60)), y: MARGIN + row * (size.height + (isDown ? 60 : 20)) }
  })
  const byName = new Map(boxes.map((b) => [b.name, b]))
  const lines = edges.map((e, at) => {
    const [a, b] = [byName.get(e.from)!, byName.get(e.to)!]
    const from = isDown ? { x: a.x + size.width / 2, y: a.y + size.height } : { x: a.x + size.width, y: a.y + size.height / 2 }
    const to = isDown ? { x: b.x + size.width / 2, y: b.y } : { x: b.x, y: b.y + size.height / 2 }
    return { at, path: smoothPath([from, to]), middle: { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 } }
  })
  const end = (of: 'x' | 'y', length: number) => Math.max(0, ...boxes.map((b) => b[of])) + length + MARGIN
  return { boxes, lines, width: end('x', size.width), height: end('y', size.height) }
}

export function layOut(
  names: readonly string[],
  edges: readonly { from: string; to: string; label: string }[],
  size: Size,
  direction: Direction,
): Drawing {
  if (edges.length > MANY) return layOutPlain(names, edges, size, direction)
  const graph = new Graph({ multigraph: true })
  graph.setGraph({ rankdir: direction === 'right' ? 'LR' : 'TB', nodesep: 20, ranksep: 44, edgesep: 12, marginx: MARGIN, marginy: MARGIN, ...(edges.length > SOME ? { ranker: 'longest-path' } : {}) })
  for (const name of names) graph.setNode(name, { ...size })
  edges.forEach((e, at) => {
    const label = e.label ? { width: Math.min(160, e.label.length * 7 + 12), height: 18, labelpos: 'c' as const } : {}
    graph.setEdge(e.from, e.to, label, String(at))
  })
  place(graph)
  const boxes = names.map((name) => {
    const { x = 0, y = 0 } = graph.node(name) as Partial<Point>
    return { name, x: x - size.width / 2, y: y - size.height / 2 }
  })
  const lines = edges.map((e, at) => {
    const { points = [], x, y } = graph.edge(e.from, e.to, String(at)) as { points?: Point[] } & Partial<Point>
    const half = points[Math.floor(points.length / 2)] ?? { x: 0, y: 0 }
    return { at, path: smoothPath(points), middle: { x: x ?? half.x, y: y ?? half.y } }
  })
  const { width = 0, height = 0 } = graph.graph() as Partial<Size>
  return { boxes, lines, width: Math.max(width, size.width + 2 * MARGIN), height: Math.max(height, size.height + 2 * MARGIN) }
}
