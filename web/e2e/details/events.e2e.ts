// SPDX-License-Identifier: MIT
// Other services are told of events: set, tested, away for a while, sent again, switched off, deleted.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { findViolations } from '../look'
import { closeBrowser, doTask, type Person } from '../person'
import { stage } from '../stage'

afterAll(closeBrowser)

/** A service that takes events, or says no to them. */
class Receiver {
  readonly taken: string[] = []
  answers = 200
  readonly #server: Server = createServer((request, answer) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => {
      if (this.answers === 200) this.taken.push(body)
      answer.statusCode = this.answers
      answer.end('no more today')
    })
  })

  async listen(): Promise<number> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done))
    return (this.#server.address() as AddressInfo).port
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

const hook = (p: Person, name: string) => p.get('hook').filter({ hasText: name })
const part = (p: Person, name: string, test: string) => hook(p, name).locator(`[data-test="${test}"]`)

async function add(p: Person, name: string, port: number): Promise<void> {
  await p.go('/alarms')
  await p.click(p.get('alarms-events'))
  await p.click(p.get('hook-add'))
  await p.click(p.get('hook-save')) // nothing is filled in
  await p.see(p.w('events.needName'))
  await p.get('hook-name').fill(name)
  await p.get('hook-url').fill(`http://127.0.0.1:${port}/hidden-part`)
  await p.get('hook-secret').fill('hidden-secret')
  await p.click(p.get('hook-kind-flow_ended')) // no more
  expect(await findViolations(p)).toEqual([])
  await p.click(p.get('hook-save'))
  await p.see(part(p, name, 'hook-result').locator('.st-ok'))
}

async function run(p: Person): Promise<void> {
  const answer = await p.context.request.post(`${p.url}/api/v1/jobs/${stage.jobs.steady}/trigger`, { data: {} })
  expect(answer.ok()).toBe(true)
}

async function remove(p: Person, name: string): Promise<void> {
  await p.click(part(p, name, 'hook-remove'))
  await p.click(p.page.locator('.el-message-box .el-button--primary'))
  await expect.poll(() => hook(p, name).count()).toBe(0)
}

test('tell a service of events', { timeout: 120_000 }, async () => {
  const receiver = new Receiver()
  const port = await receiver.listen()
  const name = 'warehouse'
  try {
    await doTask('tell a service of events', { user: 'admin' }, async (p) => {
      await add(p, name, port)
      expect(await p.page.content()).not.toMatch(/hidden-(part|secret)/)
      const before = receiver.taken.length
      expect(before).toBeGreaterThan(0)

      await run(p)
      await expect.poll(() => receiver.taken.slice(before).some((body) => body.includes('run_ended'))).toBe(true)
      await p.click(part(p, name, 'hook-deliveries'))
      await p.see(p.page.locator('[data-test="delivery"][data-state="sent"]'))
      expect(await findViolations(p)).toEqual([])
      await p.click(p.get('delivery-show').first())
      await p.see(p.get('delivery-body').filter({ hasText: '"run_ended"' }))
      expect(p.page.url()).toContain('show=')
      expect(await findViolations(p)).toEqual([])
      await p.press('Escape')

      receiver.answers = 503
      await run(p)
      const failed = p.page.locator('[data-test="delivery"][data-state="waiting"]').filter({ hasText: '503' })
      await p.see(failed)
      const id = (await failed.first().getAttribute('data-id'))!
      await p.click(p.get('alarms-events'))
      await p.see(hook(p, name).locator('[data-state="failing"]'))
      await p.click(part(p, name, 'hook-test'))
      await p.see(part(p, name, 'hook-result').locator('.st-fail'))

      receiver.answers = 200
      await p.click(part(p, name, 'hook-waiting'))
      const one = p.page.locator(`[data-test="delivery"][data-id="${id}"]`)
      await p.click(one.locator('[data-test="delivery-resend"]'))
      await expect.poll(() => one.count()).toBe(0) // only what waits is shown
      await p.go(`/events/deliveries?show=${id}`)
      await p.see(p.get('delivery-facts').locator('.st-ok'))

      await p.go('/events')
      await p.click(part(p, name, 'hook-turn'))
      await p.see(hook(p, name).locator('[data-state="off"]'))
      await p.page.setViewportSize({ width: 390, height: 844 })
      expect(await findViolations(p)).toEqual([])
      await remove(p, name)
    })
  } finally {
    receiver.close()
  }
})
