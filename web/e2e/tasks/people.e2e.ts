// SPDX-License-Identifier: MIT
import { afterAll, expect, test } from 'vitest'
import { closeBrowser, doTask } from '../person'
import { stage } from '../stage'

afterAll(closeBrowser)

test('add a user for one group', () =>
  doTask('add a user for one group', { user: 'admin' }, async (p) => {
    await p.go('/users')
    await p.click(p.get('add-user'))
    await p.get('user-name').fill('newbie')
    await p.get('user-password').fill('newbie-123')
    await p.click(p.get('user-role-user'))
    await p.click(p.get('user-groups'))
    await p.click(p.page.getByRole('option', { name: stage.group.appname }))
    await p.page.keyboard.press('Escape')
    await p.click(p.get('user-save'))
    await p.see(p.get('user-row').filter({ hasText: 'newbie' }))
    const login = await p.context.browser()!.newContext()
    const answer = await login.request.post(`${p.url}/api/v1/session`, {
      data: { username: 'newbie', password: 'newbie-123' },
    })
    expect(((await answer.json()) as { groups: number[] }).groups).toEqual([stage.group.id])
    await login.close()
  }))

test('make and use an API token', () =>
  doTask('make and use an API token', { user: 'admin' }, async (p) => {
    await p.go('/tokens')
    await p.click(p.get('add-token'))
    await p.get('token-name').fill('deploy')
    await p.click(p.get('token-save'))
    const token = (await p.get('token-value').textContent())!.match(/swt_[\w-]+/)![0]
    const program = await p.context.browser()!.newContext()
    const answer = await program.request.get(`${p.url}/api/v1/jobs?limit=1`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    expect(answer.status()).toBe(200)
    await program.close()
    await p.page.reload()
    await p.see('deploy')
    expect(await p.page.content()).not.toContain(token)
  }))
