// SPDX-License-Identifier: MIT
/** moves: which step an arrow key leads to from a step of a drawing: the nearest one in that direction. Pure. */
export interface Place {
  name: string
  x: number
  y: number
}

const ARROWS: Record<string, [number, number]> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
}

/** Undefined: the key is no arrow, or there is nothing that way. Linked steps come before others. */
export function stepTowards(
  places: readonly Place[],
  from: string,
  key: string,
  isLinked: (a: string, b: string) => boolean,
): string | undefined {
  if (key === 'Home') return places[0]?.name
  if (key === 'End') return places[places.length - 1]?.name
  const way = ARROWS[key]
  const here = places.find((p) => p.name === from)
  if (!way || !here) return undefined
  let best: { name: string; cost: number } | undefined
  for (const p of places) {
    const along = (p.x - here.x) * way[0] + (p.y - here.y) * way[1]
    const aside = Math.abs((p.x - here.x) * way[1]) + Math.abs((p.y - here.y) * way[0])
    if (along <= 1 || aside > 4 * along) continue
    const cost = along + 2 * aside - (isLinked(from, p.name) ? 100_000 : 0)
    if (!best || cost < best.cost) best = { name: p.name, cost }
  }
  return best?.name
}
