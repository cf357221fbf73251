// SPDX-License-Identifier: MIT
/** flows: what the tasks about flows share. */
import type { Locator } from 'playwright-core'
import { expect } from 'vitest'
import { findViolations, findWide, settle } from '../look'
import { Person, type Options } from '../person'
import { stage } from '../stage'

export interface FlowAnswer {
  id: number
  name: string
  version: number
  document: {
    description?: string
    steps: { name: string; type: string; jobId?: number; param?: string }[]
    edges?: { from: string; to: string; on?: string }[]
    parameters?: { name: string; default?: unknown }[]
  }
}

/** A name of the language that is tested: all go through one database. */
export const nameOf = (what: string) => `${what}-${stage.language}`

export async function getFlow(p: Person, name: string): Promise<FlowAnswer> {
  const found = await p.context.request.get(`${p.url}/api/v1/flows?name=${name}`)
  const { items } = (await found.json()) as { items: { id: number; name: string }[] }
  const id = items.find((f) => f.name === name)?.id
  expect(id, `flow ${name}`).toBeDefined()
  return (await (await p.context.request.get(`${p.url}/api/v1/flows/${id}`)).json()) as FlowAnswer
}

export async function addFlow(p: Person, document: object): Promise<number> {
  const answer = await p.context.request.post(`${p.url}/api/v1/flows`, { data: { document } })
  expect(answer.status(), await answer.text()).toBe(201)
  return ((await answer.json()) as { id: number }).id
}

/** Starts a run by the API; waits until it is in one of these states. */
export async function runFlow(p: Person, id: number, states: string[]): Promise<number> {
  const answer = await p.context.request.post(`${p.url}/api/v1/flows/${id}/runs`, { data: {} })
  const run = ((await answer.json()) as { id: number }).id
  const state = async () =>
    ((await (await p.context.request.get(`${p.url}/api/v1/flow-runs/${run}`)).json()) as { state: string }).state
  await expect.poll(state, { timeout: 60_000 }).toSatisfy((s: string) => states.includes(s))
  return run
}

export const step = (p: Person, name: string): Locator => p.page.locator(`[data-step="${name}"]`)
export const focused = (p: Person) =>
  p.page.evaluate(() => (document.activeElement as HTMLElement | null)?.dataset.step ?? '')

/** Both themes, and a phone. */
export const looks: (Options & { name: string })[] = [
  { name: 'light', theme: 'light', width: 1280, height: 800 },
  { name: 'dark', theme: 'dark', width: 1280, height: 800 },
  { name: 'phone', theme: 'light', width: 390, height: 844 },
  { name: 'phone, dark', theme: 'dark', width: 390, height: 844 },
]

/** Text of a drawing that is smaller on screen than can be read. */
function findTiny(): string[] {
  const LEAST = 8
  return [...document.querySelectorAll<HTMLElement>('[data-test="flow-graph"] [data-step]')]
    .filter((e) => {
      const shown = e.getBoundingClientRect().width / e.offsetWidth
      return parseFloat(getComputedStyle(e).fontSize) * shown < LEAST
    })
    .map((e) => `step ${e.dataset.step} is too small to be read`)
}

/** What is wrong by rules with those pages; where a flow is drawn, once `drawn` is there, a step. */
export async function findFaults(look: Options, paths: (p: Person) => Promise<string[]>, drawn: string): Promise<string[]> {
  const p = await Person.arrive(look)
  const wrong: string[] = []
  for (const path of await paths(p)) {
    p.problems.length = 0
    await p.go(path)
    await settle(p)
    if (/edit|flow-runs|flows\/\d+$/.test(path)) await p.see(step(p, drawn))
    const found = [
      ...(await findViolations(p)),
      ...(await p.page.evaluate(findWide)),
      ...(await p.page.evaluate(findTiny)),
      ...p.problems,
    ]
    for (const one of found) wrong.push(`${path}: ${one}`)
  }
  await p.context.close()
  return wrong
}

const MOST_TABS = 150

/** Goes there as somebody without a mouse does: from where the focus is, by Tab or Shift+Tab alone. */
export async function tabTo(p: Person, selector: string, key = 'Tab'): Promise<void> {
  await p.page.locator(selector).first().waitFor()
  for (let i = 0; i < MOST_TABS; i++) {
    if (await p.page.evaluate((s) => document.activeElement?.matches(s), selector)) return
    await p.page.keyboard.press(key)
  }
  throw new Error(`${selector} cannot be reached with ${key}`)
}
