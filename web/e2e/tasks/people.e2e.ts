// SPDX-License-Identifier: MIT
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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
    const token = (await p.get('token-value').locator('pre').textContent())!.match(/swt_[\w-]+/)![0]
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

test('set a webhook and test it', async () => {
  const taken: string[] = []
  const receiver = createServer((request, answer) => {
    request.on('data', (part: Buffer) => taken.push(part.toString()))
    request.on('end', () => answer.end('ok'))
  })
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done))
  const { port } = receiver.address() as AddressInfo
  try {
    await doTask('set a webhook and test it', { user: 'admin' }, async (p) => {
      await p.go('/alarms')
      await p.click(p.get('webhook-add'))
      await p.click(p.get('webhook-kind'))
      await p.click(p.page.getByRole('option', { name: 'Slack' }))
      await p.get('webhook-url').fill(`http://127.0.0.1:${port}/services/hidden-part`)
      await p.click(p.get('webhook-save'))
      await p.see(p.get('alarm-result').locator('.st-ok'))
      expect(taken.join('')).toContain('shardwheel')
      expect(await p.page.content()).not.toContain('hidden-part')
      receiver.close()
      receiver.closeAllConnections()
      await p.click(p.get('channel').filter({ hasText: `:${port}` }).locator('[data-test="alarm-test"]'))
      await p.see(p.get('alarm-result').locator('.st-fail'))
      await p.click(p.get('channel').filter({ hasText: `:${port}` }).locator('[data-test="webhook-remove"]'))
      await p.click(p.page.locator('.el-message-box .el-button--primary'))
      await expect.poll(() => p.get('channel').filter({ hasText: `:${port}` }).count()).toBe(0)
    })
  } finally {
    receiver.close()
  }
})
