// SPDX-License-Identifier: MIT
// Lists that are saved by name: on the server, of each user his own, also by keys alone.
import { afterAll, expect, test } from 'vitest'
import { findViolations, settle } from '../look'
import { closeBrowser, doTask, Person } from '../person'

afterAll(closeBrowser)

const named = async (p: Person): Promise<string[]> => {
  const answer = await p.context.request.get(`${p.url}/api/v1/views`)
  return ((await answer.json()) as { items: { page: string; name: string; query: string }[] }).items.map(
    (view) => `${view.page} ${view.name} ${view.query}`,
  )
}

async function clear(p: Person): Promise<void> {
  const answer = await p.context.request.get(`${p.url}/api/v1/views`)
  for (const { id } of ((await answer.json()) as { items: { id: number }[] }).items)
    await p.context.request.delete(`${p.url}/api/v1/views/${id}`)
}

test.each(['light', 'dark'] as const)('save a list by name, %s', (theme) =>
  doTask(`save a list by name (${theme})`, { user: 'admin', theme }, async (p) => {
    await clear(p)
    await p.go('/jobs?text=batch&sort=name')
    await p.click(p.get('views'))
    await p.click(p.get('views-edit'))
    await p.get('view-name').fill('night jobs')
    await p.click(p.get('view-save'))
    await p.get('views-drawer').waitFor({ state: 'hidden' })
    expect(await named(p)).toEqual(['jobs night jobs sort=name&text=batch'])
    // On another computer, from another list.
    const there = await Person.arrive({ user: 'admin', node: 1, theme })
    await there.go('/jobs?state=stopped')
    await there.click(there.get('views'))
    await there.click(there.get('view').filter({ hasText: 'night jobs' }))
    await expect.poll(() => there.page.url()).toContain('text=batch')
    expect(there.page.url()).not.toContain('state=')
    await there.see(there.get('job-row').filter({ hasText: 'batch 01' }))
    await there.see(there.get('views').filter({ hasText: 'night jobs' }))
    await there.leave()
    // Renamed, refused, replaced, removed.
    await p.get('filter-text').fill('order')
    await expect.poll(() => p.page.url()).toContain('text=order')
    await p.click(p.get('views'))
    await p.click(p.get('views-edit'))
    await settle(p)
    expect(await findViolations(p)).toEqual([])
    await p.get('view-rename').fill('orders')
    await p.click(p.get('view-rename-save'))
    await expect.poll(() => named(p)).toEqual(['jobs orders sort=name&text=batch'])
    await p.click(p.get('view-replace'))
    await expect.poll(() => named(p)).toEqual(['jobs orders sort=name&text=order'])
    await p.get('view-name').fill('orders')
    await p.click(p.get('view-save'))
    await p.see(p.get('views-drawer').locator('[role=alert]'))
    await p.click(p.get('view-remove'))
    await expect.poll(() => named(p)).toEqual([])
    const other = await Person.arrive({ user: 'groupie' })
    expect(await named(other)).toEqual([])
    await other.leave()
  }),
)

test('open a saved list of runs by keys alone', () =>
  doTask('open a saved list by keys', { user: 'reader' }, async (p) => {
    await clear(p)
    for (const [name, query] of [['a failures', 'result=failed'], ['b successes', 'result=success']]) {
      const data = { page: 'runs', name, query }
      expect((await p.context.request.post(`${p.url}/api/v1/views`, { data })).ok()).toBe(true)
    }
    await p.go('/runs')
    await p.see(p.get('views'))
    await p.get('views').focus()
    await p.press('ArrowDown')
    await expect.poll(() => p.get('view').first().evaluate((e) => e === document.activeElement)).toBe(true)
    await p.press('ArrowDown')
    await p.press('Enter')
    await expect.poll(() => p.page.url()).toContain('result=success')
    await expect.poll(() => p.get('views').evaluate((e) => e === document.activeElement)).toBe(true)
    await p.see(p.get('views').filter({ hasText: 'b successes' }))
    await clear(p)
  }))
