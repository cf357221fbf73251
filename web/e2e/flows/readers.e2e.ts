// SPDX-License-Identifier: MIT
// Somebody who sees some of a flow's groups; and the pages of flows by rules.
import { afterAll, expect, test } from 'vitest'
import { addFlow, findFaults, getFlow, looks, nameOf, runFlow, step } from './flows'
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

test.each([looks[0]!, looks[3]!])('the pages of flows: $name', { timeout: 120_000 }, async (look) => {
  const paths = async (p: Person) => {
    const { id } = await getFlow(p, nameOf('boxes'))
    return [
      '/flows',
      `/flows/${id}`,
      `/flows/${id}/versions`,
      `/flows/${id}/edit`,
      `/flow-runs/${run}`,
      `/flow-runs/${run}?step=theirs`,
    ]
  }
  expect(await findFaults({ user: 'groupie', ...look }, paths, 'theirs')).toEqual([])
})
