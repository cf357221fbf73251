// SPDX-License-Identifier: MIT
// Somebody who sees some of a flow's groups; and the pages of flows by rules: both themes, and a phone.
import { afterAll, expect, test } from 'vitest'
import { addFlow, getFlow, nameOf, runFlow, step } from './flows'
import { findViolations, findWide, settle } from '../look'
import { closeBrowser, doTask, Person } from '../person'
import { stage } from '../stage'

afterAll(closeBrowser)

const SECRET = 'secret-of-others'
let run = 0

test('who sees one group sees the steps of others as closed boxes', () =>
  doTask('a flow with closed boxes', { user: 'groupie' }, async (p) => {
    const admin = await Person.arrive({ user: 'admin' })
    const id = await addFlow(admin, {
      name: nameOf('boxes'),
      steps: [
        { name: 'mine', type: 'job', jobId: stage.jobs.stopped, param: 'open' },
        { name: 'theirs', type: 'job', jobId: stage.jobs.nobody, param: SECRET },
        { name: 'after', type: 'approval', text: 'Go on?' },
      ],
      edges: [{ from: 'mine', to: 'theirs' }, { from: 'theirs', to: 'after', on: 'end' }],
    })
    run = await runFlow(admin, id, ['running'])
    await admin.leave()
    await p.go('/flows')
    const row = p.page.locator(`[data-test="flow-row"][data-id="${id}"]`)
    await p.see(row)
    expect(await row.locator('[data-test="flow-row-run"], [data-test="flow-row-edit"]').count()).toBe(0)
    for (const path of [`/flows/${id}`, `/flow-runs/${run}`]) {
      await p.go(path)
      await p.see(step(p, 'theirs').filter({ hasText: p.w('flows.closed') }))
      await p.see(step(p, 'mine').filter({ hasText: 'nightly-close' }))
      expect(await p.page.getByText(SECRET).count()).toBe(0)
      expect(await p.page.getByText('has no executor').count()).toBe(0)
      expect(await p.get('flow-run').or(p.get('flow-run-again')).or(p.get('run-cancel')).count()).toBe(0)
    }
    await p.click(step(p, 'theirs'))
    await p.see(p.get('step-panel').getByText(p.w('flows.closedText')))
    expect(await p.get('step-log').or(p.get('step-given')).or(p.get('step-skip')).count()).toBe(0)
    await p.click(step(p, 'mine'))
    await p.see(p.get('step-given').filter({ hasText: 'open' }))
    // The editor shows it, and lets nobody save.
    await p.go(`/flows/${id}/edit`)
    await p.see(step(p, 'theirs'))
    await expect.poll(() => p.get('flow-save').isDisabled()).toBe(true)
  }))

const looks = [
  { name: 'light', theme: 'light', width: 1280, height: 800 },
  { name: 'dark', theme: 'dark', width: 1280, height: 800 },
  { name: 'phone', theme: 'light', width: 390, height: 844 },
  { name: 'phone, dark', theme: 'dark', width: 390, height: 844 },
] as const

test.each(looks)('the pages of flows: $name', { timeout: 120_000 }, async (look) => {
  for (const user of ['admin', 'groupie']) {
    const p = await Person.arrive({ user, ...look })
    const { id } = await getFlow(p, nameOf('boxes'))
    const wrong: string[] = []
    const paths = [
      '/flows',
      `/flows/${id}`,
      `/flows/${id}/versions`,
      `/flows/${id}/edit`,
      `/flow-runs/${run}`,
      `/flow-runs/${run}?step=theirs`,
    ]
    if (user === 'admin') paths.push('/flows/new', `/flows/new?ofJob=${stage.jobs.stopped}`)
    for (const path of paths) {
      p.problems.length = 0
      await p.go(path)
      await settle(p)
      if (/edit|flow-runs|flows\/\d+$/.test(path)) await p.see(step(p, 'theirs'))
      const found = [
        ...(await findViolations(p)),
        ...(await p.page.evaluate(findWide)),
        ...(await p.page.evaluate(findTiny)),
        ...p.problems,
      ]
      for (const one of found) wrong.push(`${user}, ${path}: ${one}`)
    }
    await p.context.close()
    expect(wrong).toEqual([])
  }
})

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
